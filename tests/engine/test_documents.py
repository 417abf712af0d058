"""Which reads are of documents, and which of those tell an agent how to work."""

from __future__ import annotations

import pytest

from coldpress.engine.catalogue import classify
from coldpress.engine.documents import gives_orders, is_document, sets_rules


@pytest.mark.parametrize(
    ("tool", "arguments", "rules", "document"),
    [
        pytest.param("Read", '{"file_path": "/x/AGENTS.md"}', True, True, id="a file for agents"),
        pytest.param("Bash", '{"command": "cat docs/POLICY.txt"}', True, True, id="read by a command"),
        pytest.param("Read", '{"file_path": ".cursor/rules/style.mdc"}', True, True, id="a rule file"),
        pytest.param("Read", '{"file_path": "docs/install.md"}', False, True, id="any other document"),
        pytest.param("Read", '{"file_path": "src/a.py"}', False, False, id="code"),
        pytest.param(
            "Read", '{"file_path": "docs/policy/engine.py"}', False, False, id="code in a folder of that name"
        ),
        pytest.param("Read", '{"file_path": "src/policy.py"}', False, False, id="code of that name"),
        pytest.param("Bash", '{"command": "cat README.md RULES.md"}', True, True, id="several at once"),
        pytest.param("Bash", '{"command": "cat a.py setup.cfg"}', False, False, id="several that are none"),
        pytest.param("Edit", '{"file_path": "AGENTS.md"}', False, False, id="a change of one is no read"),
    ],
)
def test_documents(tool: str, arguments: str, rules: bool, document: bool) -> None:
    found = classify(tool, arguments)
    assert (sets_rules(found), is_document(found)) == (rules, document)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("RULES.md", True),
        ("docs/refund_policy.txt", True),
        (".cursorrules", True),
        ("README.md", False),
        ("a.md", False),
    ],
)
def test_documents_that_are_made_of_rules(path: str, expected: bool) -> None:
    assert gives_orders(classify("Read", f'{{"file_path": "{path}"}}')) is expected
