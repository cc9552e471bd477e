"""The modes that a user may choose: options, settings and the library know the same words.

Apart from what they do, so that `claw --help` can name them and needn't load it.
"""

from __future__ import annotations

APPROVAL_MODES = ("ask", "edits", "all", "none")
"""What runs unasked; see claw.policy.PolicySettings."""

SANDBOX_MODES = ("auto", "require", "off")
"""What commands run in; see claw.tools.sandbox.find_sandbox."""
