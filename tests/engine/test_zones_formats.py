"""In which wire formats messages may go: those in which what stands in their place can be written."""

from __future__ import annotations

import pytest
from bodies import conversation
from strategies import Step, Style, chat_messages, chat_request, code_assist_request, gemini_contents, write

from coldpress.engine.plan import propose
from coldpress.engine.policy import Policy
from coldpress.engine.session import Session
from coldpress.engine.zones import evictable, zones
from coldpress.model.conversation import Conversation
from coldpress.wire.continuation import asked_to_summarise

HAND = Style(0, False, False, False)
STEPS = [Step((("Bash", f"output {n}", False),), False, "", None) for n in range(12)]
READ = {
    "openai_chat": lambda: conversation(write(chat_request(chat_messages(STEPS)), HAND), "openai_chat"),
    "gemini": lambda: conversation(write(code_assist_request(gemini_contents(STEPS)), HAND), "gemini"),
}


def may_go(found: Conversation) -> tuple[int, int] | None:
    session = propose(found, Session(), {}, Policy(()), "observe").session
    assert len(session.replies) == len(STEPS)
    return evictable(found, zones(found, session, keep_turns=3), floor=0)


def test_in_chat_completions_old_turns_may_go() -> None:
    found = READ["openai_chat"]()
    assert may_go(found) is not None
    assert asked_to_summarise(found, stop=len(found.messages), request="sum it up").format == "openai_chat"


def test_in_gemini_none_may_and_no_summary_is_asked_for() -> None:
    found = READ["gemini"]()
    assert may_go(found) is None
    with pytest.raises(ValueError, match="format gemini"):
        asked_to_summarise(found, stop=len(found.messages), request="sum it up")
