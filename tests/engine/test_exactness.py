"""Which results must stay exact: the traps of real tool output, in both directions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.exactness import holds_secret, judge

SHELL = classify("Bash", '{"command": "npm test 2>&1 | tail -50"}')
READ = classify("Read", '{"file_path": "/src/errors.py"}')
SCRIPT = classify("exec", "text(await tools.exec_command({cmd}))")
CAT = classify("bash", '{"command": "cat errors.py"}')
GREP = classify("Grep", '{"pattern": "error"}')
SHELL_GREP = classify("bash", '{"command": "rg error src"}')
LS = classify("LS", "{}")
WEB = classify("WebFetch", "{}")
AGENT = classify("Task", "{}")
OTHER = classify("get_reservation", "{}")


def verdict(classified: Classified, text: str) -> str:
    return judge(classified, text, wire_failed=None)


@pytest.mark.parametrize(
    ("classified", "text"),
    [
        pytest.param(SHELL, "0 failed, 12 passed", id="zero failed"),
        pytest.param(SHELL, "Done: 0 errors, 0 warnings", id="zero errors"),
        pytest.param(SHELL, "0 issues.", id="zero issues"),
        pytest.param(SHELL, "Errors: 0\nno errors found\nFound 0 errors", id="no errors found"),
        pytest.param(SHELL, "=== 3 passed, 2 warnings in 0.21s ===", id="a green pytest run"),
        pytest.param(SHELL, "Test Suites: 4 passed, 4 total\nTests:       9 passed, 9 total", id="a green jest run"),
        pytest.param(
            SHELL,
            "warning: unused variable: `x`\n --> src/a.rs:3:9\n    Finished dev [unoptimized] in 2.0s",
            id="a passing build with warnings",
        ),
        pytest.param(GREP, 'src/a.go:12: return fmt.Errorf("error: %w", err)', id="a hit that quotes an error"),
        pytest.param(SHELL_GREP, "src/a.c:3: /* fatal: x */\nsrc/a.c:9:1: error: here", id="hits of a shell search"),
        pytest.param(READ, "     1→class E(Exception): ...\n     2→raise Error\n     3→panic(", id="numbered source"),
        pytest.param(CAT, "Traceback (most recent call last):\nValueError: x\nFAILED a.py::t", id="a log that is read"),
        pytest.param(READ, "def f():\n    pass\nerror: not ours\nFAIL\n", id="raw source with error words"),
        pytest.param(LS, "error.ts\nError Codes.md\ntests/fail/README.md", id="file names that say error"),
        pytest.param(LS, "Error\nMain\nUtil", id="a folder called Error"),
        pytest.param(SHELL, '{"error":null,"data":[1,2]}', id="a null error in JSON"),
        pytest.param(
            OTHER, '{"error":"","is_error":false,"success":true,"status":"ok"}', id="JSON that says all is well"
        ),
        pytest.param(SHELL, '[{"id":1,"status":"failed"},{"id":2,"status":"ok"}]', id="a failed item in a JSON list"),
        pytest.param(SHELL, '{"runs":[{"status":"failed","exit_code":1}]}', id="a failed item deep in JSON"),
        pytest.param(READ, '{"success": false, "status": "error", "error": "x"}', id="a JSON file that says failed"),
        pytest.param(
            SHELL,
            "ERROR root: expected failure\nTraceback (most recent call last):\nKeyError: x\n=== 12 passed in 1.0s ===",
            id="log noise in a green pytest run",
        ),
        pytest.param(
            SHELL, "Error: expected\n    at f (a.js:1:2)\nTests:  4 passed, 4 total", id="noise in a green jest run"
        ),
        pytest.param(
            SHELL, "thread 'a' panicked at src/a.rs:1\ntest result: ok. 3 passed; 0 failed", id="an expected panic"
        ),
        pytest.param(
            SHELL, "panic: x\ngoroutine 1 [running]:\nPASS\nok  \texample.com/a\t0.1s", id="a recovered Go panic"
        ),
        pytest.param(SHELL, "fatal: expected\n\nOK (skipped=1)\n", id="noise in a green unittest run"),
        pytest.param(SHELL, "x xfailed\n2 passed, 1 xfailed, 1 xpassed in 0.1s", id="xfail and XPASS"),
        pytest.param(
            SHELL, "Chunk ID: a\nWall time: 1.2 seconds\nProcess exited with code 0\nOutput:\nhi", id="Codex, exit 0"
        ),
        pytest.param(SHELL, "Exit code: 0\nWall time: 1 seconds\nOutput:\nhi", id="older Codex, exit 0"),
        pytest.param(SCRIPT, "Script completed\nWall time 3.7 seconds\nOutput:\nhi", id="Codex, a script"),
        pytest.param(SHELL, "Script failed to load on the first try\nok", id="a program that speaks of a script"),
        pytest.param(
            SCRIPT,
            'Script completed\nWall time 3.7 seconds\nOutput:\n{"exit_code": 0, "output": "hi"}',
            id="Codex, a command of a script",
        ),
        pytest.param(
            SHELL,
            "Command: ls\nOutput: a\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 7",
            id="Qwen Code, all none",
        ),
        pytest.param(SHELL, "Command: ls\nOutput: a\nError: none\nSignal: (none)", id="Gemini CLI, signal none"),
        pytest.param(SHELL, "<returncode>0</returncode>\n<output>\nhi\n</output>", id="mini-swe-agent, code 0"),
        pytest.param(SHELL, '{\n  "returncode": 0,\n  "output": "hi\\n"\n}', id="mini-swe-agent JSON, code 0"),
        pytest.param(
            SHELL, '{"output":"hi","metadata":{"exit_code":0,"duration_seconds":0.1}}', id="old Codex JSON, code 0"
        ),
        pytest.param(
            SHELL, "hi\n[The command completed with exit code 0.]\n[Current working directory: /w]", id="OpenHands, 0"
        ),
        pytest.param(SHELL, "hi\n\n\nWall time: 0.07 seconds", id="omp, no code"),
        pytest.param(
            SHELL, "GET /x\nHTTP/1.1 500 Internal Server Error\nexpect(404)\n1 passed in 0.1s", id="HTTP status text"
        ),
        pytest.param(SHELL, "usage: tool [-h] [--x X]\n\noptions:\n  -h, --help  show this", id="a help page"),
        pytest.param(
            WEB, "Errors explained\nTraceback (most recent call last):\nFAILED a::b", id="a page about errors"
        ),
        pytest.param(
            AGENT, "I found it.\nerror: the old one\nFAILED tests/a.py::t was fixed", id="a report about errors"
        ),
        pytest.param(SHELL, "[  PASSED  ] 9 tests.", id="green GoogleTest"),
        pytest.param(SHELL, "100% tests passed, 0 tests failed out of 40", id="green CTest"),
        pytest.param(SHELL, "10 tests, 0 failures", id="green ExUnit"),
        pytest.param(SHELL, "5 runs, 5 assertions, 0 failures, 0 errors, 0 skips", id="green Minitest"),
        pytest.param(SHELL, "3 of 3 test suites (3 of 3 test cases) passed.", id="green cabal"),
        pytest.param(SHELL, "0 errors, 3 warnings, 0 informations", id="green pyright"),
        pytest.param(SHELL, "Ok:    3\nFail:               0", id="green meson"),
        pytest.param(SHELL, "==12== ERROR SUMMARY: 0 errors from 0 contexts", id="green valgrind"),
        pytest.param(SHELL, "00:01 +3: All tests passed!", id="green dart test"),
        pytest.param(SHELL, "Executed 3 tests, with 0 failures (0 unexpected)", id="green XCTest"),
        pytest.param(SHELL, "ruff.....................Passed", id="green pre-commit"),
        pytest.param(SHELL, " 3 pass\n 0 fail\n", id="green bun test"),
        pytest.param(SHELL, "see step.pl line 3 of 9", id="prose about a line"),
        pytest.param(SHELL, "", id="empty output"),
        pytest.param(SHELL, "(no output)", id="a word for empty output"),
        pytest.param(SHELL, "bash : commande introuvable, dit le manuel", id="prose that names a shell"),
    ],
)
def test_not_a_failure(classified: Classified, text: str) -> None:
    assert verdict(classified, text) == "ok"


@pytest.mark.parametrize(
    ("classified", "text"),
    [
        # envelopes, for every kind
        pytest.param(READ, "<tool_use_error>File does not exist.</tool_use_error>", id="Claude Code's own error"),
        pytest.param(READ, "EISDIR: illegal operation on a directory, read", id="an errno at the head"),
        pytest.param(GREP, "InputValidationError: Grep failed", id="arguments refused"),
        pytest.param(OTHER, "MCP error -32602: bad", id="an MCP error"),
        pytest.param(AGENT, "Agent type 'x' not found. Available agents: a", id="no such sub-agent"),
        pytest.param(WEB, "Error: 404", id="an error at the head of a page"),
        pytest.param(LS, "Error", id="nothing but Error"),
        pytest.param(OTHER, "The user doesn't want to proceed with this tool use.", id="the user said no"),
        pytest.param(SHELL, "The user doesn't want to take this action right now.", id="the user said not now"),
        pytest.param(SHELL, "PreToolUse:Bash hook error: [x]: blocked", id="a hook said no"),
        pytest.param(SHELL, "BLOCKED by policy", id="a block"),
        pytest.param(READ, "ERROR:\nNo replacement was performed", id="OpenHands' editor error"),
        pytest.param(SHELL, "<system>ERROR: Tool execution failed</system>", id="Kimi's system error"),
        pytest.param(SHELL, "Exit code 1\nls: x", id="Claude Code, exit 1"),
        pytest.param(SHELL, "Exit code 124", id="a timeout's code"),
        pytest.param(SHELL, "Exit code 137\nKilled", id="a kill's code"),
        pytest.param(SHELL, "Exit code 143\nCommand timed out after 1m 0s", id="Claude Code's timeout"),
        pytest.param(CAT, "Exit code 1", id="exit 1 of a reader"),
        pytest.param(SHELL_GREP, "(no output)\n\nCommand exited with code 1", id="pi: a search with no hits"),
        pytest.param(SHELL, "x\n" * 500 + "\nCommand exited with code 2", id="pi: a long failure"),
        pytest.param(SHELL, "x\nCommand failed with exit code: 1.", id="Kimi CLI, exit 1"),
        pytest.param(SHELL, "Command aborted", id="pi: aborted"),
        pytest.param(SHELL, "x\nCommand timed out after 10 seconds", id="pi: timed out"),
        pytest.param(
            SHELL, "x\n[The command completed with exit code 2.]\n[Current working directory: /w]", id="OpenHands, 2"
        ),
        pytest.param(SHELL, "x\n[The command timed out after 10 seconds. y]", id="OpenHands, timed out"),
        pytest.param(SHELL, "x\nExit code 1\n<cwd>/w</cwd>", id="Crush, exit 1"),
        pytest.param(
            SHELL, "x\n<bash_metadata>\nbash tool terminated command after exceeding timeout 9 ms", id="OpenCode"
        ),
        pytest.param(
            SHELL, "Chunk ID: a\nWall time: 1.2 seconds\nProcess exited with code 2\nOutput:\nhi", id="Codex, exit 2"
        ),
        pytest.param(
            CAT, "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 1\nOutput:\n", id="Codex, a reader"
        ),
        pytest.param(SHELL, "Exit code: 1\nWall time: 1 seconds\nOutput:\nhi", id="older Codex, exit 1"),
        pytest.param(SCRIPT, "Script failed\nWall time 3.7 seconds\nOutput:\nhi", id="Codex, a script failed"),
        pytest.param(SCRIPT, "Script terminated\nWall time 3.7 seconds\nOutput:\n", id="Codex, a script was stopped"),
        pytest.param(SCRIPT, "Script error:\nReferenceError: x is not defined", id="Codex, why a script failed"),
        pytest.param(
            SCRIPT,
            'Script completed\nWall time 3.7 seconds\nOutput:\n{"exit_code": 1, "output": "hi"}',
            id="Codex, a command of a script failed",
        ),
        pytest.param(SHELL, "Output: x\nExit Code: 3\nProcess Group PGID: 8", id="Gemini CLI, exit 3"),
        pytest.param(
            SHELL, "<untrusted_context>\nOutput: x\nSignal: SIGKILL\n</untrusted_context>", id="Gemini CLI, a signal"
        ),
        pytest.param(
            CAT, "<untrusted_context>\nOutput: x\nExit Code: 1\nProcess Group PGID: 8", id="Gemini CLI, a reader"
        ),
        pytest.param(SHELL_GREP, "Output: x\nExit Code: 2\nProcess Group PGID: 8", id="Gemini CLI, a search"),
        pytest.param(SHELL, "Command: x\nOutput: y\nError: spawn x ENOENT\nExit Code: 0", id="Qwen Code, an error"),
        pytest.param(SHELL, "<returncode>1</returncode>\n<output>\n</output>", id="mini-swe-agent, code 1"),
        pytest.param(SHELL_GREP, "<returncode>1</returncode>\n<output>\n</output>", id="mini-swe-agent, a search"),
        pytest.param(CAT, "<returncode>-9</returncode>\n<output>\nx</output>", id="mini-swe-agent, a killed reader"),
        pytest.param(SHELL, '{"returncode":1,"output":"x"}', id="mini-swe-agent JSON, code 1"),
        pytest.param(CAT, '{"returncode": 1, "output": "no such"}', id="mini-swe-agent JSON, a reader"),
        pytest.param(
            SHELL, '{"returncode":0,"output":"","exception_info":{"type":"Timeout"}}', id="mini-swe-agent, exception"
        ),
        pytest.param(SHELL, '{"output":"x","metadata":{"exit_code":1}}', id="old Codex JSON, code 1"),
        pytest.param(OTHER, '{"isError": true, "content": []}', id="a JSON error flag"),
        pytest.param(OTHER, '{"status":"failed"}', id="a JSON status"),
        pytest.param(WEB, '{"error": {"code": 429}}', id="a JSON error of a web tool"),
        pytest.param(
            SHELL, "<status>failed</status>\n\n<exit_code>1</exit_code>", id="a background command that failed"
        ),
        # programs that failed while the harness saw exit 0
        pytest.param(SHELL, "a.test.ts ...\nTests:       1 failed, 8 passed, 9 total", id="npm test | tail"),
        pytest.param(SHELL, "npm ERR! code ELIFECYCLE\ndone", id="npm, then echo done"),
        pytest.param(SHELL, "npm error command sh -c tsc", id="newer npm"),
        pytest.param(SHELL, "src/a.ts(12,3): error TS2304: Cannot find name", id="tsc"),
        pytest.param(SHELL, "src/a.ts:12:3 - error TS2304: x\nFound 1 error", id="tsc, pretty"),
        pytest.param(SHELL, "  ✕ adds numbers (3 ms)", id="jest's cross"),
        pytest.param(SHELL, "✖ 5 problems (5 errors, 0 warnings)", id="eslint"),
        pytest.param(SHELL, "=== 1 failed, 3 passed in 0.21s ===", id="pytest"),
        pytest.param(SHELL, "1 failed, 3 passed in 0.21s", id="pytest -q"),
        pytest.param(SHELL, "FAILED tests/a.py::test_b - assert 1 == 2", id="pytest's short summary"),
        pytest.param(SHELL, "E   AssertionError: assert 1 == 2", id="pytest's E line"),
        pytest.param(
            SHELL, "Traceback (most recent call last):\n  File \"a\", line 1\nKeyError: 'x'", id="a traceback"
        ),
        pytest.param(SHELL, '  File "a.py", line 3\nSyntaxError: invalid syntax', id="a syntax error"),
        pytest.param(SHELL, "/usr/bin/python: No module named pytest", id="a module that is not there"),
        pytest.param(SHELL, "error[E0308]: mismatched types", id="rustc"),
        pytest.param(SHELL, "test result: FAILED. 1 passed; 1 failed", id="cargo test"),
        pytest.param(SHELL, "thread 'main' panicked at src/main.rs:2:5:", id="a Rust panic"),
        pytest.param(SHELL, "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.1s", id="go test"),
        pytest.param(SHELL, "# example.com/a\na/b.go:57:59: undefined: x", id="go build"),
        pytest.param(SHELL, "panic: boom\n\ngoroutine 1 [running]:", id="a Go panic"),
        pytest.param(SHELL, "a.c:12:3: error: expected ';'", id="a C compiler"),
        pytest.param(
            SHELL, "b.c:(.text+0x1): undefined reference to `f'\ncollect2: error: ld returned 1", id="a linker"
        ),
        pytest.param(SHELL, "make: *** [Makefile:3: all] Error 2", id="make"),
        pytest.param(SHELL, "CMake Error at CMakeLists.txt:3:", id="CMake"),
        pytest.param(SHELL, "E: Unable to locate package x", id="apt"),
        pytest.param(SHELL, "BUILD FAILED in 2s", id="gradle"),
        pytest.param(SHELL, 'Exception in thread "main" java.lang.X\nCaused by: y', id="Java"),
        pytest.param(SHELL, "Segmentation fault (core dumped)", id="a segmentation fault"),
        pytest.param(SHELL, "bash: xyz: command not found", id="no such command"),
        pytest.param(SHELL, "(eval):1: command not found: staticcheck", id="no such command in zsh"),
        pytest.param(SHELL, "bash: xyz : commande introuvable", id="a localised message of a shell"),
        pytest.param(SHELL, "cp: cannot stat 'x': No such file or directory", id="no such file"),
        pytest.param(SHELL, "lsd: 3: No such file or directory (os error 2)", id="a Rust tool's errno"),
        pytest.param(CAT, "cat: x: No such file or directory", id="a reader whose whole text is a complaint"),
        pytest.param(SHELL, "CONFLICT (content): Merge conflict in a", id="a merge conflict"),
        pytest.param(SHELL, " ! [rejected]  a -> a (non-fast-forward)\nerror: failed to push", id="a push refused"),
        pytest.param(SHELL, "usage: t [-h]\nt: error: unrecognized arguments: --x", id="arguments a program refused"),
        pytest.param(SHELL, "##[error]Process completed with exit code 1.", id="a CI log in the output"),
        pytest.param(SHELL, "\x1b[31mFAIL\x1b[0m\n\x1b[1msrc/a.test.ts", id="behind colours"),
        pytest.param(SHELL, "10%\r50%\r100%\rerror[E0308]: x", id="behind a progress bar"),
        pytest.param(SHELL, "ok\r\nFAIL\r\n", id="with Windows line ends"),
        pytest.param(
            SHELL, '{"returncode":0,"output":"x\\nFAILED tests/a.py::t - x\\n"}', id="failed inside a JSON envelope"
        ),
        pytest.param(SHELL, "<returncode>0</returncode>\n<output>\nFAIL\n</output>", id="failed inside a tag envelope"),
        pytest.param(SHELL, "Process exited with code 0\nOutput:\nFAIL\n", id="failed behind a Codex header"),
        pytest.param(
            SHELL, "=== 3 passed in 0.1s ===\nTraceback (most recent call last):\nKeyError: 1", id="failed after green"
        ),
        pytest.param(
            SHELL, "src/a.ts(1,2): error TS1: x\n=== 3 passed in 0.1s ===", id="a compiler failed before green"
        ),
        pytest.param(SHELL, "ok  \ta\t0.1s\nFAIL\tb\t0.2s\nok  \tc\t0.1s", id="one package of several failed"),
        pytest.param(SHELL, "[  PASSED  ] 9 tests.\n[  FAILED  ] 1 test, listed below:", id="GoogleTest"),
        pytest.param(SHELL, "97% tests passed, 1 tests failed out of 40", id="CTest"),
        pytest.param(SHELL, "The following tests FAILED:\n\t 12 - foo (Failed)", id="CTest's list"),
        pytest.param(SHELL, "Finished in 0.1 seconds\n10 tests, 1 failure", id="ExUnit"),
        pytest.param(SHELL, "5 runs, 5 assertions, 0 failures, 1 errors, 0 skips", id="Minitest"),
        pytest.param(SHELL, "Ran 3 tests containing 3 assertions.\n1 failures, 0 errors.", id="clojure.test"),
        pytest.param(SHELL, "FAILURES!\nTests: 3, Assertions: 3, Failures: 1.", id="PHPUnit"),
        pytest.param(SHELL, "  1 failed\n    [chromium] a.spec.ts\n  3 passed (4.2s)", id="Playwright"),
        pytest.param(SHELL, " 3 pass\n 1 fail\n", id="bun test"),
        pytest.param(SHELL, "ℹ pass 2\nℹ fail 1", id="node --test"),
        pytest.param(SHELL, "  ✖  1 of 3 failed (33%)", id="Cypress"),
        pytest.param(SHELL, "FAILED | 3 passed | 1 failed (10ms)", id="deno test"),
        pytest.param(SHELL, "        FAIL [   0.003s] crate tests::x", id="cargo nextest"),
        pytest.param(SHELL, "00:01 +3 -1: Some tests failed.", id="dart test"),
        pytest.param(SHELL, "\t Executed 3 tests, with 1 failure (0 unexpected)", id="XCTest"),
        pytest.param(SHELL, "** BUILD FAILED **", id="xcodebuild"),
        pytest.param(SHELL, "//a:b   FAILED in 0.1s", id="bazel"),
        pytest.param(SHELL, "Ok:                 3\nFail:               1", id="meson"),
        pytest.param(SHELL, "Result: FAIL", id="prove"),
        pytest.param(SHELL, "1 of 3 test suites (2 of 3 test cases) passed.", id="cabal test"),
        pytest.param(SHELL, "  evaluation failed :( (3.3 seconds)", id="tox"),
        pytest.param(SHELL, "nox > Session tests failed.", id="nox"),
        pytest.param(SHELL, "ruff.....................Failed", id="pre-commit"),
        pytest.param(SHELL, "FAIL Required test coverage of 90% not reached.", id="coverage"),
        pytest.param(SHELL, "a.c(3): error C2065: x", id="MSVC"),
        pytest.param(SHELL, "cc1plus: fatal error: Killed signal", id="gcc, killed"),
        pytest.param(SHELL, "  /a/b.py:3:5 - error: x is not y", id="pyright"),
        pytest.param(SHELL, "1 error, 0 warnings, 0 informations", id="pyright's sum"),
        pytest.param(SHELL, "./a.py:1:1: F401 os imported but unused", id="flake8"),
        pytest.param(SHELL, "In a.sh line 3:\n^-- SC2086", id="shellcheck"),
        pytest.param(SHELL, "would reformat a.py", id="black"),
        pytest.param(SHELL, "webpack 5.9 compiled with 1 error in 20 ms", id="webpack"),
        pytest.param(SHELL, "Failed to compile.", id="next build"),
        pytest.param(SHELL, "Aborted (core dumped)", id="an abort"),
        pytest.param(SHELL, "terminate called after throwing an instance of 'x'", id="an uncaught C++ exception"),
        pytest.param(SHELL, "a: a.c:3: main: Assertion `x' failed.", id="a C assertion"),
        pytest.param(SHELL, "==123==ERROR: AddressSanitizer: heap-use-after-free", id="AddressSanitizer"),
        pytest.param(SHELL, "==12== ERROR SUMMARY: 3 errors from 2 contexts", id="valgrind"),
        pytest.param(SHELL, "a.c:3:5: runtime error: signed integer overflow", id="UBSan"),
        pytest.param(SHELL, "PHP Fatal error:  Uncaught Error", id="PHP"),
        pytest.param(SHELL, "psql:x.sql:3: ERROR:  relation x does not exist", id="psql"),
        pytest.param(SHELL, "Error in f() : x\nExecution halted", id="R"),
        pytest.param(SHELL, "Host key verification failed.", id="ssh"),
        pytest.param(SHELL, "FAILED: Can't locate revision", id="alembic"),
        pytest.param(SHELL, "configure: error: no acceptable C compiler", id="configure"),
        pytest.param(SHELL, "[error] Failed tests:", id="sbt"),
        pytest.param(SHELL, "Error from server (NotFound): pods x not found", id="kubectl"),
        pytest.param(SHELL, "An error occurred (AccessDenied) when calling the X operation", id="aws"),
        pytest.param(SHELL, "** (RuntimeError) boom", id="Elixir"),
        pytest.param(SHELL, "a.rb:3:in `f': undefined method `x' (NoMethodError)", id="Ruby"),
        pytest.param(SHELL, "Can't locate Foo.pm in @INC at a.pl line 3.", id="Perl"),
        pytest.param(SHELL, "lua: a.lua:1: x\nstack traceback:", id="Lua"),
    ],
)
def test_a_failure(classified: Classified, text: str) -> None:
    assert verdict(classified, text) == "failed_result"


FAILING_LINES = (
    "FAILED tests/test_a.py - ImportError",
    "ERROR tests/test_a.py",
    "ERROR tests/test_a.py::test_b - x",
    "FAILED (failures=1, errors=2)",
    "FAIL: test_a (tests.A.test_a)",
    "ERROR: test_a (tests.A.test_a)",
    "Test Suites: 1 failed, 3 passed, 4 total",
    " Test Files  1 failed | 3 passed (4)",
    "  2 failing",
    "not ok 3 - adds",
    "# fail 2",
    "    --- FAIL: TestA/sub (0.00s)",
    "Tests run: 4, Failures: 1, Errors: 0, Skipped: 0",
    "Failed!  - Failed:     1, Passed:     3",
    "12 examples, 2 failures",
    "src/a.ts:1:2 - error x",
    "error: could not compile `a` (bin) due to 1 previous error",
    "error: aborting due to 2 previous errors",
    "collect2: error: ld returned 1 exit status",
    "ninja: build stopped: subcommand failed.",
    " ELIFECYCLE  Command failed with exit code 1.",
    "ERR_PNPM_NO_SCRIPT  Missing script",
    "error Command failed with exit code 1.",
    "> Task :test FAILED",
    "Found 2 errors in 1 file (checked 3 source files)",
    "[lint:go] ERROR task failed",
    "Automatic merge failed; fix conflicts and then commit the result.",
    " ! [rejected]  a -> a (non-fast-forward)",
    "error: failed to push some refs",
    "Killed",
    "(eval):cd:1: no such file or directory: src",
    "zsh: no matches found: *.x",
    "src/a.c:3: error: expected ';'",
)

NOISY_LINES = (
    "Traceback (most recent call last):",
    "    at f (/a/b.js:1:2)",
    "error: x",
    "Error:",
    "Error reading x",
    "ENOENT: no such file or directory, open 'x'",
    "│ Error: Invalid reference",
    "ERROR: x",
    "[ERROR] x",
    "fatal: not a git repository",
    "panic: x",
    "goroutine 1 [running]:",
    'Exception in thread "main" java.lang.X',
    "Caused by: x",
    "curl: (6) Could not resolve host",
    "Command 'x' failed with exit code 2",
    "process x exited with code 1",
    "[TypeError: x is not a function]",
    "E   assert 1 == 2",
    "thread 'main' panicked at a.rs:1",
    "ls: x: No such file or directory",
)

GREEN_LINES = (
    "=== 3 passed in 0.1s ===",
    "3 passed, 1 warning in 0.12s",
    "0 failed, 12 passed",
    "12 passed, 0 failed",
    "test result: ok. 3 passed; 0 failed; 0 ignored",
    "Tests:       1 skipped, 4 passed, 5 total",
    "      Tests  4 passed (4)",
    "OK",
    "ok  \texample.com/a\t0.1s",
    "PASS",
    "  3 passing (8ms)",
    "# fail 0",
    "Passed!  - Failed:     0, Passed:     3",
    "12 examples, 0 failures",
    "BUILD SUCCESSFUL in 2s",
    "[INFO] BUILD SUCCESS",
)


@pytest.mark.parametrize("line", [*FAILING_LINES, *NOISY_LINES])
def test_one_line_among_others_tells_of_a_failure(line: str) -> None:
    assert verdict(SHELL, f"started\n{line}\ndone") == "failed_result"


@pytest.mark.parametrize("line", FAILING_LINES)
def test_no_green_summary_outweighs_what_is_certain(line: str) -> None:
    assert verdict(SHELL, f"started\n{line}\n=== 3 passed in 0.1s ===") == "failed_result"


@pytest.mark.parametrize("green", GREEN_LINES)
def test_a_green_summary_outweighs_the_noise_before_it(green: str) -> None:
    noise = "\n".join(NOISY_LINES)
    assert verdict(SHELL, f"started\n{noise}\n{green}\ndone") == "ok"
    assert verdict(SHELL, f"started\n{green}\n{noise}\ndone") == "failed_result"


@pytest.mark.parametrize(
    "last",
    [
        "Command failed with exit code 2",
        "[Command finished with exit code 1]",
        "Process exited with code 1",
        "exit status 1",
        "Exit Code: 1",
    ],
)
def test_a_harness_that_speaks_last(last: str) -> None:
    assert verdict(SHELL, "x\n" * 2_000 + last) == "failed_result"
    assert verdict(SHELL, last.replace("1", "0").replace("2", "0") + "\n" + "x\n" * 2_000) == "ok"


def test_a_harness_that_speaks_on_its_second_line() -> None:
    assert verdict(SHELL, "Command executed.\nExit code: 1\nOutput:\n" + "x\n" * 2_000) == "failed_result"
    assert verdict(SHELL, "x\n<exit_code>2</exit_code>\n" + "x\n" * 2_000) == "failed_result"


def test_the_wire_flag_counts_whatever_the_text_says() -> None:
    assert judge(READ, "     1→x", wire_failed=True) == "failed_result"
    assert judge(classify("Edit", "{}"), "x", wire_failed=True) == "failed_result"
    assert judge(SHELL_GREP, "", wire_failed=True) == "failed_result"


def test_the_wire_saying_all_is_well_proves_nothing() -> None:
    assert judge(SHELL, "1 failed in 0.1s", wire_failed=False) == "failed_result"


@pytest.mark.parametrize("name", ["Edit", "TodoWrite", "Skill", "apply_patch"])
def test_protected_tools(name: str) -> None:
    assert verdict(classify(name, "{}"), "The file has been updated.") == "protected_kind"


@pytest.mark.parametrize(
    ("classified", "text", "expected"),
    [
        pytest.param(classify("Bash", '{"command":"git diff"}'), "x", "protected_kind", id="git diff"),
        pytest.param(SHELL, "diff --git a/x b/x\n@@ -1,2 +1,2 @@", "protected_kind", id="a git diff in a log"),
        pytest.param(SHELL, "x\n--- a/x\n+++ b/x\n", "protected_kind", id="a plain diff in a log"),
        pytest.param(SHELL, "diff --git a/x b/x\nsimilarity index 100%", "protected_kind", id="a rename in a diff"),
        pytest.param(SHELL, "x\n@@ -1,2 +1,2 @@ f\ny", "protected_kind", id="a hunk without its header"),
        pytest.param(SHELL, "b\n>>>>>>> theirs", "protected_kind", id="the end of a conflict"),
        pytest.param(SHELL, "*** Begin Patch\n*** Update File: a", "protected_kind", id="a patch in a log"),
        pytest.param(SHELL, "a\n<<<<<<< HEAD\nb\n>>>>>>> x", "protected_kind", id="conflict marks in a log"),
        pytest.param(SHELL, "<<<<<<< SEARCH\na", "protected_kind", id="a search and replace block"),
        pytest.param(SHELL, "--- a heading ---\n+++\n", "ok", id="rules of dashes and pluses"),
        pytest.param(READ, "diff --git a/x b/x\n", "ok", id="a diff that is read keeps every line anyway"),
    ],
)
def test_diffs(classified: Classified, text: str, expected: str) -> None:
    assert verdict(classified, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[coldpress: 9 of 900 lines shown]\nx", id="our marker"),
        pytest.param(
            "<persisted-output>\nOutput too large (72.6KB). Full output saved to: /x", id="Claude Code's file"
        ),
        pytest.param("a\n\n... [560 lines truncated] ...", id="Claude Code's cut"),
    ],
)
@pytest.mark.parametrize("classified", [SHELL, GREP, READ], ids=["shell", "search", "source"])
def test_shortened_already(classified: Classified, text: str) -> None:
    assert verdict(classified, text) == "already_pressed"


# Credentials are put together here so that no scanner takes this file for a leak.
DIGITS = "q8Zr2vLmT0w4Yb6Nc1Xd"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("-----BEGIN " + "RSA PRIVATE KEY-----\nMII", id="a private key"),
        pytest.param("-----BEGIN " + "OPENSSH PRIVATE KEY-----\n", id="an SSH key"),
        pytest.param("id = " + "AKIA" + "Q4ZR2VLMT0W4YB6N", id="an AWS key id"),
        pytest.param("key: " + "sk-" + "ant-api03-" + DIGITS * 2, id="an Anthropic key"),
        pytest.param("key: " + "sk-" + DIGITS * 2, id="an OpenAI key"),
        pytest.param("x " + "ghp_" + DIGITS * 2, id="a GitHub token"),
        pytest.param("x " + "AIza" + (DIGITS * 2)[:35], id="a Google key"),
        pytest.param("Authorization: Bearer " + DIGITS * 2, id="a bearer token"),
        pytest.param('"authorization": "Bearer ' + DIGITS * 2 + '"', id="a bearer token in JSON"),
        pytest.param(f"PATH=/bin\nDB_PASSWORD={DIGITS}\nHOME=/h", id="a password in an env dump"),
        pytest.param(f"     3→export API_KEY='{DIGITS}'", id="a key in an env file that is read"),
        pytest.param(f".env:3:SLACK_TOKEN={DIGITS}", id="a token in a search hit"),
    ],
)
def test_secrets_stay_exact(text: str) -> None:
    assert holds_secret(text)
    assert verdict(READ, text) == "protected_kind"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("class sk-folding-cube-animation-2024 { }", id="a CSS class"),
        pytest.param("task-1234567890abcdefghij1234", id="a task id"),
        pytest.param("AWS_KEY: AKIAIOSFODNN7EXAMPLE", id="the documented example key"),
        pytest.param("API_KEY=$API_KEY_FROM_VAULT", id="a variable"),
        pytest.param("API_KEY=your-api-key-here", id="a placeholder"),
        pytest.param('     32→export GH_TOKEN="github_pat_xxxx"', id="a placeholder of crosses"),
        pytest.param("PASSWORD=<your password>", id="a placeholder in brackets"),
        pytest.param("password = get_password(user_id)", id="code about passwords"),
        pytest.param(
            "MAX_TOKENS=4096\nPWD=/home/someone/project\nOLDPWD=/home/someone", id="variables that are no secrets"
        ),
        pytest.param("-----BEGIN CERTIFICATE-----", id="a certificate is public"),
        pytest.param("Authorization: Bearer <token>", id="a bearer token in a manual"),
        pytest.param("sha512-" + DIGITS * 4, id="a checksum in a lock file"),
    ],
)
def test_not_secrets(text: str) -> None:
    assert not holds_secret(text)


@given(
    st.text(alphabet='ERORFAILfail:error \n\r\x1b[31m{}"<>0123→=-+@', max_size=200),
    st.sampled_from([SHELL, READ, GREP]),
)
def test_any_text_is_judged_the_same_twice(text: str, classified: Classified) -> None:
    assert verdict(classified, text) == verdict(classified, text)


@given(st.text(max_size=80).filter(lambda text: "\x1b" not in text and "\r" not in text))
def test_colours_change_no_verdict(text: str) -> None:
    coloured = "".join(f"\x1b[1;31m{line}\x1b[0m" for line in text.splitlines(keepends=True))
    assert (verdict(SHELL, coloured) == "failed_result") == (verdict(SHELL, text) == "failed_result")


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "x" * 400 + "\n",
            "\n",
            " ",
            "\n ",
            "a: b: c: ",
            "=" * 300 + "\n",
            "= 1 failed ",
            "Tests 1 failed, ",
            "error at \n",
        ),
        *(
            "\x1b[",
            "\r",
            '{"a":',
            "'-- ",
            "A.Error",
            "command ",
            "</output>",
            "-----BEGIN A ",
            "…1 tokens truncated… x ",
        ),
        *("sk-eyJ", "1 failed, 1 errors, ", "12 passed, 1 skipped, ", "at a:1:1 ", "…\nx", "API_KEY=\n", "1" * 50),
    ],
)
def test_a_large_hostile_text_is_judged_in_linear_time(unit: str) -> None:
    seconds = []
    for size in (50_000, 400_000):
        text = "<returncode>0</returncode><output>" + "= " + unit * (size // len(unit))
        started = time.process_time()
        judge(SHELL, text, wire_failed=None)
        judge(READ, text, wire_failed=None)
        seconds.append(time.process_time() - started)
    # Eight times the text takes about eight times as long; a quadratic pattern takes sixty-four.
    assert seconds[1] < max(32 * seconds[0], 0.5)


def recorded(shared: Path) -> Iterator[tuple[str, str, str, bool]]:
    """Tool name, arguments, text and failure flag of every tool result in the recorded Claude Code sessions."""
    for folder in ("claude-code", "claude-code-long"):
        for path in sorted((shared / "trajectories" / "dev" / folder).glob("*.jsonl")):
            calls: dict[str, tuple[str, str]] = {}
            for line in path.read_text(errors="replace").splitlines():
                try:
                    content = json.loads(line).get("message", {}).get("content")
                except ValueError:
                    continue  # one recorded line holds two objects
                for block in content if isinstance(content, list) else ():
                    if block.get("type") == "tool_use":
                        calls[block["id"]] = (block["name"], json.dumps(block["input"]))
                    elif block.get("type") == "tool_result" and block["tool_use_id"] in calls:
                        parts = block.get("content") or ""
                        text = parts if isinstance(parts, str) else "\n".join(p.get("text", "") for p in parts)
                        yield *calls.pop(block["tool_use_id"]), text, bool(block.get("is_error"))


def test_real_failures_are_found_and_little_else_is(shared: Path) -> None:
    """The flag is hidden from the guard, then compared; protected tools are judged by their text alone."""
    flagged = found = all_bytes = pinned_bytes = 0
    for name, arguments, text, failed in recorded(shared):
        placed = classify(name, arguments)
        neutral = Classified("unknown", placed.tool, None, placed.command, placed.runs_program)
        by_text = verdict(neutral if placed.kind in ("mutation", "plan", "memory", "diff") else placed, text)
        size = len(text.encode())
        all_bytes += size
        flagged += failed
        found += failed and by_text == "failed_result"
        pinned_bytes += size if by_text == "failed_result" and not failed else 0
    assert flagged > 100
    assert found / flagged >= 0.94
    assert pinned_bytes / all_bytes <= 0.012
