"""What a user can do about a status that isn't 2xx: the last sentence of its error."""

from __future__ import annotations

import re
from collections.abc import Mapping

from claw.errors import ClawError
from claw.providers.server_errors import ServerFault

ADVICE: Mapping[int, str] = {
    401: "Check the API key.",
    402: "The account has no money left for this.",
    403: "The key may not use this model or this address.",
    404: "Check the model's name and the base URL (`claw models` lists the names).",
    405: "Check the base URL: nothing answers to POST there.",
    413: "The request is too big for this server.",
    429: "Too many requests: wait a little.",
    503: "The server is busy or still starting: try again in a moment.",
    529: "The server is overloaded: try again later.",
}
REFUSED = "The request was refused; the same one would be refused again."
LIMIT_REFUSED = "Ask for shorter replies: --max-output-tokens."
SERVERS_FAULT = "The fault is the server's, or that of a proxy before it."
QUOTA_USED_UP = "Waiting won't help: see the account's plan and billing."
TOO_LONG = (
    "The conversation is too long for this model: shorten it, or take one with a longer context."
)
TOO_LONG_WITH_REPLY = (
    "The conversation and the reply that is asked for are too long for this model together: "
    "shorten it, or ask for shorter replies (--max-output-tokens)."
)
NO_API = "That is no model server: check the base URL (`claw doctor URL` tries others)."

EVERY_ADVICE = (
    *(REFUSED, LIMIT_REFUSED, SERVERS_FAULT, QUOTA_USED_UP, TOO_LONG, TOO_LONG_WITH_REPLY, NO_API),
    *ADVICE.values(),
)
# The server's words name the limit of the reply, in the field's name or in the completion's share.
LIMIT_NAMED = (
    r"(?i)max_(?:completion_|output_|new_)?tokens|maxOutputTokens|max(?:imum)? output tokens"
    r"|maximum tokens you requested|in the completion\b"
)
TOO_HIGH = r"(?i)too (?:large|high|big|many)|exceed|maximum|at most|above|less than|range|[<>]"


def advice_for(status: int, fault: ServerFault) -> str:
    """The sentence for an answer with this status and these words."""
    limit_named = re.search(LIMIT_NAMED, fault.words) is not None
    if fault.context_overflow:
        return TOO_LONG_WITH_REPLY if limit_named else TOO_LONG
    if fault.quota:
        return QUOTA_USED_UP
    if fault.is_page and status in (400, 404, 405):
        return NO_API
    if status in ADVICE:
        return ADVICE[status]
    if status >= 500:
        return SERVERS_FAULT
    return LIMIT_REFUSED if limit_named and re.search(TOO_HIGH, fault.words) else REFUSED


def without_advice(error: ClawError) -> ClawError:
    """`error` in the words of what happened alone: for telling that claw itself does something
    about it, so that the user needn't."""
    for advice in EVERY_ADVICE:
        if error.message.endswith(advice):
            told = error.message.removesuffix(advice).rstrip()
            return ClawError.from_dict({**error.to_dict(), "message": told})
    return error
