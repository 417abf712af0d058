"""Find the one request or conversation that a full or shortened name means, or say plainly why there is none."""

from __future__ import annotations

import difflib
from typing import Final

from coldpress.cli.options import same_options
from coldpress.model.errors import AmbiguousOriginal, UnknownOriginal
from coldpress.stores.base import Store

LEAST_REQUEST_DIGITS: Final = 8
LEAST_LINEAGE_DIGITS: Final = 6
_MOST_NAMED: Final = 5
_RECENT: Final = 200
"""Conversations among which a name that was meant is looked for."""
_NEAR: Final = 0.5


def full_request_id(store: Store, asked: str) -> str:
    """Complete the id of a request in the ledger, of which the first eight characters are enough.

    Raises:
        UnknownOriginal: the ledger has none.
        AmbiguousOriginal: it has several that begin so.
    """
    if store.receipt(asked) is not None:
        return asked
    found = store.names_like("request", asked, limit=_MOST_NAMED) if len(asked) >= LEAST_REQUEST_DIGITS else ()
    if found:
        return _one(asked, found, "request")
    raise UnknownOriginal(
        f"no request {asked} in the ledger; give its id, or at least the first {LEAST_REQUEST_DIGITS} digits of it; "
        f"coldpress ledger list{same_options()} shows what is there"
    )


def full_lineage(store: Store, asked: str) -> str:
    """Complete the name of a conversation that the ledger knows, or that has notes; six characters are enough.

    Raises:
        UnknownOriginal: there is none; the message names near ones.
        AmbiguousOriginal: there are several that begin so.
    """
    with_notes = [scope.removeprefix("lineage:") for scope in store.note_scopes() if scope.startswith("lineage:")]
    if asked in with_notes or store.names_like("lineage", asked, limit=1) == (asked,):
        return asked
    if len(asked) >= LEAST_LINEAGE_DIGITS:
        known = store.names_like("lineage", asked, limit=_MOST_NAMED)
        found = {*known, *(name for name in with_notes if name.startswith(asked))}
        if found:
            return _one(asked, tuple(sorted(found)), "conversation")
    recent = [lineage.lineage for lineage in store.lineages(limit=_RECENT)]
    near = difflib.get_close_matches(asked, dict.fromkeys((*recent, *with_notes)), n=3, cutoff=_NEAR)
    begun = [name for name in recent if name.startswith(asked)][:3]
    meant = f"; near are {', '.join(near or begun)}" if near or begun else ""
    raise UnknownOriginal(
        f"no conversation {asked} in the ledger{meant}; give its lineage, or at least the first "
        f"{LEAST_LINEAGE_DIGITS} digits of it; coldpress ledger conversations{same_options()} shows what is there"
    )


def _one(asked: str, found: tuple[str, ...], what: str) -> str:
    if len(found) == 1:
        return found[0]
    raise AmbiguousOriginal(f"{asked} fits more than one {what}: {', '.join(found)}; give more digits")
