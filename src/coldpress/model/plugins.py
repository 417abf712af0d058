"""What plugins may be allowed to do, and what came of asking one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Capability = Literal["read_results", "edit_results", "edit_schemas", "use_summariser", "use_network"]
"""What a plugin declares that it does and a user approves, by name and version of the plugin.

`read_results`: the text of tool results and the arguments of calls. `edit_results`: another text in the place of a
result that no model has seen. `edit_schemas`: tool schemas on the way out, and the arguments of calls on the way back.
`use_summariser`: paid calls of the summariser. `use_network`: connections of its own.
"""

CAPABILITIES: Final[tuple[Capability, ...]] = get_args(Capability)

PluginFault = Literal[
    "capability",  # it did what it was not approved for
    "failed",  # it raised
    "slow",  # it took longer than it may
    "refused",  # its edit was not taken: the result may not be touched, or the edit is no text a model may get
]
"""Why what a plugin wanted did not happen; the request went on without it."""


@dataclass(frozen=True, slots=True)
class PluginNote:
    """What a plugin did on one request, or why it did nothing; holds no text of the conversation.

    Attributes:
        plugin: its name.
        hook: which of its hooks ran.
        seconds: how long that took.
        edits: texts, schemas and calls that were changed.
        fault: what went wrong, `None` where nothing did.
        detail: for people: the capability, the kind of error.
    """

    plugin: str
    hook: str
    seconds: float
    edits: int = 0
    fault: PluginFault | None = None
    detail: str = ""
