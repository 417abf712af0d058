"""Rules put beside a model's summary what it left out and an agent needs to the letter, and nothing that it said."""

from __future__ import annotations

from bodies import conversation
from cases.talk import assistant, messages, result, use, user

from coldpress.engine.summary.completed import completed
from coldpress.model.conversation import Conversation
from coldpress.model.summary import Item, Summary


def talk() -> Conversation:
    return conversation(
        messages(
            user("Fix the rounding."),
            assistant("I set the fee to $18.40 because it is never refunded.", use("t1", command="git commit -am x")),
            user(result("t1", "[main 9f2c1ab] x\n 1 file changed")),
            assistant(
                "I look around a little, as one does.", use("t2", "Edit", file_path="src/fee.py", old_string="a")
            ),
            user(result("t2", "The file src/fee.py has been updated.")),
            assistant("So much for that."),
        )
    )


def texts(summary: Summary) -> list[str]:
    found = completed(summary, talk(), 1, 5, task_stop=1)
    return [item.text for _, items in found.summary.sections() for item in items]


def test_what_the_model_left_out_is_added_where_exact_words_count() -> None:
    said = Summary(decisions=(Item("the user wants rounding fixed", 1),))
    assert texts(said) == [
        "the user wants rounding fixed",
        "I set the fee to $18.40 because it is never refunded.",
        "[main 9f2c1ab] x",
        "src/fee.py: changed by Edit once",
    ]


def test_what_the_model_said_is_not_said_twice() -> None:
    said = Summary(
        decisions=(Item("the fee is $18.40", 2),),
        artifacts=(Item("[main 9f2c1ab] x is the commit", 3), Item("src/fee.py has the fee", 4)),
    )
    assert sorted(texts(said)) == sorted(
        ["the fee is $18.40", "[main 9f2c1ab] x is the commit", "src/fee.py has the fee"]
    )


def test_the_models_own_items_go_first_where_there_is_no_room() -> None:
    own = Item("x" * 60, 2)
    found = completed(Summary(artifacts=(own,)), talk(), 1, 5, task_stop=1, most_bytes=80)
    assert found.summary == Summary(artifacts=(own,))
    assert sum(count for _, count in found.left_out) == 3
