"""Words that say nothing about what is looked for: English, shells, search tools, and what agents say of any step."""

from __future__ import annotations

from typing import Final

_ENGLISH: Final = """
    a about above after again against all also am an and any are as at be because been before being below between
    both but by can cannot could did do does doing done down during each either else even ever every few for from
    further get gets getting give given gives go goes going good got had has have having he her here hers him his
    how however i if in into is it its itself just know let like made make makes making many may maybe me might more
    most much must my need needed needs neither no nor not now of off on once one ones only onto or other our out
    over own per please put rather really same see seem seems seen she should since so some something still such
    sure take takes than that the their them then there these they thing things this those though through thus to
    together too two under until up upon us use used uses using very via want wants was way we well were what when
    where whether which while who whose why will with within without would yes yet you your first next last let's
    don't don doesn isn aren wasn didn won ll ve re im
"""

_STEPS: Final = """
    check checking find finding look looking search searching show showing list listing view viewing inspect examine
    explore understand verify confirm ensure figure identify locate investigate determine try trying start starting
    continue proceed begin step steps task tasks current currently existing relevant related specific different
    exact exactly actual actually important new old quick quickly better best full fully right correct correctly
    several whole file files folder folders directory directories code codebase line lines result results output
    outputs content contents project repo repository command commands pattern patterns example examples question
    answer information details work works working
"""

_SHELL: Final = """
    cd ls cat grep egrep fgrep rg ag ack find head tail sed awk xargs echo printf sort uniq wc cut tr tee true false
    then fi done esac elif sudo env export set bash sh zsh dev null tmp usr bin etc home stdout stderr eof sleep
    timeout which type file name exec print print0 maxdepth mindepth iname include exclude exclude-dir include-dir
    line-number line-numbers ignore-case files-with-matches no-heading heading color colour context after-context
    before-context max-count count recursive word-regexp fixed-strings perl-regexp extended-regexp glob no-ignore
    hidden sort-files multiline
"""

_FORMATS: Final = """
    http https www com org py pyi js jsx ts tsx mjs cjs json jsonl md txt rst toml yaml yml html css xml csv log go
    rs rb java cpp hpp php sql src
"""

STOP: Final = frozenset(f"{_ENGLISH} {_STEPS} {_SHELL} {_FORMATS}".split())
"""In small letters."""
