"""The names agents give their tools, sorted by what such a tool gives back.

Collected from the tool lists of Claude Code, Codex, OpenCode, pi, omp, Gemini CLI, Qwen Code, Cline, Roo, Crush,
Goose, SWE-agent, mini-swe-agent, OpenHands, VS Code Copilot, Cursor and Kimi CLI. Where two harnesses use one name
for two kinds, the kind that is kept exact wins. All names are lower case, without harness prefixes.
"""

from __future__ import annotations

from typing import Final, Literal

Kind = Literal[
    "source",  # text of a file, which an agent may quote in a later edit
    "mutation",  # what a change to a file gave back
    "shell",  # output of a command that is none of the others: builds, tests, logs
    "search",  # hits of a search
    "listing",  # names of files
    "web",  # a page or a list of web hits
    "plan",  # plans, to-do lists, questions to the user: tiny and steering
    "memory",  # memories and skills
    "subagent",  # a report that a model wrote
    "mcp",  # any tool of an MCP server
    "diff",  # a diff, which loses its meaning when lines go
    "unknown",  # a tool or command that we cannot place
]

PREFIXES: Final = ("default_api:", "functions.", "developer__", "proxy_", "_")
"""What harnesses and proxies put in front of a tool's own name."""

_NAMES: Final[dict[Kind, str]] = {
    "source": """
        read notebookread lsp read_file read_files read_many_files readmediafile view_image view open goto scroll_up
        scroll_down ida list_code_definition_names analyze get_errors copilot_getnotebooksummary open_file cat
    """,
    "mutation": """
        edit multiedit write notebookedit apply_patch patch ast_edit replace write_file write_to_file replace_in_file
        apply_diff insert_content search_and_replace editor lsp_rename lsp_replace_symbol edit_file create create_file
        insert insert_edit_into_file replace_string_in_file edit_notebook_file search_replace delete_file
    """,
    "search": """
        grep toolsearch tool_search grep_files codesearch search ast_grep grep_search search_file_content search_files
        search_codebase sourcegraph lsp_references rg search_dir search_file find_file semantic_search
        list_code_usages codebase_search
    """,
    "listing": """
        glob ls list_dir list find list_directory list_files filemap file_search get_changed_files
    """,
    "web": """
        webfetch websearch web_search web_fetch google_web_search fetch fetch_web_content browser_action agentic_fetch
        download web_scrape browser web_read fetch_webpage open_simple_browser fetchurl github
    """,
    "plan": """
        todowrite todoread taskcreate taskget taskupdate tasklist taskstop enterplanmode exitplanmode askuserquestion
        schedulewakeup remotetrigger pushnotification enterworktree exitworktree reportfindings artifact projects
        killbash killshell update_plan request_user_input question plan_enter plan_exit todo todos ask goal think
        checkpoint rewind write_todos ask_user enter_plan_mode exit_plan_mode update_topic complete_task focus_chain
        plan_mode_respond ask_followup_question attempt_completion submit finish task_tracker manage_todo_list
        todo_write todolist task_stop ask_user_question enter_worktree exit_worktree
    """,
    "subagent": """
        task agent workflow sendmessage spawn_agent wait wait_agent resume_agent send_input close_agent batch yield
        invoke_agent codebase_investigator send_message use_subagents new_task subagent delegate runsubagent agentswarm
    """,
    "memory": """
        skill skills memory memory_edit retain recall reflect learn manage_skill save_memory activate_skill use_skill
        crush_info remember_memory retrieve_memories remove_memory_category remove_specific_memory
    """,
    "mcp": """
        listmcpresources listmcpresourcestool readmcpresource readmcpresourcetool read_mcp_resource use_mcp_tool
        access_mcp_resource list_mcp_resources list_mcp_resource_templates
    """,
    "shell": """
        bashoutput taskoutput agentoutputtool monitor repl write_stdin eval debug job_output execute_ipython_cell
        get_terminal_output run_task runtests test_failure list_background_processes read_background_output
    """,
}

KIND_OF_NAME: Final[dict[str, Kind]] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""Exact names. The shell tools here show a log of something started elsewhere, so they carry no command line."""

KIND_OF_PATTERN: Final[tuple[tuple[str, Kind], ...]] = (
    ("mcp_*", "mcp"),
    ("lsp_*", "source"),
    ("scroll_*", "source"),
    ("multi_replace*", "mutation"),
    ("cron*", "plan"),
    ("todo__*", "plan"),
    ("tracker_*", "plan"),
    ("*goal", "plan"),
    ("memory__*", "memory"),
    ("browser_*", "web"),
    ("*__*", "mcp"),
)
"""Shell patterns for names that are not listed, first match wins. Goose names extension tools `extension__tool`."""

COMMAND_TOOLS: Final = frozenset(
    (
        *("bash", "powershell", "exec_command", "shell", "shell_command", "local_shell", "exec", "container.exec"),
        *("run_shell_command", "execute_command", "run_commands", "execute_bash", "terminal", "run_in_terminal"),
        "run_terminal_cmd",
    )
)
"""Tools that run a command line: their kind is decided by the command words in it."""

COMMAND_KEYS: Final = ("command", "cmd", "script", "commands")
"""Arguments that hold a command line, a program with its arguments, or (`commands`) a list of command lines."""

FILE_TOOLS: Final = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "text_editor", "memory"})
"""Tools that read or change files depending on their `command` argument."""

FILE_TOOL_READS: Final = frozenset({"view", "read"})
"""Values of that argument that only read."""

PATH_KEYS: Final = (
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "absolutePath",
    "target_file",
    "notebook_path",
    "filename",
    "file",
    "uri",
)
"""Arguments that name the file a source tool reads, in the order they are looked for."""

PATH_LIST_KEYS: Final = ("paths", "files", "file_paths")
"""Arguments that hold a list of such files; it names a target only where it holds exactly one."""
