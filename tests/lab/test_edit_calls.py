"""What an edit expects to find is read from every client's way of saying it, and from nothing else."""

from __future__ import annotations

import pytest

from coldpress.lab.edit_calls import old_texts

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def first():
 def first():
-    return 1
+    return 2

 def second():
@@
-    x = 1
*** Add File: src/b.py
+new = True
*** Update File: src/c.py
*** Move to: src/d.py
@@ class C
 class C:
+    y = 3
*** End of File
*** Delete File: src/e.py
*** End Patch"""
HUNKS = ["def first():\n    return 1\n\ndef second():", "    x = 1", "class C:"]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        pytest.param("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, ["x"], id="Claude Code"),
        pytest.param(
            "MultiEdit",
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z"}]},
            ["x", "z"],
            id="several edits of Claude Code",
        ),
        pytest.param("replace", {"file_path": "a", "old_string": "x"}, ["x"], id="Gemini CLI and Qwen Code"),
        pytest.param("edit", {"filePath": "a", "oldString": "x", "newString": "y"}, ["x"], id="OpenCode"),
        pytest.param("edit", {"path": "a", "oldText": "x", "newText": "y"}, ["x"], id="pi"),
        pytest.param("edit", {"path": "a", "edits": [{"oldText": "x"}, {"oldText": "z"}]}, ["x", "z"], id="later pi"),
        pytest.param(
            "str_replace_editor",
            {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
            ["x"],
            id="OpenHands and SWE-agent",
        ),
        pytest.param("str_replace_based_edit_tool", {"command": "str_replace", "old_str": "x"}, ["x"], id="Anthropic"),
        pytest.param("file_editor", {"command": "str_replace", "old_str": "x"}, ["x"], id="later OpenHands"),
        pytest.param("edit", {"search": "x", "replace": "y"}, ["x"], id="SWE-agent, search and replace"),
        pytest.param("apply_patch", {"input": PATCH}, HUNKS, id="Codex, a free-form call"),
        pytest.param("shell", {"command": ["apply_patch", PATCH]}, HUNKS, id="Codex, a list of words"),
        pytest.param(
            "exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\nls"}, HUNKS, id="Codex, given to a shell"
        ),
        pytest.param("apply_patch", {"patchText": PATCH}, HUNKS, id="OpenCode's patches"),
        pytest.param("edit", {"start_line": 1, "end_line": 2, "replacement_text": "y"}, [], id="lines by number"),
        pytest.param("str_replace_editor", {"command": "insert", "new_str": "y"}, [], id="an insertion"),
        pytest.param("str_replace_editor", {"command": "view", "path": "a"}, [], id="a view"),
        pytest.param("Edit", {"old_string": " \n", "new_string": "y"}, [], id="a blank text"),
        pytest.param("Edit", {"old_string": 3}, [], id="not a text"),
        pytest.param("Edit", ["x"], [], id="not an object"),
        pytest.param("Edit", {"edits": ["x"]}, [], id="edits that are no objects"),
        pytest.param("Grep", {"search": "x"}, [], id="a search is no edit"),
        pytest.param("Write", {"content": PATCH}, [], id="a patch that is only written down"),
        pytest.param("bash", {"command": f"cat > notes <<'EOF'\n{PATCH}\nEOF"}, [], id="nor one that a shell writes"),
        pytest.param("bash", {"command": "apply_patch --help"}, [], id="a command without a patch"),
    ],
)
def test_old_texts(tool: str, arguments: object, expected: list[str]) -> None:
    assert list(old_texts(tool, arguments)) == expected
