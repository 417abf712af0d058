"""Command words sorted by what the command prints, and the options that stand before an operand."""

from __future__ import annotations

import re
from typing import Final

from coldpress.engine.catalogue_data import Kind


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READERS: Final = _words(
    """
    cat bat batcat nl less more head tail tac zcat zless sed awk gawk mawk nawk jq yq sort uniq cut paste column fold
    fmt rev tr expand unexpand comm get-content gc
    """
)
"""Print the text of the files they are given, whole or in part. Without a file they pass on what a pipe feeds them."""

NUMBERING: Final = {
    **dict.fromkeys(("cat", "bat", "batcat"), re.compile(r"-[a-zA-Z]*[nb][a-zA-Z]*|--number(?:-nonblank)?|--style=.*")),
    **dict.fromkeys(("less", "more"), re.compile(r"-[a-zA-Z]*N[a-zA-Z]*|--LINE-NUMBERS")),
}
"""Options by which a reader numbers lines; `nl` always does."""

SEARCHES: Final = _words("rg grep egrep fgrep zgrep ag ack ugrep find fd fdfind locate sg ast-grep select-string sls")
LISTINGS: Final = _words("ls tree eza exa lsd dir du get-childitem gci")
DIFFS: Final = _words("diff colordiff sdiff interdiff delta difft cmp")
MUTATIONS: Final = _words("apply_patch applypatch patch sponge sd ed ex set-content add-content out-file")

KIND_OF_COMMAND: Final[dict[str, Kind]] = {
    **dict.fromkeys(SEARCHES, "search"),
    **dict.fromkeys(LISTINGS, "listing"),
    **dict.fromkeys(DIFFS, "diff"),
    **dict.fromkeys(MUTATIONS, "mutation"),
}
"""Commands whose name alone says what they give back."""

FILTERS: Final = READERS | _words("grep egrep fgrep rg ag ack ugrep select-string sls wc select-object")
"""As a later stage of a pipeline these pass on part of what they get, so the stage before still says what it is."""

NEUTRAL: Final = _words(
    """
    cd pushd popd export set unset source . true false : echo printf sleep wait alias shopt trap exit return local
    declare typeset readonly ulimit umask pwd read shift break continue let [ [[ test set-location
    """
)
"""Say nothing that matters beside the commands they stand with."""

KEYWORDS: Final = _words("if then elif else while until do ! {")
"""Stand before a command of their own."""

NOT_COMMANDS: Final = _words("for select case function in done fi esac }")
"""Begin a part of a loop or branch that runs nothing."""

WRAPPERS: Final[dict[str, tuple[frozenset[str], int]]] = {
    "sudo": (_words("-u -g -C -D -h -p -R -T -U --user --group"), 0),
    "doas": (_words("-u -C"), 0),
    "env": (_words("-u -C -S --unset --chdir"), 0),
    "timeout": (_words("-k -s --kill-after --signal"), 1),
    "gtimeout": (_words("-k -s --kill-after --signal"), 1),
    "nice": (_words("-n --adjustment"), 0),
    "ionice": (_words("-c -n -p"), 0),
    "time": (_words("-f -o"), 0),
    "stdbuf": (_words("-i -o -e"), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "exec": (_words("-a"), 0),
    "unbuffer": (frozenset(), 0),
    "caffeinate": (_words("-t -w"), 0),
    "chronic": (frozenset(), 0),
}
"""Run the command that follows: the options of theirs that take a value, and how many operands come before it."""

XARGS_VALUES: Final = _words("-n -I -P -d -D -L -s -E -a --max-args --max-procs --delimiter --replace")

SHELLS: Final = _words("bash sh zsh dash ksh")

READER_VALUES: Final[dict[str, frozenset[str]]] = {
    "head": _words("-n -c --lines --bytes"),
    "tail": _words("-n -c --lines --bytes"),
    "nl": _words("-b -d -f -h -i -l -n -s -v -w"),
    "bat": _words("-l -r -H --language --line-range --highlight-line --style --theme --color --paging"),
    "batcat": _words("-l -r -H --language --line-range --highlight-line --style --theme --color --paging"),
    "sed": _words("-e -f -l --expression --file"),
    "awk": _words("-f -v -F"),
    "gawk": _words("-f -v -F"),
    "mawk": _words("-f -v -F"),
    "jq": _words("-f --from-file --indent --tab"),
    "sort": _words("-k -t -o -S -T"),
    "cut": _words("-d -f -c -b"),
    "paste": _words("-d"),
    "column": _words("-s -c -N"),
    "fold": _words("-w"),
    "fmt": _words("-w"),
    "uniq": _words("-f -s -w"),
    "get-content": _words("-totalcount -tail -encoding"),
    "gc": _words("-totalcount -tail -encoding"),
}
"""Options of readers that take a value, so that the value is not taken for a file."""

PROGRAM_FIRST: Final = _words("sed awk gawk mawk nawk jq yq")
"""Readers whose first operand is a program, unless an option of `PROGRAM_OPTIONS` gives it."""

PROGRAM_OPTIONS: Final = _words("-e -f --expression --file --from-file")

TEXT_ONLY: Final = _words("tr")
"""Readers that take no files at all."""

GIT_VALUES: Final = _words("-C -c --git-dir --work-tree --namespace --exec-path")

GIT_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("diff", "difftool", "range-diff", "diff-tree", "diff-index", "diff-files", "show"), "diff"),
    **dict.fromkeys(("apply", "am"), "mutation"),
    **dict.fromkeys(("blame", "annotate", "cat-file"), "source"),
    **dict.fromkeys(("ls-files", "ls-tree"), "listing"),
    "grep": "search",
}
"""Subcommands of git that are none of a log; `log`, `show` and `stash` need a second look."""

GIT_PATCH_OPTIONS: Final = _words("-p -u --patch --patch-with-stat --cc -c --full-diff")

HARMLESS_TARGETS: Final = _words("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/fd/1 /dev/fd/2 nul $null")
"""Writing there changes no file."""
