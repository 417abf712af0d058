"""Promise: a client that ends each request with something the next one lacks costs two compactions more at the most."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from bodies import conversation
from cases.talk import Json, log, text
from compacting import FORMATS, Call, Step, applied, faultless, prose, request, run, valid, windowed, written
from support import pressing

from coldpress.drive import Prepared
from coldpress.stores.memory import MemoryStore
from coldpress.wire.registry import FormatName

STEPS = [run(n, 20, reply=f"r {n}") if n % 2 else prose(n, 60) for n in range(61)]
WINDOW_TOKENS = 9_000
MOST_MORE = 2


def as_message(messages: list[Json], number: int) -> list[Json]:
    """Put a message behind the last one."""
    return [*messages, {"role": "user", "content": f"<environment>\ntime {number}\n</environment>"}]


def as_block(messages: list[Json], number: int) -> list[Json]:
    """Put a text into the last message; Chat Completions have no block for it beside a result, so a message there."""
    last = copy.deepcopy(messages[-1])
    if last["role"] == "tool":
        return as_message(messages, number)
    said = last["content"] if isinstance(last["content"], list) else [text(last["content"])]
    return [*messages[:-1], {**last, "content": [*said, text(f"time {number}")]}]


Ending = Callable[[list[Json], int], list[Json]]
ENDINGS = pytest.mark.parametrize("ending", [as_message, as_block])
EVERY_FORMAT = pytest.mark.parametrize("name", FORMATS)


def bodies(name: FormatName, ending: Ending | None, steps: list[Step] = STEPS) -> list[bytes]:
    listed = [written(name, steps[:n]) for n in range(1, len(steps) + 1)]
    return [request(name, ending(messages, n) if ending else messages) for n, messages in enumerate(listed)]


def sent(name: FormatName, asked: list[bytes], store: MemoryStore | None = None) -> list[Prepared]:
    with faultless(), pressing(windowed(WINDOW_TOKENS), store) as press:
        return press.all(asked, name)


@ENDINGS
@EVERY_FORMAT
def test_a_batch_stands_although_the_end_of_its_request_does_not_come_again(name: FormatName, ending: Ending) -> None:
    steady = sum(map(applied, sent(name, bodies(name, None))))
    asked = bodies(name, ending)

    found = sent(name, asked)

    assert steady > 2
    assert sum(map(applied, found)) <= steady + MOST_MORE
    for before, now in itertools.pairwise(found):
        earlier, later = valid(before.body, name)["messages"], valid(now.body, name)["messages"]
        if not applied(now):
            lasting = earlier[:-2]  # the last message, and the one that it may have been put into
            assert json.dumps(later[: len(lasting)]) == json.dumps(lasting)


@ENDINGS
@EVERY_FORMAT
def test_it_is_found_after_a_restart(name: FormatName, ending: Ending) -> None:
    store = MemoryStore()
    asked = bodies(name, ending)
    found = sent(name, asked, store)
    last = max(n for n, prepared in enumerate(found[:-1]) if applied(prepared))

    again = sent(name, asked[last + 1 :], store)

    assert last + 1 < len(asked)
    assert [prepared.body for prepared in again] == [prepared.body for prepared in found[last + 1 :]]


@EVERY_FORMAT
def test_a_rewind_past_the_last_reply_does_not_count(name: FormatName) -> None:
    steady = bodies(name, None)
    with faultless(), pressing(windowed(WINDOW_TOKENS)) as press:
        first = next(n for n, prepared in enumerate(press.all(steady, name)) if applied(prepared))
        other = [
            *STEPS[: first - 1],
            replace(prose(900, 60), user="Another way."),
            *(run(n, 20) for n in range(901, 930)),
        ]
        rewound = bodies(name, None, other)
        made = [n for n, prepared in enumerate(press.all(rewound[first - 1 :], name), first - 1) if applied(prepared)]
        assert made
        kept = press.store.batches([last_chain(rewound[n], name) for n in made])

    assert len(kept) == len(made)  # by the last message of each request, as ever


def last_chain(body: bytes, name: FormatName) -> bytes:
    """The chain of a request's last message."""
    return conversation(body, name).messages[-1].chain


@EVERY_FORMAT
@pytest.mark.parametrize("marked", [1, 2, 3])
def test_what_it_gives_back_behind_the_last_reply_is_found_again(name: FormatName, marked: int) -> None:
    """Every turn reads the same text again, so the last results refer to one that goes, and are given back in full."""
    same = log("same", 20)
    fill = [" ".join(f"w{n}_{i}" for i in range(60)) for n in range(47)]
    steps = [Step((Call(f"c{n}", same, "Read", {"file_path": "src/a.py"}),), reply=said) for n, said in enumerate(fill)]
    asked = bodies(name, with_mark(as_message, marked), steps)
    store = MemoryStore()

    found = sent(name, asked, store)

    made = [n for n, prepared in enumerate(found) if applied(prepared)]
    assert len(made) > 2
    assert sum(gives_back_behind_a_reply(asked[n], name, store) for n in made) > 1
    for n in range(made[0], len(asked)):
        with faultless(), pressing(windowed(WINDOW_TOKENS), store) as fresh:
            assert fresh(asked[n], name, "drain").body == found[n].body, n


def with_mark(ending: Ending, behind: int) -> Ending:
    """The same with a cache mark on one of the last messages, as clients move it from request to request."""

    def marked(messages: list[Json], number: int) -> list[Json]:
        ended = copy.deepcopy(ending(messages, number))
        one = ended[-min(behind, len(ended))]
        if isinstance(one["content"], str):
            one["content"] = [text(one["content"])]
        if one["content"]:
            one["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return ended

    return marked


def gives_back_behind_a_reply(body: bytes, name: FormatName, store: MemoryStore) -> bool:
    """Whether the batch of a request is kept by the last reply, and about a text behind that."""
    found = conversation(body, name)
    behind = {message.chain for message in found.messages[found.last_assistant + 1 :]}
    chain = found.messages[found.last_assistant].chain
    batch = store.batches([chain]).get(chain)
    return batch is not None and any(standing.key.chain in behind for standing in batch.standings)
