"""Hand coldpress's memory tool to the tool runner of the `anthropic` SDK, which must be installed for this file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from coldpress.engine.memory_input import Told
from coldpress.library.memory_tool import MemoryTool


class AnthropicMemory(BetaAbstractMemoryTool):
    """A tool for `client.beta.messages.tool_runner(tools=[...])`.

    A refusal reaches the model as an error result with our words.
    """

    def __init__(self, tool: MemoryTool) -> None:
        super().__init__()
        self._tool = tool

    def call(self, input: object) -> str:
        """Run a call as the model made it; one that the SDK has no command for is refused, not raised."""
        return _reply(self._tool, input)

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Run a command."""
        return _reply(self._tool, command.model_dump())

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Run `view`."""
        return self.execute(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Run `create`."""
        return self.execute(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Run `str_replace`."""
        return self.execute(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Run `insert`."""
        return self.execute(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Run `delete`."""
        return self.execute(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Run `rename`."""
        return self.execute(command)


class AsyncAnthropicMemory(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous client; the store works in a thread of its own."""

    def __init__(self, tool: MemoryTool) -> None:
        super().__init__()
        self._tool = tool

    async def call(self, input: object) -> str:
        """Run a call as the model made it; one that the SDK has no command for is refused, not raised."""
        return await asyncio.to_thread(_reply, self._tool, input)

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Run a command."""
        return await asyncio.to_thread(_reply, self._tool, command.model_dump())

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Run `view`."""
        return await self.execute(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Run `create`."""
        return await self.execute(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Run `str_replace`."""
        return await self.execute(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Run `insert`."""
        return await self.execute(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Run `delete`."""
        return await self.execute(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Run `rename`."""
        return await self.execute(command)


def _reply(tool: MemoryTool, given: object) -> str:
    outcome = tool.run(given if isinstance(given, Mapping) else {})
    if isinstance(outcome, Told):
        raise ToolError(outcome.reply)
    return outcome.reply
