"""Which kind a tool call is, by name and by command line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.catalogue import canonical, classify
from coldpress.engine.catalogue_data import COMMAND_TOOLS, FILE_TOOLS, KIND_OF_NAME
from coldpress.engine.shellwords import split


def shell(command: str, *, tool: str = "Bash") -> str:
    return classify(tool, json.dumps({"command": command})).kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param("Read", "source", id="Claude Code reads"),
        pytest.param("NotebookRead", "source", id="Claude Code reads notebooks"),
        pytest.param("LSP", "source", id="Claude Code asks a language server"),
        pytest.param("MultiEdit", "mutation", id="Claude Code edits several places"),
        pytest.param("BashOutput", "shell", id="Claude Code looks at a background command"),
        pytest.param("ToolSearch", "search", id="Claude Code searches tools"),
        pytest.param("Glob", "listing", id="Claude Code lists by pattern"),
        pytest.param("WebFetch", "web", id="Claude Code fetches a page"),
        pytest.param("TaskUpdate", "plan", id="Claude Code keeps its tasks"),
        pytest.param("CronCreate", "plan", id="Claude Code sets an alarm"),
        pytest.param("Task", "subagent", id="Claude Code starts a sub-agent"),
        pytest.param("Skill", "memory", id="Claude Code loads a skill"),
        pytest.param("ListMcpResourcesTool", "mcp", id="Claude Code lists MCP resources"),
        pytest.param("apply_patch", "mutation", id="Codex patches"),
        pytest.param("write_stdin", "shell", id="Codex talks to a running command"),
        pytest.param("update_plan", "plan", id="Codex plans"),
        pytest.param("spawn_agent", "subagent", id="Codex starts a sub-agent"),
        pytest.param("view_image", "source", id="Codex looks at an image"),
        pytest.param("read_file", "source", id="older Codex reads a file"),
        pytest.param("grep_files", "search", id="older Codex searches files"),
        pytest.param("list_dir", "listing", id="older Codex lists a folder"),
        pytest.param("tool_search", "search", id="Codex searches tools"),
        pytest.param("web_search", "web", id="Codex searches the web"),
        pytest.param("request_user_input", "plan", id="Codex asks the user"),
        pytest.param("get_goal", "plan", id="Codex looks at its goal"),
        pytest.param("update_goal", "plan", id="Codex changes its goal"),
        pytest.param("wait_agent", "subagent", id="Codex waits for a sub-agent"),
        pytest.param("resume_agent", "subagent", id="Codex resumes a sub-agent"),
        pytest.param("send_input", "subagent", id="Codex talks to a sub-agent"),
        pytest.param("close_agent", "subagent", id="Codex ends a sub-agent"),
        pytest.param("list_mcp_resources", "mcp", id="Codex lists MCP resources"),
        pytest.param("list_mcp_resource_templates", "mcp", id="Codex lists templates of MCP resources"),
        pytest.param("read_mcp_resource", "mcp", id="Codex reads an MCP resource"),
        pytest.param("exec", "unknown", id="Codex runs a script, which may do anything"),
        pytest.param("todowrite", "plan", id="OpenCode plans"),
        pytest.param("codesearch", "search", id="OpenCode searches code"),
        pytest.param("ast_edit", "mutation", id="omp edits a syntax tree"),
        pytest.param("eval", "shell", id="omp evaluates"),
        pytest.param("recall", "memory", id="omp remembers"),
        pytest.param("replace", "mutation", id="Gemini CLI edits"),
        pytest.param("read_many_files", "source", id="Gemini CLI reads many files"),
        pytest.param("search_file_content", "search", id="Gemini CLI searches"),
        pytest.param("tracker_update", "plan", id="Gemini CLI tracks work"),
        pytest.param("read_background_output", "shell", id="Gemini CLI looks at what runs on"),
        pytest.param("task_stop", "plan", id="Qwen Code ends a task"),
        pytest.param("write_to_file", "mutation", id="Cline writes"),
        pytest.param("attempt_completion", "plan", id="Cline says it is done"),
        pytest.param("use_mcp_tool", "mcp", id="Cline calls an MCP tool"),
        pytest.param("new_task", "subagent", id="Roo starts a task"),
        pytest.param("lsp_references", "search", id="Crush finds references"),
        pytest.param("lsp_rename", "mutation", id="Crush renames by language server"),
        pytest.param("lsp_hover", "source", id="Crush asks the language server"),
        pytest.param("developer__analyze", "source", id="Goose analyses"),
        pytest.param("todo__write", "plan", id="Goose plans"),
        pytest.param("computercontroller__cache", "mcp", id="Goose calls an extension"),
        pytest.param("scroll_down", "source", id="SWE-agent scrolls"),
        pytest.param("filemap", "listing", id="SWE-agent maps a file"),
        pytest.param("execute_ipython_cell", "shell", id="OpenHands runs Python"),
        pytest.param("think", "plan", id="OpenHands thinks"),
        pytest.param("multi_replace_string_in_file", "mutation", id="VS Code edits many places"),
        pytest.param("runSubagent", "subagent", id="VS Code starts a sub-agent"),
        pytest.param("test_failure", "shell", id="VS Code shows a failed test"),
        pytest.param("codebase_search", "search", id="Cursor searches by meaning"),
        pytest.param("ReadMediaFile", "source", id="Kimi CLI reads media"),
        pytest.param("SetGoal", "plan", id="Kimi CLI sets a goal"),
        pytest.param("get_reservation_details", "unknown", id="a tool nobody listed"),
        pytest.param("", "unknown", id="a tool without a name"),
    ],
)
def test_names_of_all_harnesses(name: str, kind: str) -> None:
    assert classify(name, "{}").kind == kind


@pytest.mark.parametrize(
    ("name", "tool", "kind"),
    [
        pytest.param("default_api:read_file", "read_file", "source", id="Gemini's prefix"),
        pytest.param("functions.web_search", "web_search", "web", id="OpenAI's prefix"),
        pytest.param("proxy_Grep", "grep", "search", id="a proxy's prefix"),
        pytest.param("_read", "read", "source", id="a leading underscore"),
        pytest.param("READ", "read", "source", id="capitals"),
        pytest.param("mcp__files__read_file", "read_file", "mcp", id="an MCP tool stays MCP whatever it is called"),
        pytest.param("mcp__a__b__c", "b__c", "mcp", id="an MCP tool with underscores of its own"),
        pytest.param("proxy_mcp__x__edit", "edit", "mcp", id="an MCP tool behind a proxy"),
        pytest.param("mcp_github_search", "mcp_github_search", "mcp", id="an MCP tool of one underscore"),
        pytest.param("_", "_", "unknown", id="nothing but a prefix"),
    ],
)
def test_prefixes(name: str, tool: str, kind: str) -> None:
    classified = classify(name, "{}")
    assert (classified.tool, classified.kind) == (tool, kind)


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        pytest.param("str_replace_editor", {"command": "view", "path": "/a"}, "source", id="an editor that views"),
        pytest.param("str_replace_editor", {"command": "create"}, "mutation", id="an editor that creates"),
        pytest.param("str_replace_based_edit_tool", {"command": "undo_edit"}, "mutation", id="an editor that undoes"),
        pytest.param("developer__text_editor", {"command": "view"}, "source", id="Goose's editor views"),
        pytest.param("text_editor", {}, "mutation", id="an editor that does not say what it does"),
        pytest.param("memory", {"command": "view"}, "memory", id="memory that is looked at"),
        pytest.param("memory", {"command": "delete"}, "mutation", id="memory that is changed"),
        pytest.param("memory", {}, "memory", id="memory of another make"),
    ],
)
def test_two_in_one_tools(name: str, arguments: dict[str, str], kind: str) -> None:
    assert classify(name, json.dumps(arguments)).kind == kind


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        # sources
        pytest.param("cat a.py", "source", id="cat"),
        pytest.param("cd x && cat y", "source", id="cat behind cd"),
        pytest.param("FOO=1 sudo -u me timeout -k 5 30 nice -n 5 cat y", "source", id="cat behind wrappers"),
        pytest.param("/bin/cat y", "source", id="cat by path"),
        pytest.param("cat f | head -20", "source", id="cat through head"),
        pytest.param("cat f | grep x | sort -u", "source", id="cat through filters"),
        pytest.param("sed -n '1,80p' a.py", "source", id="sed that prints"),
        pytest.param("sed 's/a/b/' a.py", "source", id="sed that shows a changed text"),
        pytest.param("head -n 20 a.py 2>/dev/null", "source", id="head with errors thrown away"),
        pytest.param("nl -ba src/a.py | sed -n '5,9p'", "source", id="nl through sed"),
        pytest.param("awk 'NR>3 && NR<9' a.py", "source", id="awk on a file"),
        pytest.param("jq .scripts package.json", "source", id="jq on a file"),
        pytest.param("cat < a.py", "source", id="cat fed from a file"),
        pytest.param("git show HEAD~1:src/a.py", "source", id="an old version of a file"),
        pytest.param("git blame -L 3,9 a.py", "source", id="blame"),
        pytest.param("find . -name '*.md' | xargs cat", "source", id="xargs cat"),
        pytest.param("find . -name '*.md' -exec cat {} +", "source", id="find that runs cat"),
        pytest.param('for f in *.py; do echo == $f; cat "$f"; done', "source", id="cat in a loop"),
        pytest.param("bash -lc 'cat a.py'", "source", id="cat inside bash -lc"),
        pytest.param("(cd a; cat b)", "source", id="cat in a subshell"),
        pytest.param("cat a.py && rg foo", "source", id="a source and a search is a source"),
        pytest.param("ls && cat a.py; npm test", "source", id="a source beside anything that is no change"),
        pytest.param("if [ -f a ]; then cat a; else echo none; fi", "source", id="cat in a branch"),
        # searches and listings
        pytest.param("rg -n foo src | head", "search", id="ripgrep through head"),
        pytest.param("git grep -n foo", "search", id="git grep"),
        pytest.param("grep -rn 'a > b' . 2>&1", "search", id="a pattern that looks like a redirection"),
        pytest.param("find . -name '*.go' | xargs grep -l foo | sort", "search", id="xargs grep"),
        pytest.param("find . -type f | grep -v x", "search", id="find"),
        pytest.param("ls -la | grep x", "listing", id="ls through grep"),
        pytest.param("pwd && ls", "listing", id="ls beside pwd"),
        pytest.param("git ls-files '*.py'", "listing", id="git ls-files"),
        pytest.param("rg --files src", "listing", id="ripgrep that lists"),
        pytest.param("ls; rg foo", "shell", id="a listing and a search have no common form"),
        pytest.param("ls; npm test", "shell", id="a listing and a run may tell of a failure"),
        # diffs
        pytest.param("git diff HEAD~1 -- a | head -50", "diff", id="git diff through head"),
        pytest.param("git -C x --no-pager show abc123", "diff", id="git show behind options"),
        pytest.param("git log -p -3", "diff", id="git log -p"),
        pytest.param("git stash show stash@{0}", "diff", id="git stash show"),
        pytest.param("gh pr diff 12", "diff", id="gh pr diff"),
        pytest.param("diff <(sort a) <(sort b)", "diff", id="diff of two substitutions"),
        pytest.param("npm test; git diff", "diff", id="a diff beside a run"),
        # changes
        pytest.param("echo hi > a.txt", "mutation", id="a redirection"),
        pytest.param("echo hi >> a.txt", "mutation", id="a redirection that appends"),
        pytest.param("cat <<EOF > a.py\nprint('it''s')\nEOF", "mutation", id="a here-document into a file"),
        pytest.param("cat > a.py <<'EOF'\nit's \"open\nEOF\npython a.py", "mutation", id="a here-document with quotes"),
        pytest.param("make 2>&1 | tee build.log", "mutation", id="tee"),
        pytest.param("sed -i 's/a/b/' f", "mutation", id="sed -i"),
        pytest.param("sed -i '' -e 's/a/b/' f", "mutation", id="sed -i of BSD"),
        pytest.param("sed --in-place=.bak s/a/b/ f", "mutation", id="sed --in-place"),
        pytest.param("perl -pi -e 's/a/b/' f", "mutation", id="perl -pi"),
        pytest.param("grep -rl a . | xargs sed -i s/a/b/", "mutation", id="sed -i by xargs"),
        pytest.param("apply_patch <<'EOF'\n*** Begin Patch\nEOF", "mutation", id="apply_patch"),
        pytest.param("curl -s u | git apply", "mutation", id="git apply at the end of a pipe"),
        pytest.param("cat a && patch -p1 < x.diff", "mutation", id="patch beside cat"),
        pytest.param("npm test &> out.txt", "mutation", id="both streams into a file"),
        # logs
        pytest.param("npm test 2>&1 | tail -50", "shell", id="a test run"),
        pytest.param("npm test >/dev/null 2>/dev/null", "shell", id="output thrown away"),
        pytest.param("make &>/dev/null; echo $?", "shell", id="both streams thrown away"),
        pytest.param("echo failed >&2", "shell", id="onto standard error"),
        pytest.param("python - <<EOF\nopen('a').read()\nEOF", "shell", id="a here-document into an interpreter"),
        pytest.param("cat f | python -c 'import sys'", "shell", id="cat into an interpreter"),
        pytest.param("cat <<EOF\nhello\nEOF", "shell", id="cat of a here-document"),
        pytest.param("ssh host 'cat /etc/passwd'", "shell", id="another machine is not looked into"),
        pytest.param("docker exec c cat a", "shell", id="a container is not looked into"),
        pytest.param("git log --oneline -5 | cat", "shell", id="a log without patches"),
        pytest.param(
            "git commit -m \"$(cat <<'EOF'\ndon't > stop\nEOF\n)\"", "shell", id="a commit message in a here-document"
        ),
        pytest.param("mkdir -p a && cp b a/", "shell", id="files made on the side"),
        pytest.param("x=$((1 << 3)); echo $x", "shell", id="arithmetic is no here-document"),
        pytest.param("[ 3 -gt 2 ] && pytest -q", "shell", id="a test of the shell's"),
        pytest.param("", "shell", id="an empty command line looks at a running one"),
        # unreadable
        pytest.param("echo 'open", "unknown", id="an open quote"),
        pytest.param('bash -c "echo \'open"', "unknown", id="an open quote inside bash -c"),
        pytest.param("echo $(cat a", "unknown", id="an open substitution"),
        pytest.param("( " * 100 + ") " * 100, "unknown", id="brackets nested too deep"),
    ],
)
def test_command_lines(command: str, kind: str) -> None:
    assert shell(command) == kind


@pytest.mark.parametrize(
    ("name", "arguments", "command", "kind"),
    [
        pytest.param(
            "shell", {"command": ["bash", "-lc", "rg a | head"]}, "rg a | head", "search", id="Codex's bash -lc"
        ),
        pytest.param(
            "shell", {"command": ["cat", "a b.py"]}, "cat 'a b.py'", "source", id="a program and its arguments"
        ),
        pytest.param("exec_command", {"cmd": "ls"}, "ls", "listing", id="cmd"),
        pytest.param("exec_command", {"cmd": "cat a.py"}, "cat a.py", "source", id="cat in a cmd"),
        pytest.param("exec_command", {"cmd": "sed -n 1,9p a"}, "sed -n 1,9p a", "source", id="sed -n in a cmd"),
        pytest.param("exec_command", {"cmd": "head -5 a.py"}, "head -5 a.py", "source", id="head in a cmd"),
        pytest.param("exec_command", {"cmd": "tail -5 a.py"}, "tail -5 a.py", "source", id="tail in a cmd"),
        pytest.param("exec_command", {"cmd": "nl -ba a.py"}, "nl -ba a.py", "source", id="nl in a cmd"),
        pytest.param("exec_command", {"cmd": "bat a.py"}, "bat a.py", "source", id="bat in a cmd"),
        pytest.param("exec_command", {"cmd": "git diff"}, "git diff", "diff", id="a diff in a cmd"),
        pytest.param(
            "exec_command",
            {"cmd": "apply_patch <<'E'\nx\nE"},
            "apply_patch <<'E'\nx\nE",
            "mutation",
            id="a patch in a cmd",
        ),
        pytest.param("shell", {"commands": ["cat a", "make"]}, "cat a\nmake", "source", id="the provider's own shell"),
        pytest.param("container.exec", {"cmd": ["ls", "-l"]}, "ls -l", "listing", id="a container's cmd"),
        pytest.param("local_shell", {"action": {"command": ["ls"]}}, "ls", "listing", id="a command inside an action"),
        pytest.param(
            "run_commands", {"commands": ["ls", "sed -i s/a/b/ f"]}, "ls\nsed -i s/a/b/ f", "mutation", id="a list"
        ),
        pytest.param("functions.shell_command", {"script": "cat a"}, "cat a", "source", id="script"),
        pytest.param(
            "PowerShell", {"command": "Get-Content a.txt"}, "Get-Content a.txt", "source", id="PowerShell reads"
        ),
        pytest.param("Bash", {"description": "no command"}, None, "unknown", id="a shell call without a command line"),
        pytest.param("Bash", {"command": 7}, None, "unknown", id="a command that is no text"),
    ],
)
def test_where_the_command_line_stands(name: str, arguments: object, command: str | None, kind: str) -> None:
    classified = classify(name, json.dumps(arguments))
    assert (classified.command, classified.kind) == (command, kind)


@pytest.mark.parametrize(
    ("name", "arguments", "target"),
    [
        pytest.param("Read", {"file_path": "/a/b.py"}, "/a/b.py", id="Claude Code"),
        pytest.param("read", {"filePath": "/a/b.py"}, "/a/b.py", id="OpenCode"),
        pytest.param("read", {"path": "b.py"}, "b.py", id="pi"),
        pytest.param("read_file", {"absolute_path": "/a"}, "/a", id="Gemini CLI"),
        pytest.param("read_files", {"paths": ["a"]}, "a", id="a list of one"),
        pytest.param("read_file", {"files": [{"path": "a"}]}, "a", id="Roo's list of one"),
        pytest.param("read_many_files", {"paths": ["a", "b"]}, None, id="a list of two"),
        pytest.param("Bash", {"command": "cat a.py"}, "a.py", id="cat of one file"),
        pytest.param("Bash", {"command": "cd src/x && sed -n 1,9p a.py | head"}, "src/x/a.py", id="a file behind cd"),
        pytest.param("Bash", {"command": "cd src && cat /etc/a"}, "/etc/a", id="an absolute file behind cd"),
        pytest.param("Bash", {"command": "tail -n +5 a.py"}, "a.py", id="tail with a start"),
        pytest.param("Bash", {"command": "cat a b"}, None, id="cat of two files"),
        pytest.param("Bash", {"command": "cat *.py"}, None, id="a pattern of files"),
        pytest.param("Bash", {"command": "cat a && rg b"}, None, id="a file and something else"),
        pytest.param("Grep", {"path": "a.py"}, None, id="a search reads no single file"),
        pytest.param("Edit", {"file_path": "a.py"}, None, id="a change is no read"),
    ],
)
def test_targets(name: str, arguments: object, target: str | None) -> None:
    assert classify(name, json.dumps(arguments)).target == target


@pytest.mark.parametrize(
    "arguments", ["", "{", "[]", "null", '{"command": "\\ud800"}', "[" * 5_000, '{"a":' * 5_000, "\ud800"]
)
def test_invalid_arguments_leave_the_name_to_decide(arguments: str) -> None:
    assert classify("Read", arguments).kind == "source"
    assert classify("TodoWrite", arguments).kind == "plan"
    assert classify("Bash", arguments).kind == "unknown"


def test_no_listed_name_hides_behind_another_list() -> None:
    assert all(canonical(name) == name for name in KIND_OF_NAME)
    assert not COMMAND_TOOLS & KIND_OF_NAME.keys()
    assert FILE_TOOLS & KIND_OF_NAME.keys() == {"memory"}


@given(st.text(alphabet=" \t\n'\"\\$`|&;()<>#{}=-abc12/\r*é", max_size=60))
def test_any_text_can_be_split(command: str) -> None:
    assert split(command) == split(command)
    assert classify("Bash", json.dumps({"command": command})).command == command


@given(st.lists(st.sampled_from(["ls", "cat a", "rg x", "npm test", "cd b", "echo c"]), max_size=4), st.integers(0, 4))
def test_a_change_anywhere_makes_the_whole_a_change(parts: list[str], place: int) -> None:
    parts.insert(place, "sed -i s/a/b/ f")
    assert shell(" && ".join(parts)) == "mutation"
    assert shell("; ".join(parts)) == "mutation"
