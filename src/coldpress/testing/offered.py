"""Turn an intent (run this, read that) into a call of whichever tool a client offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coldpress.testing.jsonview import as_array, as_object, as_text, objects
from coldpress.testing.script import Call, Part, Read, Shell

_SHELLS = (
    "bash",
    "shell",
    "shell_command",
    "exec_command",
    "local_shell",
    "run_shell_command",
    "run_command",
    "execute",
)
_READERS = ("read", "read_file", "view", "view_file", "cat")
_COMMAND_ARGUMENTS = ("command", "cmd", "script")
_PATH_ARGUMENTS = ("file_path", "filePath", "path", "absolute_path", "filename")
_FILLERS: Mapping[str, object] = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}


ToolKind = Literal["function", "custom", "shell", "local_shell", "apply_patch"]
_HOSTED: Mapping[str, tuple[ToolKind, Mapping[str, object]]] = {
    "shell": ("shell", {"properties": {"command": {"type": "string"}}}),
    "local_shell": ("local_shell", {"properties": {"command": {"type": "array"}}}),
    "apply_patch": ("apply_patch", {}),
}
"""Tools that the Responses wire knows by their type alone, and what a call of each takes here."""


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool of a request.

    Attributes:
        name: as sent; of a tool without a name, its type.
        schema: JSON schema of its arguments.
        kind: what the Responses wire writes a call of it as; `custom` takes free text, in an argument `input`.
        namespace: of a tool that stands in one.
    """

    name: str
    schema: Mapping[str, object]
    kind: ToolKind = "function"
    namespace: str | None = None


def offered_tools(body: Mapping[str, object]) -> tuple[Offered, ...]:
    """List the tools of a request on either wire that take JSON arguments."""
    found = []
    for tool in objects(body.get("tools")):
        function = as_object(tool.get("function")) or tool
        schema = as_object(function.get("input_schema")) or as_object(function.get("parameters"))
        if name := as_text(function.get("name")):
            found.append(Offered(name, schema))
    return tuple(found)


def responses_tools(body: Mapping[str, object]) -> tuple[Offered, ...]:
    """List the tools of a Responses request: its own, those inside namespaces, and those that items of it bring."""
    found: list[Offered] = []
    brought = [tool for item in objects(body.get("input")) for tool in _brought(item)]
    for tool in (*objects(body.get("tools")), *brought):
        kind, name = as_text(tool.get("type")), as_text(tool.get("name"))
        if kind == "namespace":
            found += (_named(inner, namespace=name) for inner in objects(tool.get("tools")))
        elif kind in _HOSTED:
            found.append(Offered(kind, _HOSTED[kind][1], _HOSTED[kind][0]))
        elif kind in ("function", "custom"):
            found.append(_named(tool, namespace=None))
    return tuple(found)


def gemini_tools(request: Mapping[str, object]) -> tuple[Offered, ...]:
    """List the functions that a Gemini request declares, with a JSON schema or with Google's own, in upper case."""
    found = []
    for tool in objects(request.get("tools")):
        for told in objects(tool.get("functionDeclarations")) or objects(tool.get("function_declarations")):
            schema = as_object(told.get("parametersJsonSchema")) or _lower(as_object(told.get("parameters")))
            found.append(Offered(as_text(told.get("name")), schema))
    return tuple(found)


def resolve(part: Part, tools: Sequence[Offered]) -> Part:
    """Give the call that a `Shell` or `Read` means to this client, and say why a `Call` with a reason is made.

    Raises:
        LookupError: the client offers no tool that could do it.
    """
    match part:
        case Shell(command):
            return _shell_call(command, tools)
        case Read(path):
            if (reader := _pick(_READERS, tools)) is not None:
                return Call(reader.name, _fill(reader, _PATH_ARGUMENTS, path))
            return _shell_call(f"cat {path}", tools)
        case Call(tool, arguments, str(reason)):
            return Call(tool, _reasons(tool, arguments, reason, tools) | dict(arguments))
        case _:
            return part


def _brought(item: Mapping[str, object]) -> list[Mapping[str, object]]:
    return objects(item.get("tools")) if item.get("type") == "additional_tools" else []


def _lower(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Write the types of a schema's arguments in lower case."""
    told = as_object(schema.get("properties"))
    lowered = {
        name: {**as_object(one), "type": as_text(as_object(one).get("type")).lower()} for name, one in told.items()
    }
    return {**schema, "properties": lowered}


def _named(tool: Mapping[str, object], *, namespace: str | None) -> Offered:
    kind: ToolKind = "custom" if tool.get("type") == "custom" else "function"
    return Offered(as_text(tool.get("name")), as_object(tool.get("parameters")), kind, namespace)


def _shell_call(command: str, tools: Sequence[Offered]) -> Call:
    shell = _pick(_SHELLS, tools)
    if shell is None:
        names = ", ".join(tool.name for tool in tools) or "none"
        raise LookupError(f"the client offers no shell tool to run {command!r}; it offers: {names}")
    return Call(shell.name, _fill(shell, _COMMAND_ARGUMENTS, command))


def _reasons(tool: str, arguments: Mapping[str, object], reason: str, tools: Sequence[Offered]) -> dict[str, object]:
    """Fill the text fields that a tool requires beside the arguments; none of a tool that is not offered."""
    schema = next((offered.schema for offered in tools if offered.name == tool), {})
    properties = as_object(schema.get("properties"))
    return {
        name: reason
        for name in as_array(schema.get("required"))
        if isinstance(name, str) and name not in arguments and as_object(properties.get(name)).get("type") == "string"
    }


def _pick(wanted: Sequence[str], tools: Sequence[Offered]) -> Offered | None:
    by_name = {tool.name.lower(): tool for tool in reversed(tools)}
    return next((by_name[name] for name in wanted if name in by_name), None)


def _fill(tool: Offered, names: Sequence[str], value: str) -> dict[str, object]:
    """Put the value under the argument the schema knows, and something harmless into every other required one."""
    properties = as_object(tool.schema.get("properties"))
    name = next((name for name in names if name in properties), names[0])
    listed = as_object(properties.get(name)).get("type") == "array"
    arguments: dict[str, object] = {name: ["bash", "-lc", value] if listed else value}
    for required in as_array(tool.schema.get("required")):
        if isinstance(required, str) and required not in arguments:
            kind = as_text(as_object(properties.get(required)).get("type"))
            choices = as_array(as_object(properties.get(required)).get("enum"))
            arguments[required] = choices[0] if choices else _FILLERS.get(kind, "part of the task")
    return arguments
