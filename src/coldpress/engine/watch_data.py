"""Which tools, commands and arguments say something when a call is made again, and which do not."""

from __future__ import annotations

import re
from typing import Final

from coldpress.engine.catalogue_data import Kind


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNWATCHED_KINDS: Final[frozenset[Kind]] = frozenset({"mutation", "plan", "memory"})
"""Kinds of calls that are made again for their effect, or since they are meant to be."""

UNWATCHED_TOOLS: Final = _words(
    "wait yield sendmessage send_input close_agent batch spawn_agent toolsearch tool_search"
)
"""Tools that wait for, or speak to, something that goes on by itself; and those that load others."""

REMARKS: Final = _words("description reason intent explanation timeout justification run_in_background is_background")
"""Arguments that change nothing in what comes back."""

FOLDER_KEYS: Final = ("workdir", "cwd", "working_directory", "dir_path", "directory")
"""Arguments of a shell tool that say in which folder a command line runs."""

SEARCH_FILTERS: Final = ("glob", "include", "type", "file_pattern", "output_mode")
"""Arguments of a search that make it another search."""

POLLS: Final = _words(
    """
    sleep watch wait date ps top uptime free jobs pgrep lsof netstat ss nvidia-smi docker docker-compose podman kubectl
    gh systemctl journalctl screen tmux
    """
)
"""Commands that ask how something stands that goes on by itself: the same question has a new answer."""

OWN_MACHINE: Final = ("localhost", "127.0.0.1", "0.0.0.0", "tail -f", "tail -F")
"""In a command line these say that it asks a running service, or follows a log."""

RANGE_READERS: Final = _words("cat bat batcat nl less more head tail sed")
"""Show lines of a file by their numbers; `sed` with `-n`."""

SILENT: Final = _words("echo printf true : set export source . exit pwd popd")

GREPS: Final = _words("grep egrep fgrep rg ag ack ugrep")
GREP_VALUES: Final = _words(
    """
    -A -B -C -m -f -g -t -T -d -D -j -M --after-context --before-context --context --max-count --glob --type --type-not
    --include --exclude --exclude-dir --max-depth --color --colors --sort --threads --file
    """
)
"""Options of these that take a value in the next word."""

GIT_CHANGES: Final = _words(
    """
    add am apply bisect branch checkout cherry-pick clean clone commit fetch init merge mv pull push rebase reset
    restore revert rm stash submodule switch tag worktree
    """
)
CHANGERS: Final = _words("rm mv cp ln mkdir rmdir touch chmod chown rsync tar unzip kill pkill killall patch")
INSTALLERS: Final = _words("pip pip3 npm pnpm yarn uv poetry cargo apt apt-get brew gem go bundle composer")

UNREADABLE: Final = re.compile(r"<<|`|\$[({]|[\w=<>]\(")
"""Here-documents, substitutions and arrays, of whose text the words of a command line keep nothing."""

LEADING_CD: Final = re.compile(r"\s*(?:cd|pushd)\s+('[^']*'|\"[^\"]*\"|[^\s;&|]+)\s*(?:&&|;|\n)\s*")
TRAILING: Final = re.compile(
    r"\s*(?:\|\s*(?:head|tail)(?:\s+-{1,2}[\w=-]+|\s+\d+)*|2>&1|2>\s*/dev/null|\|\|\s*true)\s*\Z"
)

PATH_LIKE: Final = re.compile(r"[^\s'\"`<>|;&=(),:{}\[\]]+")
