"""Commands that only read, with the options that only read: these run unasked.

What isn't in the table is asked about, an option as well as a command. git isn't in it: the
configuration of a repository names programs for nearly everything that git does (fsmonitor, text
conversion, filters, signatures, the fetch of missing objects), and a subfolder may be somebody
else's repository.

Words that may be paths must lie in the workspace, as far as words can tell; whether a link leads
out of it only the disk knows, so `reads` names them for a caller who can look.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from claw.policy.handover import without_timeout
from claw.policy.options import NUMBER, options, take_apart
from claw.policy.words import Words
from claw.values import frozen

NOT_FILES = ("/dev", "/proc", "/sys")
NO_PATHS = ("", "/")  # of values: the second separates the fields of a path


@frozen
class Reading:
    """problem: why the command isn't surely one that only reads, "" if it is. paths: what it reads,
    as it is spelled."""

    problem: str
    paths: tuple[str, ...] = ()


def read_only(words: Words, roots: Sequence[str]) -> Reading:
    """Looks at one plain command. roots: the absolute real paths of the folders it may read."""
    words = without_timeout(words)
    known = TABLE.get(words[0])
    if known is None:
        return Reading(f"{words[0] or 'an empty word'} isn't a command that is known to only read")
    parts = take_apart(known, words[1:])
    if parts.unknown is not None:
        return Reading(f"{words[0]} {parts.unknown} isn't known to only read")
    if not known.fits(words):
        return Reading(f"{words[0]} with these words isn't known to only read")
    if known.most is not None and (parts.late or len(parts.operands) > known.most):
        return Reading(f"{words[0]} may write to {parts.late or parts.operands[known.most]}")
    if not known.paths:
        return Reading("")
    # A value is no path, unless this program knows the option in another way than the table.
    values = [value.removeprefix("=") for value in parts.values]
    for path in (*parts.paths, *(value for value in values if value not in NO_PATHS)):
        if is_outside(path, roots):
            return Reading(f"{path or 'an empty path'} may be outside the workspace")
    return Reading("", parts.paths)


def is_outside(path: str, roots: Sequence[str]) -> bool:
    """Whether a path may lead out of the roots, by its words alone; devices count as outside."""
    if ".." in path.split("/"):
        return True
    if not path.startswith("/"):
        return not path
    path = "/" + posixpath.normpath(path).lstrip("/")
    inside = any(_is_in(path, root) for root in roots)
    return not inside or any(_is_in(path, folder) for folder in NOT_FILES)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _prints_date(words: Words) -> bool:
    return all(word[:1] in ("+", "-") for word in words[1:])


def _prints_lines(words: Words) -> bool:
    """`sed -n 10,20p FILE`, which many models read files with; no other script is known."""
    return words[1:2] == ("-n",) and bool(
        re.fullmatch(r"\d+(,(\d+|\$))?p", words[2] if len(words) > 2 else "")
    )


def _looks_through_no_link(words: Words) -> bool:
    """Of diff: if its operands are folders, it would read what the links in them lead to."""
    return "--no-dereference" in words


def _asks_where(words: Words) -> bool:
    return words[1:2] in (("-v",), ("-V",))


SUMS = options("bt", long="binary text tag zero")
GREP = options(
    "EFGPivwxycLlqsHhnbTZzaIUro",
    "eABCm",
    "extended-regexp fixed-strings basic-regexp perl-regexp regexp= ignore-case no-ignore-case "
    "invert-match word-regexp line-regexp count color color= colour colour= files-without-match "
    "files-with-matches max-count= only-matching quiet silent no-messages with-filename "
    "no-filename line-number initial-tab null null-data after-context= before-context= context= "
    "text binary-files= exclude= exclude-dir= include= recursive line-buffered version help",
    leading=1,
    like=NUMBER,
)
TABLE = {
    "basename": options("az", "s", "multiple suffix= zero", paths=False),
    "cat": options(
        "AbeEnstTuv",
        long="show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting",
    ),
    "cmp": options("bls", "n", "print-bytes verbose quiet silent bytes="),
    "column": options("tnxJe", "sc", "table separator= output-width= fillrows"),
    "comm": options("123z", long="check-order nocheck-order output-delimiter= total"),
    "command": options("vV", paths=False, fits=_asks_where),
    "cut": options(
        "nsz",
        "bcdf",
        "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= "
        "zero-terminated",
    ),
    "date": options(
        "uRI", long="utc universal rfc-email iso-8601 iso-8601=", paths=False, fits=_prints_date
    ),
    "df": options(
        "aHhiklPT", long="all human-readable si inodes local portability total print-type"
    ),
    "diff": options(
        "abBcdiNpqstTuwyEZ",
        "UCWIF",
        "brief report-identical-files context unified context= unified= ignore-case "
        "ignore-all-space ignore-space-change ignore-blank-lines side-by-side width= text color "
        "color= new-file show-c-function suppress-common-lines strip-trailing-cr label= minimal "
        "no-dereference",
        fits=_looks_through_no_link,
    ),
    "dirname": options("z", long="zero", paths=False),
    "du": options(
        "abchkmsSx0",
        "dt",
        "all apparent-size bytes total human-readable max-depth= summarize separate-dirs "
        "one-file-system exclude= si null",
    ),
    "echo": options(paths=False, free=True),
    "egrep": GREP,
    "expand": options("i", "t", "initial tabs="),
    "false": options(paths=False),
    "fgrep": GREP,
    "file": options(
        "bikLh0NrE", "F", "brief mime mime-type mime-encoding keep-going no-dereference extension"
    ),
    "find": options(
        single="name= iname= path= ipath= wholename= type= maxdepth= mindepth= size= mtime= mmin= "
        "atime= amin= ctime= cmin= newer empty not o or a and print print0 prune regex= iregex= "
        "regextype= perm= user= group= uid= gid= links= executable readable writable xdev mount "
        "depth true false ls quit nouser nogroup printf= daystart",
    ),
    "fold": options("bs", "w", "bytes spaces width="),
    "grep": GREP,
    "head": options("qvz", "cn", "bytes= lines= quiet silent verbose zero-terminated", like=NUMBER),
    "id": options("ugGnrz", paths=False),
    "ls": options(
        "1AaBbCcdFfGghiklmNnopQqrRSsTtUuvxXZ",
        "Iw",
        "all almost-all author escape block-size= ignore-backups color color= directory classify "
        "file-type format= full-time group-directories-first no-group human-readable si inode "
        "kibibytes indicator-style= ignore= hide= numeric-uid-gid literal quote-name reverse "
        "recursive size sort= time= time-style= width= zero",
    ),
    "md5sum": SUMS,
    "nl": options(
        "p",
        "bdfhilnsvw",
        "body-numbering= number-format= number-width= starting-line-number= number-separator=",
    ),
    "nproc": options(long="all ignore=", paths=False),
    "od": options(
        "abcdfiloshxvD", "AjNt", "address-radix= skip-bytes= read-bytes= format= output-duplicates"
    ),
    "paste": options("sz", "d", "delimiters= serial zero-terminated"),
    "pwd": options("LP", paths=False),
    "readlink": options(
        "femnqsvz",
        long="canonicalize canonicalize-existing "
        "canonicalize-missing no-newline quiet silent verbose zero",
    ),
    "realpath": options(
        "emLPqsz",
        long="canonicalize-existing canonicalize-missing logical "
        "physical quiet strip no-symlinks zero relative-to= relative-base=",
    ),
    "rev": options(),
    "rg": options(
        "iSswxvclnNoFPUuHIa0qb.",
        "ABCEMmgtTejd",
        "after-context= before-context= context= count count-matches case-sensitive color= "
        "colors= column no-column crlf encoding= files files-with-matches files-without-match "
        "fixed-strings glob= iglob= heading no-heading hidden ignore-case include-zero "
        "invert-match json line-number no-line-number line-regexp max-columns= max-count= "
        "max-depth= max-filesize= multiline multiline-dotall no-config no-filename no-ignore "
        "no-ignore-vcs no-messages null only-matching passthru path-separator= pcre2 pretty "
        "quiet regexp= replace= smart-case sort= sortr= stats text threads= trim type= type-not= "
        "type-list unrestricted vimgrep with-filename word-regexp version help",
        leading=1,
    ),
    "sed": options("n", leading=1, fits=_prints_lines),
    "seq": options("w", "fs", "format= separator= equal-width", paths=False, like=NUMBER),
    "sha1sum": SUMS,
    "sha256sum": SUMS,
    "sha512sum": SUMS,
    "sort": options(
        "bdfghiMnRrVcCsuz",
        "kt",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort "
        "human-numeric-sort month-sort numeric-sort reverse sort= version-sort check check= key= "
        "field-separator= stable unique zero-terminated",
    ),
    "stat": options("Lft", "c", "dereference file-system format= printf= terse"),
    "tac": options("br", "s", "before regex separator="),
    "tail": options("qvz", "cn", "bytes= lines= quiet silent verbose zero-terminated", like=NUMBER),
    "test": options(
        single="a o b c d e f g h k p r s u w x z n L S O G eq ne lt le gt ge nt ot ef",
        like=NUMBER,
    ),
    "tr": options("cCdst", long="complement delete squeeze-repeats truncate-set1", paths=False),
    "tree": options(
        "adfFsDhpugiCnNqQrtcUv",
        "LIP",
        "noreport dirsfirst gitignore filelimit= charset= du prune si",
        glued=False,  # behind its letter's value it goes on with the cluster, to -o as well
    ),
    "true": options(paths=False),
    "type": options("aftpP", paths=False),
    "uname": options("asnrvmpio", paths=False, most=0),
    "unexpand": options("a", "t", "all first-only tabs="),
    "uniq": options(
        "cdDiuz",
        "fsw",
        "count repeated ignore-case unique skip-fields= skip-chars= check-chars= all-repeated "
        "all-repeated= group group=",
        most=1,
    ),
    "wc": options("clLmw", long="bytes chars lines words max-line-length"),
    "which": options("a", paths=False),
    "whoami": options(paths=False, most=0),
}
