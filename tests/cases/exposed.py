"""Show a model a result exact, let it answer, and see what is sent in its place from then on, in either format."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

from bodies import changed_literals
from cases.talk import TOOLS, Json, assistant, chat, chat_calls, chat_result, messages, result, use, user
from drive.offloading import settings as offloading
from provider import MODEL, NO_CACHE, SOON, Provider, Turn, priced
from support import Press, failed_quietly, pressing

from coldpress.drive import Inbound
from coldpress.engine.policy import Policy, Rule, RuleMode
from coldpress.model.records import Outcome
from coldpress.stores.base import Store
from coldpress.testing import Say, Script, StrictUpstream
from coldpress.testing import Turn as Reply
from coldpress.wire.registry import FormatName

Mode = Literal["keyword", "model"]
FORMATS: tuple[FormatName, ...] = ("anthropic", "openai_chat")
SYSTEM = "You are an agent in a repository. " * 60


@dataclass(frozen=True)
class Exposed:
    """What came of a result.

    Attributes:
        views: its text on each request from the first that holds it on; `None` where it went exact.
        turns: those requests.
        questions: bodies that the summariser was sent.
    """

    views: tuple[str | None, ...]
    turns: tuple[Turn, ...]
    questions: tuple[bytes, ...]

    @property
    def view(self) -> str:
        """What is shown in the end; fails where that is the exact text."""
        found = self.views[-1]
        assert found is not None
        return found


def conversation(
    name: FormatName,
    text: str,
    tool: str = "Grep",
    *,
    said: str = "Where is it?",
    tools: Sequence[str] = TOOLS,
    more: int = 2,
    then: str = "Go on.",
    **arguments: object,
) -> list[bytes]:
    """Requests that grow by a reply each; the second holds the result of a call first."""
    given = arguments or {"pattern": "settings"}
    listed: list[Json]
    if name == "anthropic":
        listed = [user("Make it pass."), assistant(said, use("t1", tool, **given)), user(result("t1", text))]
        listed += [one for number in range(more) for one in (assistant(f"Step {number}."), user(then))]
        top: Json = {"system": [{"type": "text", "text": SYSTEM}]}
    else:
        called = {**chat_calls(("t1", tool, given)), "content": said}
        listed = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Make it pass."}, called]
        listed += [chat_result("t1", text)]
        for number in range(more):
            listed += [{"role": "assistant", "content": f"Step {number}."}, {"role": "user", "content": then}]
        top = {}
    write: Any = messages if name == "anthropic" else chat
    first = len(listed) - 2 * more
    ends = [first - 2, *range(first, len(listed) + 1, 2)]
    return [write(*listed[:end], tools=tools, model=MODEL, **top) for end in ends]


def expose(
    mode: Mode,
    text: str,
    tool: str = "Grep",
    *,
    name: FormatName = "anthropic",
    answer: str = "",
    rerun: str | None = None,
    modes: Sequence[RuleMode] = (),
    store: Store | None = None,
    **more: Any,
) -> Exposed:
    """Play a conversation under one rule for every tool; whatever goes must come back byte for byte.

    Args:
        mode: of the rule.
        text: the result.
        tool: that gave it.
        name: format of the conversation.
        answer: of the summariser.
        rerun: the rule's own sentence.
        modes: of the rule in the place of `mode` alone.
        store: over which all of it goes.
        more: for `conversation`.
    """
    bodies = conversation(name, text, tool, **more)
    rule = Rule("*", tuple(modes) or (mode,), ungated=mode == "keyword", rerun=rerun)
    with ExitStack() as stack:
        changes: Json = {"policy": Policy((rule,))}
        upstream = None
        if mode == "model":
            upstream = stack.enter_context(StrictUpstream(Script(closing=Reply((Say(answer),)))))
            changes["offload"] = offloading("openai", upstream.url)
        press = stack.enter_context(pressing(priced(NO_CACHE, **changes), store))
        turns = asyncio.run(_played(press, bodies, name))[1:]
        for turn in turns:
            assert not failed_quietly(turn.prepared)
            for line in turn.prepared.receipt.lines:
                if line.reason == "exposed":
                    assert press.store.recall(line.original).encode() == text.encode()
        asked = tuple(one.request.body for one in upstream.inference) if upstream is not None else ()
    views = tuple(dict(changed_literals(turn.body, turn.sent, name)).get(text) for turn in turns)
    assert views[0] is None, "exact where it is shown first"
    return Exposed(views, tuple(turns), asked)


async def _played(press: Press, bodies: Sequence[bytes], name: FormatName) -> list[Turn]:
    """Send requests one after the other, tell of each bill, and close what asks the summariser in the same loop."""
    provider, turns = Provider(), list[Turn]()
    served = "anthropic" if name == "anthropic" else "deepseek"
    for number, body in enumerate(bodies):
        provider.now += SOON
        prepared = await press.driver.prepare(Inbound(f"r{number}", provider.now, served, name, body, None, {}))
        usage = provider.bill(prepared.body, name)
        press.driver.finish(Outcome(f"r{number}", 200, "complete", 0.0, usage))
        turns.append(Turn(body, prepared, usage))
    await press.driver.give_up()
    return turns
