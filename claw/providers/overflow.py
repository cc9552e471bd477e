"""In which words servers say that a prompt is too long, and how many tokens they say they take."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# In a type or code, lower case and letters only.
OVERFLOWING = (
    *("contextlengthexceeded", "exceedcontextsize", "contextwindowexceeded", "contextexceeded"),
    *("prompttoolong", "stringabovemaxlength"),
)
# Patterns as texts: compiled when there is an error, not at every start.
OVERFLOW_WORDS = r"""(?ix)
    maximum\ (context|prompt|model)\ length      # OpenAI, vLLM, Mistral, xAI
    | (prompt|input)\ is\ too\ long              # Anthropic, Bedrock
    | exceed\w*\ .{0,60}context\ ?(size|length|window|limit)      # llama.cpp, Ollama, Anthropic
    | context\ ?(size|length|window)\ ?.{0,30}exceed              # litellm, LocalAI
    | (greater|longer|larger)\ than\ the\ (model's\ )?context     # LM Studio
    | input\ token\ count\ .{0,40}exceed         # Gemini
    | exceed\w*\ model\ token\ limit             # Moonshot
    | inputs.?\ tokens\ \+\ .?max_new_tokens     # text-generation-inference
    | reduce\ the\ length\ of\ the\ (messages|prompt|input)       # Groq, OpenAI
"""
# The number stands in the one group that matched. Where prompt and reply are added up ("limit:
# 190000 + 20000 > 200000"), it is the last one.
LIMIT_WORDS = r"""(?ix)
    \+\ \d+\ >\ (\d+)                                             # Anthropic
    | tokens\ >\ (\d+)\ maximum                                   # Anthropic
    | (\d+)\ maximum\ context\ length                             # Mistral
    | maximum\ (?:context|prompt|model)\ length\D{1,20}(\d+)      # OpenAI, vLLM, xAI, OpenRouter
    | context\ (?:size|length|window|limit)\D{1,12}(\d+)\b(?!\ \+|>=)  # llama.cpp, LM Studio
    | n_ctx\D{1,3}(\d+)                                           # LM Studio
    | tokens\ allowed\ \((\d+)\)                                  # Gemini
    | model\ token\ limit:\ (\d+)                                 # Moonshot
    | max_new_tokens.?\ must\ be\ <=\ (\d+)                       # text-generation-inference
"""
THOUSANDS = r"(?<=\d),(?=\d{3}\b)"
LEAST = 256  # tokens; a smaller number is something else


def named_limit(words: str, layers: Iterable[Any]) -> int | None:
    """The number of tokens that an overflow error names as the most; None where it names none.

    words: the error's own. layers: its decoded objects, where llama.cpp has a field for it.
    """
    for layer in layers:
        field = layer.get("n_ctx") if isinstance(layer, dict) else None
        if isinstance(field, int) and field >= LEAST:
            return field
    found = re.search(LIMIT_WORDS, re.sub(THOUSANDS, "", words))
    limit = int(next(filter(None, found.groups()))) if found else 0
    return limit if limit >= LEAST else None
