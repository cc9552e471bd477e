"""Options that run another program or write a file: a rule that allows a program stops there.

`allow = ["find"]` is said with searching in mind, and `find -exec` is something else. A rule that
spells the option out does cover it. The table can't know every program; the long options in it
hold for all of them, and so do `-c` and `-o` where nothing else is said.
"""

from __future__ import annotations

import re

from claw.policy.handover import base_name
from claw.policy.words import Words, word_set

RISKY_LONG = word_set("""
    --basetemp --checkpoint-action --command --compress-program --config --config-env --config-file
    --cov-config --delete --editor --eval --exec --exec-batch --exec-path --ext-diff --files0-from
    --filter --hostname-bin --in-place --init-file --junit-xml --junitxml --log-file
    --open-files-in-pager --out --outdir --outfile --output --output-dir --output-directory
    --output-document --output-file --pager --plugin --post-file --pre --receive-pack --remote-name
    --require --rsh --rsh-command --rsync-path --script-shell --shell --textconv --to-command
    --tool --toolexec --upload-file --upload-pack --use-askpass --use-compress-program
""")
RISKY_WORDS = word_set("""
    -coverprofile -cpuprofile -delete -exec -execdir -fls -fprint -fprint0 -fprintf -memprofile
    -ok -okdir -toolexec -trace -vettool -wrapper
""")
RISKY_LETTERS = {
    "cargo": "",
    "curl": "cDKoOT",
    "docker": "",
    "git": "cOox",
    "go": "o",
    "grep": "",
    "ls": "",
    "make": "fI",
    "man": "HP",
    "node": "epr",
    "npm": "",
    "perl": "eEi",
    "php": "rB",
    "pytest": "cop",
    "rg": "",
    "rsync": "eT",
    "ruby": "er",
    "sed": "eifs",
    "sort": "oT",
    "tar": "cFI",
    "unzip": "do",
    "wc": "",
    "wget": "eioOPa",
}
RISKY_OPERANDS = {"git": re.compile(r"run|foreach"), "make": re.compile(r"\w+[:+?]?=.*")}
DEFAULT_LETTERS = "co"
LONGEST_CLUSTER = 4


def risky_word(program: str, words: Words) -> str:
    """The first of `words`, given to `program`, that an allow rule doesn't cover; "" if none is."""
    name = re.sub(r"[\d.]+$", "", base_name(program))
    letters = RISKY_LETTERS.get(name, DEFAULT_LETTERS)
    operands = RISKY_OPERANDS.get(name)
    for word in words:
        if _is_risky_option(word, letters) or (operands and operands.fullmatch(word)):
            return word
    return ""


def _is_risky_option(word: str, letters: str) -> bool:
    option = word.partition("=")[0]
    if option[:2] == "--":
        # Most programs take any beginning of a long option for the whole.
        return len(option) > 2 and any(risky.startswith(option) for risky in RISKY_LONG)
    if option in RISKY_WORDS or option[:1] != "-":
        return option in RISKY_WORDS
    if option[1:2] and option[1] in letters:
        return True
    is_cluster = option[1:].isalpha() and len(option) <= LONGEST_CLUSTER
    return is_cluster and bool(set(option[1:]) & set(letters))
