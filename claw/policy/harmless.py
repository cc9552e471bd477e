"""What an allow rule covers behind its own words: further names, and options known to be harmless.

`allow = ["find"]` is said with searching in mind, and `find -exec` is something else. A list of
dangerous options is never whole, and a cluster such as `-nrzuo` hides them, so this is a list of
the harmless ones: those that choose what is looked at or how it is told, for the programs that
people give rules to. Any other option has to stand in the rule. Nor is every name harmless: make
takes settings as such, git the names of other programs.
"""

from __future__ import annotations

import re

from claw.policy.handover import base_name
from claw.policy.options import options, take_apart
from claw.policy.read_only import TABLE
from claw.policy.words import Words, operand_places, word_set

TALK = "quiet verbose version help color color= no-color"
ANY = options(long=TALK)
JOBS = r"-j\d*"

GIT_DIFF = (
    "stat numstat shortstat name-only name-status cached staged no-ext-diff no-textconv word-diff "
    "word-diff= ignore-all-space ignore-space-change ignore-blank-lines unified= patch no-patch "
    "raw summary dirstat check minimal patience histogram find-renames function-context exit-code "
    "diff-filter= merge-base "
)
GIT_LOG = GIT_DIFF + (
    "oneline graph decorate decorate= all author= committer= since= until= after= before= grep= "
    "max-count= skip= follow merges no-merges reverse first-parent abbrev-commit abbrev= date= "
    "pretty pretty= format= branches tags remotes left-right topo-order date-order "
)
GIT_LOOKS = options("abgipqrsuvwzWR", "nUSG", GIT_LOG + TALK, like=r"-\d+")
NODE = options(
    "sw",
    "t",
    f"{TALK} silent if-present workspaces workspace= watch watch= watchAll= ci run coverage bail "
    "runInBand testNamePattern= grep=",
)
MAKE = options(
    "Bikns",
    "",
    f"{TALK} keep-going silent dry-run no-print-directory always-make jobs jobs=",
    like=JOBS,
)
OPTIONS = {
    "black": options("qv", "l", f"{TALK} check diff line-length="),
    "cargo": options(
        "qv",
        "p",
        f"{TALK} release all workspace lib bins tests examples doc no-run no-fail-fast "
        "all-features no-default-features features= package= test= bin= example= jobs= locked "
        "offline frozen message-format= all-targets nocapture test-threads= exact ignored "
        "include-ignored show-output",
        like=JOBS,
    ),
    "curl": options(
        "46fGgiIkLsSv#",
        "AHmX",
        f"{TALK} fail fail-with-body silent show-error location head insecure compressed get ipv4 "
        "ipv6 include globoff http1.1 http2 no-progress-meter max-time= connect-timeout= retry= "
        "retry-delay= request= header= user-agent=",
    ),
    "git add": options("Anuv", "", f"{TALK} all update dry-run intent-to-add"),
    "git blame": options("elsw", "L", TALK),
    "git branch": options(
        "arv", "", f"{TALK} all list remotes show-current merged no-merged contains= sort= format="
    ),
    "git commit": options("aqsv", "m", f"{TALK} all message= signoff dry-run"),
    "git diff": options("abpqrsuwzWR", "USG", GIT_DIFF + TALK),
    "git fetch": options("apqtv", "", f"{TALK} all prune tags no-tags dry-run"),
    "git grep": options("EFGHIPchilnpqvwz", "ABCem", f"{TALK} cached untracked count"),
    "git log": GIT_LOOKS,
    "git ls-files": options("cdkmosz", "", f"{TALK} cached deleted modified others stage"),
    "git pull": options("qv", "", f"{TALK} ff-only rebase no-rebase"),
    "git push": options("nquv", "", f"{TALK} set-upstream dry-run porcelain"),
    "git rev-parse": options("q", "", f"{TALK} abbrev-ref short verify show-toplevel git-dir"),
    "git show": GIT_LOOKS,
    "git status": options(
        "bsuvz",
        "",
        f"{TALK} short branch long porcelain porcelain=v1 porcelain=v2 show-stash ignored "
        "untracked-files untracked-files= ahead-behind",
    ),
    "go": options(
        single="v race short count= run= skip= timeout= bench= benchmem benchtime= cover failfast "
        "parallel= json shuffle= list= cpu="
    ),
    "make": MAKE,
    "mypy": options(
        "v",
        "mp",
        f"{TALK} strict pretty ignore-missing-imports show-error-codes show-column-numbers "
        "no-incremental no-color-output python-version= check-untyped-defs",
    ),
    "ninja": options("nv", "", TALK, like=r"-[jkl]\d+"),
    "npm": NODE,
    "pip": options("q", "", TALK),
    "pytest": options(
        "lqsvx",
        "kmnr",
        f"{TALK} maxfail= tb= lf last-failed ff failed-first nf new-first sw stepwise durations= "
        "durations-min= co collect-only no-header no-summary disable-warnings exitfirst showlocals "
        "no-cov cov cov= capture= runxfail strict-markers deselect= ignore= ignore-glob= timeout= "
        "cache-clear setup-show fixtures markers",
    ),
    "rsync": options("aghlnoprtuvzP", "", f"{TALK} archive dry-run progress stats compress"),
    "ruff": options(
        "qv",
        "",
        f"{TALK} select= ignore= extend-select= statistics preview no-cache output-format= "
        "show-files diff check line-length= target-version= no-fix exit-zero",
    ),
    "tar": options("v", "", "verbose"),
    "tsc": options(long=f"{TALK} noEmit pretty strict skipLibCheck"),
    "unittest": options("bcfqv", "kpst", f"{TALK} failfast buffer catch locals"),
    **dict.fromkeys(("bun", "jest", "mocha", "pnpm", "vitest", "yarn"), NODE),
    **dict.fromkeys(("gmake", "just"), MAKE),
}
"""By program, or by program and subcommand."""

# Their first operand is a program text, or names what is done: no rule leaves it open.
FIRST_OPERAND_TOLD = word_set("awk gawk mawk nawk sed gsed tar bsdtar")
# Where each further operand is one more thing that is done.
BUILDERS = word_set("make gmake ninja just")

OPERAND = re.compile(r"(?![@+]).*", re.DOTALL)  # the others are read for options, or are commands
TARGET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
NUMBER_OF_JOBS = re.compile(r"\d+")
OPERANDS = {
    "curl": re.compile(r"(https?://)?[\w.-]+(:\d+)?([/?#].*)?"),
    # No path outside of the repository, which `git diff` reads; no transport that is a program;
    # no subcommand that runs what it is told.
    "git": re.compile(
        r"(?!\+|/|(.*/)?\.\.(/|$)|.*::|(config|run|foreach|filter-branch|(diff|merge)tool|hook|"
        r"shell|daemon|instaweb|maintenance|(remote|credential|web|imap|send|http)-.*)$).*",
        re.DOTALL,
    ),
    "go": re.compile(r"(?!@|(run|tool|generate|install|get|env|work)$).*"),
    "tar": re.compile(r"[^:@+][^:]*"),  # HOST:FILE is fetched by another program
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun"),
        re.compile(r"(?!(exec|x|explore|config|c|set|pkg|dlx|create|init|publish)$).*"),
    ),
}


def only_harmless(command: Words, told: int) -> bool:
    """Whether all words of a command behind the first `told` are known to be harmless."""
    name = re.sub(r"[\d.]+$", "", base_name(command[0]))
    if name == "python" and told > 2 and command[1] == "-m":
        return only_harmless(command[2:], told - 2)
    added = tuple(word for word in command[told:] if word != "--")
    if not added:
        return True
    if name in FIRST_OPERAND_TOLD and next(operand_places(command, frozenset()), told) >= told:
        return False
    known = OPTIONS.get(f"{name} {command[1]}") or OPTIONS.get(name) or TABLE.get(name, ANY)
    parts = take_apart(known, added)
    operand = OPERANDS.get(name, OPERAND)
    if name in BUILDERS:
        operand = TARGET if told == 1 else NUMBER_OF_JOBS
    return (
        parts.unknown is None
        and not any(value[:1] == "@" for value in parts.values)  # a file with further words
        and all(operand.fullmatch(word) for word in parts.operands)
    )
