"""The clients: what to install, and how each is started against a base URL."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

Wire = Literal["anthropic", "openai_chat", "openai_responses", "gemini"]

HERE = Path(__file__).resolve().parent
ANTHROPIC_MODEL = "claude-sonnet-4-5"
CHAT_MODEL = "gpt-5-mini"
CODEX_MODEL = "gpt-5-codex"
GEMINI_MODEL = "gemini-2.5-flash"
KEY = "sk-not-a-real-key"
FINISH_COMMAND = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@dataclass(frozen=True, slots=True)
class Package:
    """What a client is installed from, into a folder of its own."""

    folder: str
    manager: Literal["npm", "pip"]
    specs: tuple[str, ...]


CLAUDE_CODE = Package("claude-code", "npm", ("@anthropic-ai/claude-code@2.1.197",))
OPENCODE = Package("opencode", "npm", ("opencode-ai@1.18.33",))
PI = Package("pi", "npm", ("@mariozechner/pi-coding-agent@0.73.1",))
OMP = Package("omp", "npm", ("@oh-my-pi/pi-coding-agent@18.2.3", "bun@1.4.5"))
CODEX = Package("codex", "npm", ("@openai/codex@0.171.0",))
GEMINI_CLI = Package("gemini-cli", "npm", ("@google/gemini-cli@0.61.0",))
QWEN_CODE = Package("qwen-code", "npm", ("@qwen-code/qwen-code@0.15.10",))
MINI = Package("mini-swe-agent", "pip", ("mini-swe-agent==2.4.6",))
SDKS = Package("sdks", "pip", ("anthropic==2.14.0", "openai==3.57.0"))


@dataclass(frozen=True, slots=True)
class Site:
    """Where one client runs: its package, its home and its workspace, all its own, and the base URL it talks to."""

    package: Path
    home: Path
    workspace: Path
    url: str
    task: str

    def write_home(self, path: str, content: object) -> None:
        """Write a settings file of the client: a text as it is, anything else as JSON."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        target.write_text(text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line and what it needs in the environment besides PATH and HOME."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Client:
    """One client on one wire.

    Attributes:
        name: for people, and as the choice on the command line.
        wire: what it speaks.
        package: what it is installed from.
        launch: prepares its settings and says how to start it.
        streams: whether it asks for streamed replies.
        log_lines: length of the log that the task has it print; below what the client itself would cut.
        finish: the shell command that ends the task, for clients that end with one instead of with text.
    """

    name: str
    wire: Wire
    package: Package
    launch: Callable[[Site], Launch]
    streams: bool = True
    log_lines: int = 260
    finish: str | None = None


def _claude_code(site: Site) -> Launch:
    # npm's `claude` is a stub until a postinstall script has run; the platform package holds the program.
    found = sorted(site.package.glob("node_modules/@anthropic-ai/claude-code-*/claude*"))
    program = found[0] if found else site.package / "node_modules/.bin/claude"
    return Launch(
        (
            str(program), "-p", site.task, "--dangerously-skip-permissions", "--output-format", "stream-json",
            "--verbose", "--model", ANTHROPIC_MODEL,
        ),
        {
            "ANTHROPIC_BASE_URL": site.url,
            "ANTHROPIC_API_KEY": KEY,
            "IS_SANDBOX": "1",  # lets it skip permissions as root, for containers
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    )  # fmt: skip


def _opencode(site: Site, provider: Mapping[str, object], model: str) -> Launch:
    site.write_home(
        ".config/opencode/opencode.json",
        {
            "$schema": "https://opencode.ai/config.json",
            "share": "disabled",
            "autoupdate": False,
            "compaction": {"auto": False, "prune": False},  # coldpress is on trial, not OpenCode
            "provider": provider,
            "model": model,
        },
    )
    found = sorted(site.package.glob("node_modules/opencode-*/bin/opencode"))
    plain = [path for path in found if "baseline" not in str(path) and "musl" not in str(path)]
    program = (plain or found or [site.package / "node_modules/.bin/opencode"])[0]
    return Launch(
        (str(program), "run", site.task),
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
    )


def _opencode_anthropic(site: Site) -> Launch:
    return _opencode(
        site, {"anthropic": {"options": {"baseURL": f"{site.url}/v1", "apiKey": KEY}}}, f"anthropic/{ANTHROPIC_MODEL}"
    )


def _opencode_chat(site: Site) -> Launch:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{site.url}/v1", "apiKey": KEY},
        "models": {CHAT_MODEL: {"name": CHAT_MODEL, "limit": {"context": 200_000, "output": 8_000}}},
    }
    return _opencode(site, {"scripted": provider}, f"scripted/{CHAT_MODEL}")


def _pi(site: Site, provider: str, settings: Mapping[str, object], model: str) -> Launch:
    site.write_home(".pi/agent/models.json", {"providers": {provider: settings}})
    site.write_home(".pi/agent/settings.json", {"compaction": {"enabled": False}})  # coldpress is on trial, not pi
    program = site.package / "node_modules/@mariozechner/pi-coding-agent/dist/cli.js"
    return Launch(
        ("node", str(program), "-p", "--provider", provider, "--model", model, site.task),
        {"PI_OFFLINE": "1", "ANTHROPIC_API_KEY": KEY},
    )


def _pi_anthropic(site: Site) -> Launch:
    return _pi(site, "anthropic", {"baseUrl": site.url, "apiKey": "ANTHROPIC_API_KEY"}, ANTHROPIC_MODEL)


def _pi_chat(site: Site) -> Launch:
    models = [chat_model(CHAT_MODEL)]
    settings = {"baseUrl": f"{site.url}/v1", "api": "openai-completions", "apiKey": KEY, "models": models}
    return _pi(site, "scripted", settings, CHAT_MODEL)


def _pi_responses(site: Site) -> Launch:
    models = [chat_model(CHAT_MODEL)]
    settings = {"baseUrl": f"{site.url}/v1", "api": "openai-responses", "apiKey": KEY, "models": models}
    return _pi(site, "scripted", settings, CHAT_MODEL)


def _codex(site: Site, settings: str, environment: Mapping[str, str]) -> Launch:
    # Its sandbox is for machines with people; a container of its own has none of what it is made from.
    site.write_home(".codex/config.toml", f'model = "{CODEX_MODEL}"\n{settings}')
    program = site.package / "node_modules/@openai/codex/bin/codex.js"
    options = ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return Launch(("node", str(program), *options, site.task), environment)


def _codex_key(site: Site) -> Launch:
    provider = f"""model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{site.url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
"""
    return _codex(site, provider, {"SCRIPTED_KEY": KEY})


def _codex_chatgpt(site: Site) -> Launch:
    """Sign in as with a ChatGPT account: it offers a WebSocket first, and compresses its requests with zstd."""
    token, account = unsigned_token(), "account-of-nobody"
    site.write_home(
        ".codex/auth.json",
        {
            "auth_mode": "chatgpt",
            "OPENAI_API_KEY": None,
            "tokens": {"id_token": token, "access_token": token, "refresh_token": "none", "account_id": account},
            "last_refresh": datetime.now(UTC).isoformat(),
        },
    )
    addresses = f'openai_base_url = "{site.url}/v1"\nchatgpt_base_url = "{site.url}/backend-api"\n'
    # Whatever it wants of other machines ends at a closed port.
    return _codex(site, addresses, {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"})


def unsigned_token() -> str:
    """Make a token such as Codex keeps of a sign-in; it is signed by nobody and opens nothing."""
    now = int(time.time())
    account = {"chatgpt_plan_type": "plus", "chatgpt_user_id": "nobody", "chatgpt_account_id": "account-of-nobody"}
    claims = {"email": "client@example.org", "iat": now, "exp": now + 86_400, "https://api.openai.com/auth": account}
    parts = ({"alg": "none", "typ": "JWT"}, claims, "unsigned")
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


def _gemini_cli(site: Site) -> Launch:
    site.write_home(
        ".gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        },
    )
    program = site.package / "node_modules/@google/gemini-cli/bundle/gemini.js"
    return Launch(
        ("node", str(program), "-p", site.task, "--yolo", "-m", GEMINI_MODEL),
        {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": site.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    )


def _qwen_code(site: Site) -> Launch:
    program = site.package / "node_modules/@qwen-code/qwen-code/cli.js"
    return Launch(
        ("node", str(program), "-p", site.task, "--yolo", "--auth-type", "openai"),
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{site.url}/v1", "OPENAI_MODEL": CHAT_MODEL},
    )


def omp(site: Site, settings: Mapping[str, object], model: str, environment: Mapping[str, str]) -> Launch:
    """Start OMP with one provider of these settings; `model` is the provider's name, a slash and the model's."""
    name = model.partition("/")[0]
    # YAML by its name; every JSON document is one.
    site.write_home(".omp/agent/models.yml", {"providers": {name: settings}})
    # npm's `bun` is a stub until a postinstall script has run; the platform package holds the program.
    found = sorted(site.package.glob("node_modules/@oven/bun-*/bin/bun"))
    plain = [path for path in found if "baseline" not in str(path) and "musl" not in str(path)]
    program = (plain or found or [site.package / "node_modules/.bin/bun"])[0]
    script = site.package / "node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js"
    options = ("-p", "--model", model, "--auto-approve", "--no-lsp", "--no-title")
    return Launch((str(program), str(script), *options, site.task), environment)


def chat_model(name: str) -> Mapping[str, object]:
    """Describe a model without reasoning as pi and OMP want it."""
    return {
        "id": name, "name": name, "reasoning": False, "input": ["text"],
        "contextWindow": 200_000, "maxTokens": 8_000,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }  # fmt: skip


def _omp_anthropic(site: Site) -> Launch:
    return omp(site, {"baseUrl": site.url}, f"anthropic/{ANTHROPIC_MODEL}", {"ANTHROPIC_API_KEY": KEY})


def _omp_chat(site: Site) -> Launch:
    models = [chat_model(CHAT_MODEL)]
    settings = {"baseUrl": f"{site.url}/v1", "api": "openai-completions", "apiKey": KEY, "models": models}
    return omp(site, settings, f"scripted/{CHAT_MODEL}", {})


def _mini(site: Site, model: str, environment: Mapping[str, str]) -> Launch:
    program = site.package / "bin" / "mini"
    return Launch(
        (
            str(program),
            "-t",
            site.task,
            "-m",
            model,
            "-y",
            "--exit-immediately",
            "-o",
            str(site.home / "run.traj.json"),
        ),
        {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_COST_TRACKING": "ignore_errors",  # it would stop at a model whose price it does not know
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            **environment,
        },
    )


def _mini_anthropic(site: Site) -> Launch:
    return _mini(
        site, f"anthropic/{ANTHROPIC_MODEL}-20250929", {"ANTHROPIC_API_BASE": site.url, "ANTHROPIC_API_KEY": KEY}
    )


def _mini_chat(site: Site) -> Launch:
    return _mini(site, "openai/fake-model", {"OPENAI_API_BASE": f"{site.url}/v1", "OPENAI_API_KEY": KEY})


def _sdk(script: str, *options: str) -> Callable[[Site], Launch]:
    def launch(site: Site) -> Launch:
        program = site.package / "bin" / "python"
        return Launch((str(program), str(HERE / script), *options, site.url, KEY, site.task), {})

    return launch


CLIENTS: tuple[Client, ...] = (
    Client("claude-code", "anthropic", CLAUDE_CODE, _claude_code),
    Client("opencode", "anthropic", OPENCODE, _opencode_anthropic),
    Client("opencode-chat", "openai_chat", OPENCODE, _opencode_chat),
    Client("pi", "anthropic", PI, _pi_anthropic),
    Client("pi-chat", "openai_chat", PI, _pi_chat),
    Client("omp", "anthropic", OMP, _omp_anthropic),
    Client("omp-chat", "openai_chat", OMP, _omp_chat),
    # It cuts results of 10,000 characters itself, and ends a task with a command.
    Client("mini-swe-agent", "anthropic", MINI, _mini_anthropic, streams=False, log_lines=130, finish=FINISH_COMMAND),
    Client("mini-swe-agent-chat", "openai_chat", MINI, _mini_chat, streams=False, log_lines=130, finish=FINISH_COMMAND),
    Client("anthropic-sdk", "anthropic", SDKS, _sdk("agent_anthropic.py"), streams=False),
    Client("anthropic-sdk-stream", "anthropic", SDKS, _sdk("agent_anthropic.py", "--stream")),
    Client("openai-sdk", "openai_chat", SDKS, _sdk("agent_openai.py"), streams=False),
    Client("openai-sdk-stream", "openai_chat", SDKS, _sdk("agent_openai.py", "--stream")),
    Client("openai-sdk-responses", "openai_responses", SDKS, _sdk("agent_responses.py"), streams=False),
    Client("openai-sdk-responses-stream", "openai_responses", SDKS, _sdk("agent_responses.py", "--stream")),
    Client("pi-responses", "openai_responses", PI, _pi_responses),
    Client("codex", "openai_responses", CODEX, _codex_key, log_lines=120),
    Client("codex-chatgpt", "openai_responses", CODEX, _codex_chatgpt, log_lines=120),
    Client("gemini-cli", "gemini", GEMINI_CLI, _gemini_cli),
    Client("qwen-code", "openai_chat", QWEN_CODE, _qwen_code),
)
