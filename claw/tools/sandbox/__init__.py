"""Where commands run: kept by the kernel to the workspace, or not kept at all, and said which."""

from claw.tools.sandbox.base import NoSandbox, Sandbox
from claw.tools.sandbox.find import find_sandbox, sandbox_findings

__all__ = ["NoSandbox", "Sandbox", "find_sandbox", "sandbox_findings"]
