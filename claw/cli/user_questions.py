"""UserQuestions: what the model asks the user, put on the terminal (the `ask_user` tool)."""

from __future__ import annotations

from claw.cancel import CancelToken
from claw.cli.question import ask_key, ask_words
from claw.cli.terminal import Terminal
from claw.cli.visible import visible

OWN_WORDS = "w"


class UserQuestions:
    """Puts a question with options, one key each, or asks for words. On the main thread."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def __call__(self, question: str, options: tuple[str, ...], cancel: CancelToken) -> str:
        """The option that was chosen, or the user's own words; Cancelled once `cancel` fires."""
        asked = "\n".join(f"    {line}" for line in visible(question).strip().split("\n"))
        head = f"the model asks:\n\n{asked}\n\n"
        if not options:
            return ask_words(self._terminal, f"{head}your answer: ", cancel)
        keys = "".join(str(number) for number in range(1, len(options) + 1))
        lines = [f"{key}  {visible(option)}\n" for key, option in zip(keys, options, strict=True)]
        lines += ["n  no answer\n", f"{OWN_WORDS}  in words\n"]
        key = ask_key(self._terminal, head + "".join(lines), f"{keys}n{OWN_WORDS}", cancel)
        if key == OWN_WORDS:
            return ask_words(self._terminal, "your answer: ", cancel)
        return "" if key == "n" else options[int(key) - 1]
