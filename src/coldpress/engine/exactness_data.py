"""The shapes in which harnesses, runners, compilers and shells tell of a failure, and in which runners tell of success.

Every pattern of a group is tried at the start of a line. Text is free of colours and carriage returns by then.
"""

from __future__ import annotations

import re
from typing import Final


def _at_line_start(*patterns: str) -> re.Pattern[str]:
    """Match any of some patterns right behind a newline: a literal first character makes the search fast."""
    return re.compile(r"\n(?:" + "|".join(patterns) + ")")


_LEAD: Final = r"\s*(?:OBSERVATION:\s*)?"

HEAD_OF_TEXT: Final = re.compile(
    _LEAD + r"(?:<tool_use_error>|<system>ERROR: |Exit code:? -?[1-9]|ERROR:\s|InputValidationError|MCP error|"
    r"(?:The t|T)ool execution failed|Agent type '[^'\n]*' not found|Error (?:executing|running|invoking|calling) |"
    r"The user doesn't want to (?:proceed|take this action)|(?:The user|User) (?:rejected|aborted)|"
    r"\[Request interrupted by user|Permission to use |Claude requested permissions? to |BLOCKED by|"
    r"(?:Pre|Post)ToolUse:[^\n]{0,200}hook (?:error|blocked)|Hook \w+:\w+ denied|No replacement was performed|"
    r"String to replace not found|No changes (?:made to|to make)|Command (?:aborted|timed out)|"
    r"Script (?:failed|terminated)\nWall time |Script error:\n|"
    r"Command execution was not successful|Parameter [`'\"][^\n]{1,80}(?:is required|is expected)|"
    r"\{\s*\"(?:returncode|exit_code|exitCode)\":\s*-?[1-9]|<status>(?:failed|killed)</status>)"
)
"""Failure envelopes at the very start of a result, for every kind of tool."""

HEAD_WORDS: Final = re.compile(
    _LEAD + r"(?:(?:Error|ERROR)\s*:|(?:Error|ERROR)\s*$|fatal: |E(?:NOENT|ISDIR|ACCES|PERM|EXIST|NOTDIR): |"
    r"Could not find |Error (?:reading|editing|writing) )"
)
"""Words that begin a failure where a tool says only that; the output of a program may begin with them and be fine."""

NEAR_HEAD: Final = _at_line_start(
    r"Process exited with code -?[1-9]",
    r"<exit_code>-?[1-9]",
    r"Exit code: -?[1-9]",
)
"""Failure lines of an envelope's header; only looked for where a program ran."""

NEAR_TAIL: Final = _at_line_start(
    r"Command exited with code -?[1-9]\d*",
    r"Command failed with exit code:? -?[1-9]\d*",
    r"Command (?:timed out|aborted)\b",
    r"\[The command completed with exit code -?[1-9]\d*\.?\]",
    r"\[Command finished with exit code -?[1-9]\d*\]",
    r"\[The command (?:timed out|has no new output)\b",
    r"Process exited with code -?[1-9]\d*",
    r"exit status [1-9]\d*\s*$",
    r"Exit code:? -?[1-9]\d*\s*(?:\n<cwd>[^\n]*)?\s*$",
    r"<bash_metadata>\s*(?:bash tool terminated|User aborted|[^<]*exceed)",
)
"""Failure lines that a harness puts behind the output, for every kind of tool."""

_SOMETHING: Final = r"(?!0\b|none\b|null\b|\(none\))\S"

LABELS: Final = _at_line_start(r"(?:<untrusted_context>\s*)?(?:Command|Directory|Output):")
"""How a labelled envelope begins."""

LABELLED: Final = _at_line_start(
    r"Exit Code: -?[1-9]",
    rf"Signal: {_SOMETHING}",
)
"""Labelled lines of a shell tool's envelope, looked for near its head and its tail."""

LABELLED_ERROR: Final = _at_line_start(rf"Error: {_SOMETHING}")
"""The one label that programs print as well; it counts in an envelope that begins with other labels."""

CERTAIN: Final = _at_line_start(
    # runners
    r"=+ [^\n=]{0,200}\b[1-9]\d* (?:failed|errors?)\b[^\n=]{0,200} in [\d.]+s",
    r"[1-9]\d* (?:failed|errors?)(?:, \d+ \w+)* in [\d.]+s",
    r"FAILED \S+::",
    r"(?:FAILED|ERROR) \S+\.py(?:\s|$)",
    r"ERROR \S+::",
    r"FAILED \((?:failures|errors)=",
    r"(?:FAIL|ERROR): test\w* \(",
    r"[ \t]*Tests?:?\s[^\n]*\b[1-9]\d* failed",
    r"[ \t]*Test (?:Suites|Files):?\s[^\n]*\b[1-9]\d* failed",
    r"[ \t]+[1-9]\d* failing\b",
    r"[ \t]*[✕×] \S",
    r"not ok \d+",
    r"# fail [1-9]",
    r"[ \t]*✖ [1-9]\d* problems? \([1-9]",
    r"test result: FAILED",
    r"[ \t]*--- FAIL: ",
    r"FAIL(?:\t|[ ]*\n|[ ]*$| \S+\.[jt]sx?\b)",
    r"Tests run: [^\n]*(?:Failures|Errors): [1-9]",
    r"Failed! +- Failed: +[1-9]",
    r"[1-9]\d* examples?, [1-9]\d* failures?",
    r"\d+ (?:doctests?|tests?|runs)\b[^\n]{0,120}\b[1-9]\d* (?:failures?|errors?)\b",
    r"(?:[1-9]\d* failures?, \d+ errors?|\d+ failures?, [1-9]\d* errors?)\.[ \t]*(?:\n|$)",
    r"(?:FAILURES|ERRORS)!",
    r"\[  FAILED  \] ",
    r"The following tests FAILED:",
    r"\d+% tests passed, [1-9]\d* tests? failed out of ",
    r"[ \t]+[1-9]\d* fail(?:ed)?[ \t]*(?:\n|$)",
    r"\(fail\) \S",
    r"ℹ fail [1-9]",
    r"[ \t]*✖ +[1-9]\d* of \d+ failed",
    r"FAILED \| \d+ passed",
    r"[ \t]+(?:FAIL|TIMEOUT|SIG[A-Z]+) \[ *[\d.]+s\] ",
    r"\d\d:\d\d \+\d+(?: ~\d+)? -[1-9]\d*: ",
    r"[ \t]*Executed \d+ tests?, with [1-9]\d* failures?",
    r"//\S+[ \t]+(?:FAILED|TIMEOUT)\b",
    r"Executed \d+ out of \d+ tests?: [^\n]*\bfails?\b",
    r"(?:Fail|Timeout): {2,}[1-9]\d*[ \t]*(?:\n|$)",
    r"Result: FAIL[ \t]*(?:\n|$)",
    r"(?!(?P<all>\d+) of (?P=all) )\d+ of \d+ test suites \(",
    r"[ \t]+\S+: FAIL (?:code |✖)|[ \t]+evaluation failed :\(",
    r"nox > [^\n]{1,200} failed",
    r"FAIL Required test coverage|(?:ERROR: )?Coverage failure: ",
    # compilers and build tools
    r"[^\s(][^\n(]{0,200}\(\d+,\d+\): error ",
    r"\S[^\n]{0,200}?:\d+:\d+ - error ",
    r"[^\s:][^\n:]{0,200}:\d+(?::\d+)?: (?:fatal )?error: ",
    r"\S+\.go:\d+:\d+: ",
    r"error(?: TS\d+|\[E\d+\]): ",
    r"error: could not compile",
    r"error: aborting due to",
    r"collect2: error",
    r"[\w./+-]+: fatal error: ",
    r"[1-9]\d* errors?, \d+ warnings?\b",
    r"\S+\.pyi?:\d+:\d+: [A-Z]{1,4}\d{2,5}\b",
    r"In \S+ line \d+:[ \t]*(?:\n|$)",
    r"would reformat \S|\[warn\] Code style issues",
    r"webpack [^\n]{0,60}compiled with [1-9]\d* errors?|Failed to compile\.|> Build error occurred",
    r"➤ YN0000: [^\n]{0,60}Failed with errors",
    r"\*\* [A-Z]+ FAILED \*\*",
    r"g?make(?:\[\d+\])?: \*\*\* ",
    r"ninja: (?:error|build stopped)",
    r"CMake Error",
    r"npm ERR!",
    r"npm error ",
    r"\s?ERR_PNPM_|\s?ELIFECYCLE\b",
    r"error Command failed with exit code",
    r"Build FAILED|BUILD FAILED|FAILURE: Build failed|\[(?:ERROR|INFO)\] BUILD FAILURE",
    r"> Task \S+ FAILED",
    r"Found [1-9]\d* errors?\b",
    r"\[[^\]\n]{1,60}\] ERROR task failed",
    # shells, packages and version control
    r"CONFLICT \(",
    r"Automatic merge failed",
    r" ! \[(?:remote )?rejected\]",
    r"error: failed to push",
    r"E: ",
    r"Killed(?:: \d+)?[ \t]*(?:\n|$)",
    r"Segmentation fault",
    r"(?:Bus error|Aborted|Illegal instruction|Floating point exception)(?: \(core dumped\))?[ \t]*(?:\n|$)",
    r"terminate called (?:after throwing|without an active) ",
    r"=+\d+=+ ?ERROR: |==\d+== ERROR SUMMARY: [1-9]|WARNING: ThreadSanitizer: ",
    r"(?:PHP )?(?:Fatal|Parse) error: ",
    r"psql:[^\n:]{0,200}:\d+: (?:ERROR|FATAL):",
    r"Execution halted[ \t]*(?:\n|$)",
    r"Host key verification failed\.|\S+@\S+: Permission denied \(",
    r"FAILED: ",
    r"(?:ba|z|da|fi|k)?sh: (?:line \d+: |\d+: )?[^:\n]+: ",
    r"\(eval\):(?:[\w.]+:)*\d+: ",
    r"zsh: ",
    r"\S+: error: (?:unrecognized arguments|the following arguments|argument |invalid choice|unknown option)",
    r"##\[error\]",
)
"""Lines that tell of a failure whatever else the output says."""

LIKELY: Final = _at_line_start(
    r"Traceback \(most recent call last\)",
    r"\[?(?:Uncaught )?(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b(?:: |\]|[ \t]*\n|[ \t]*$| \[)",
    r"E {3}\S",
    r"[ \t]+at [^\n]{1,200}:\d+:\d+\)?(?:\n|$)",
    r"(?:[\w.+-]+: )?error: ",
    r"\[error\] ",
    r"Error from server\b|Error in [^\n]{1,200} : ",
    r"An error occurred \(\w+\) when calling ",
    r"[ \t]*\*\* \([A-Z][\w.]*\) ",
    r"[ \t]+[A-Z]\w*(?:Error|Exception)[ \t]*(?:\n|$)",
    r"stack traceback:",
    rf"Error: {_SOMETHING}",
    r"Error(?::[ \t]*(?:\n|$)| \w+ing )",
    r"E(?:NOENT|ISDIR|ACCES|PERM|EXIST|NOTDIR): ",
    r"│ Error: ",
    r"ERROR(?:[: ]|[ \t]*\n)",
    r"\[ERROR\] ",
    r"fatal: ",
    r"panic: ",
    r"goroutine \d+ \[",
    r"thread '[^'\n]*' (?:\(\d+\) )?panicked at",
    r"Exception in thread ",
    r"Caused by: ",
    r"curl: \(\d+\) ",
    r"[\w./+-]+: (?:[^\n:]{1,200}: )*(?:No such file or directory|Permission denied|Is a directory|command not found)",
    r"(?:[\w ]*[Cc]ommand|[Pp]rocess|[Ss]cript|[Tt]ask)[^\n]{0,120} (?:exited|failed|finished|terminated) with "
    r"(?:exit )?(?:code|status):? -?[1-9]",
)
"""Lines that tell of a failure unless a runner's green summary comes later: tests of failures print them too."""

ANYWHERE: Final = (
    ("undefined reference to", re.compile(r"undefined reference to [`'\"]")),
    ("command not found", re.compile(r": command not found(?:$|: \S)|command not found: \S", re.MULTILINE)),
    ("No module named", re.compile(r"(?:^|Error: |: )No module named ['\"\w]", re.MULTILINE)),
    ("...Failed", re.compile(r"\.{3}Failed[ \t]*$", re.MULTILINE)),
    ("): error ", re.compile(r"\(\d+\): error [A-Z]+\d+: ")),
    (" - error: ", re.compile(r":\d+:\d+ - error: ")),
    (": Assertion ", re.compile(r": Assertion [`'][^\n]{1,300}' failed\.$", re.MULTILINE)),
    (": runtime error: ", re.compile(r":\d+:\d+: runtime error: ")),
    (":in ", re.compile(r":\d+:in [`'][^\n]{1,400}\((?:\w+::)*\w*(?:Error|Exception)\)$", re.MULTILINE)),
    (" line ", re.compile(r" at \S+\.p[lm] line \d+\.$", re.MULTILINE)),
    ("(os error ", re.compile(r"\(os error \d+\)$", re.MULTILINE)),
)
"""Failures that stand in the middle of a line: a needle that is cheap to look for, and the shape around it."""

GREEN: Final = _at_line_start(
    r"(?:=+ )?(?:\d+ (?:skipped|xfailed|xpassed|deselected|warnings?), )*[1-9]\d* passed"
    r"(?:, \d+ (?:skipped|xfailed|xpassed|deselected|warnings?|rerun)| in [\d.]+s(?: \([\d:]+\))?| =+|,? 0 failed)*"
    r"[ \t]*(?=\n|$)",
    r"0 failed, [1-9]\d* passed",
    r"test result: ok\.",
    r"[ \t]*Tests:?\s+(?:\d+ (?:skipped|todo)[,|]? *)*[1-9]\d* passed",
    r"OK(?: \([^)\n]*\))?[ \t]*(?=\n|$)",
    r"ok  ?\t\S",
    r"PASS[ \t]*(?=\n|$)",
    r"[ \t]+[1-9]\d* passing\b",
    r"# fail 0\b",
    r"Passed! +- Failed: +0\b",
    r"[1-9]\d* examples?, 0 failures",
    r"BUILD SUCCESS(?:FUL)?\b",
    r"\[INFO\] BUILD SUCCESS\b",
)
"""Summaries of runners that passed."""

COMPLAINT: Final = re.compile(
    r"\s*[\w./+-]+: [^\n]*(?:No such file or directory|Permission denied|Is a directory|Not a directory|"
    r"command not found|cannot (?:access|open)|unrecognized option|invalid option)[^\n]*"
)
"""How a reader, search or listing begins when all it has to give is a complaint."""

DIFF: Final = _at_line_start(
    r"diff --git ",
    r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@",
    r"--- [^\n]+\n\+\+\+ \S",
    r"\*\*\* (?:Begin Patch|Update File: )",
    r"<<<<<<< \S",
    r">>>>>>> \S",
)
"""Diffs, patches and merge conflicts."""
