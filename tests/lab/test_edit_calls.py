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
OTHER = "*** Begin Patch\n*** Update File: src/f.py\n@@\n-one()\n+two()\n*** End Patch"
NESTED = OTHER.replace("+two()", "+*** Begin Patch\n+*** End Patch\n@@\n-two()")
CLINE = """------- SEARCH
def first():
    return 1
=======
def first():
    return 2
+++++++ REPLACE

------- SEARCH
Title
=====
=======
+++++++ REPLACE
------- SEARCH
=======
new = True
+++++++ REPLACE
"""
BLOCKS = ["def first():\n    return 1", "Title\n====="]
OLDER = CLINE.replace("------- SEARCH", "<<<<<<< SEARCH").replace("+++++++ REPLACE", ">>>>>>> REPLACE")
ROO = OLDER.replace("SEARCH\n", "SEARCH\n:start_line:12\n-------\n")
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
        pytest.param(
            "bash",
            {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF\nls\napply_patch <<'EOF'\n{OTHER}\nEOF"},
            [*HUNKS, "one()"],
            id="two patches in one command",
        ),
        pytest.param("apply_patch", {"input": f"{OTHER}\n{OTHER}"}, ["one()", "one()"], id="two patches in one text"),
        pytest.param("apply_patch", {"input": NESTED}, ["one()", "two()"], id="a patch that adds a patch's end"),
        pytest.param("apply_patch", {"input": OTHER.partition("*** End")[0]}, ["one()"], id="a patch without an end"),
        pytest.param(
            "mcp__filesystem__edit_file",
            {"path": "a", "edits": [{"oldText": "x = 1", "newText": "y"}, {"oldText": "z", "newText": ""}]},
            ["x = 1", "z"],
            id="the file server of the Model Context Protocol",
        ),
        pytest.param("mcp__my__files__Edit", {"old_string": "x"}, ["x"], id="a server with bars in its name"),
        pytest.param("mcp__codex__shell", {"command": ["apply_patch", OTHER]}, ["one()"], id="a server's shell"),
        pytest.param("edit-file", {"old_text": "x"}, ["x"], id="dashes"),
        pytest.param("strReplaceEditor", {"old_str": "x"}, ["x"], id="a name in camel case"),
        pytest.param("Multi_Edit", {"edits": [{"old_string": "x"}]}, ["x"], id="bars elsewhere"),
        pytest.param("strReplace", {"path": "a", "oldStr": "x", "newStr": "y"}, ["x"], id="a field in camel case"),
        pytest.param("search_replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, ["x"], id="Cursor"),
        pytest.param("search_replace", {"file_path": "a", "content": OLDER}, BLOCKS, id="Mistral Vibe"),
        pytest.param("replace_in_file", {"path": "a", "diff": CLINE}, BLOCKS, id="Cline"),
        pytest.param("replace_in_file", {"path": "a", "diff": OLDER}, BLOCKS, id="older Cline"),
        pytest.param(
            "replace_in_file",
            {"path": "a", "diff": CLINE.replace("\n", "\r\n")},
            [text.replace("\n", "\r\n") for text in BLOCKS],
            id="Cline, lines that end as on Windows",
        ),
        pytest.param("apply_diff", {"path": "a", "diff": ROO}, BLOCKS, id="Roo Code"),
        pytest.param(
            "search_and_replace",
            {"operations": [{"search": "x", "replace": "y"}, {"search": "x.*", "use_regex": True}]},
            ["x"],
            id="Roo Code; a pattern quotes nothing",
        ),
        pytest.param("replace_string_in_file", {"filePath": "a", "oldString": "x"}, ["x"], id="Copilot"),
        pytest.param(
            "multi_replace_string_in_file",
            {"replacements": [{"filePath": "a", "oldString": "x"}, {"filePath": "b", "oldString": "z"}]},
            ["x", "z"],
            id="several replacements of Copilot",
        ),
        pytest.param("edit_file", {"target_file": "a", "code_edit": "x = 2"}, [], id="an edit that quotes nothing"),
        pytest.param("replace_in_file", {"diff": "x = 1\n=======\n"}, [], id="a diff without a block"),
        pytest.param("Write", {"file_path": "a", "content": CLINE}, [], id="blocks that are only written down"),
        pytest.param("mcp__files__write_file", {"path": "a", "content": "x"}, [], id="a whole file"),
        pytest.param("mcp__linear__create_edit", {"old_string": "x"}, [], id="a name that ends like one"),
        pytest.param("bash", {"command": "str_replace_editor x"}, [], id="an edit's name in a command"),
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
