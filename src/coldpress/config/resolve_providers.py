"""Lay the providers of a settings file over the built-in ones, and check addresses and keys."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from coldpress.config.builtin_providers import ALL, BUILTIN_PROVIDERS, OPENAI, BuiltinProvider
from coldpress.config.keys import FormatWord, ProviderKeys
from coldpress.config.masked import shown, variable_problem
from coldpress.config.native_keys import build_native
from coldpress.config.resolve_prices import build_prices
from coldpress.config.secret import Secret
from coldpress.config.settings import Provider
from coldpress.model.records import Operation
from coldpress.wire.registry import FormatName

SecretsNeed = Literal["required", "optional"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FORMATS: dict[FormatWord, tuple[FormatName, ...]] = {
    "anthropic": ("anthropic",),
    "openai": OPENAI,
    "openai_chat": ("openai_chat",),
    "openai_responses": ("openai_responses",),
    "gemini": ("gemini",),
}


@dataclass(frozen=True, slots=True)
class BuiltProviders:
    """Providers for the gateway, with what had to be said about them."""

    providers: tuple[Provider, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def build_providers(
    given: Mapping[str, ProviderKeys], *, operation: Operation, environ: Mapping[str, str], secrets: SecretsNeed
) -> BuiltProviders:
    """Resolve every provider, built-in ones first.

    Args:
        given: the providers of the file.
        operation: what to do where a provider does not say.
        environ: where `api_key_env` is looked up.
        secrets: whether an absent variable is an error or, for commands that send nothing, a warning.
    """
    built_in = {row.name: row for row in BUILTIN_PROVIDERS}
    names = [*built_in, *(name for name in given if name not in built_in)]
    problems: list[str] = []
    warnings: list[str] = []
    providers: list[Provider] = []
    for name in names:
        keys = given.get(name, ProviderKeys())
        url = _url(name, keys, built_in.get(name), problems, warnings)
        providers.append(
            Provider(
                name=name,
                url=url,
                formats=_formats(keys, built_in.get(name)),
                operation=keys.operation or operation,
                api_key=read_secret(
                    f"providers.{name}.api_key_env",
                    keys.api_key_env,
                    environ,
                    problems,
                    None if secrets == "required" else warnings,
                    otherwise=_without_key(name, url, given),
                ),
                pricing=build_prices(keys.pricing, f"providers.{name}", problems),
                concurrency=keys.concurrency,
                rpm=keys.rpm,
                failover=keys.failover,
                failover_model=keys.failover_model,
                warmth=keys.warmth,
                native=build_native(keys.native, f"providers.{name}", warnings),
            )
        )
    return BuiltProviders(tuple(providers), tuple(problems), tuple(warnings))


def _without_key(name: str, url: str, given: Mapping[str, ProviderKeys]) -> str:
    """Say what else to do where a provider's key is taken out: another machine that stands in for one needs it."""
    first = [f"providers.{other}.failover" for other, keys in given.items() if keys.failover == name != other]
    if not first or is_loopback(urlsplit(url).hostname or ""):
        return "so that the client's own key passes through"
    return f"together with {' and '.join(first)}, which cannot do without a key of its own there"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; a name other than `localhost` may be anything."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _url(
    name: str, keys: ProviderKeys, built_in: BuiltinProvider | None, problems: list[str], warnings: list[str]
) -> str:
    at = f"providers.{name}"
    if not _NAME.fullmatch(name):
        problems.append(
            f"{at}: a provider's name stands in the path /provider/NAME, so it begins with a letter or digit "
            "and goes on with letters, digits, dot, dash and underscore"
        )
    if keys.url is None:
        if built_in is None:
            problems.append(
                f"{at}.url is missing; only {', '.join(row.name for row in BUILTIN_PROVIDERS)} are built in"
            )
            return ""
        return built_in.url
    wrong, parts = parse_url(keys.url)
    if wrong:
        problems.append(f"{at}.url {wrong}")
        return ""
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        warnings.append(
            f"{at}.url is plain http to another machine: keys and conversations cross the network unencrypted"
        )
    if parts.path.rstrip("/").endswith("/v1"):
        warnings.append(
            f"{at}.url ends in /v1, which clients' paths hold as well: point clients at /provider/{name} without /v1, "
            "or take /v1 out of the url"
        )
    return keys.url.rstrip("/")


def parse_url(url: str) -> tuple[str, SplitResult]:
    """Split an address; the first value is what is wrong with it, empty where nothing is. It never shows a password."""
    nothing = SplitResult("", "", "", "", "")
    if any(c.isspace() or not c.isprintable() for c in url):
        return "holds a space or an unprintable character; write a plain http:// or https:// address", nothing
    try:
        parts = urlsplit(url)
        hostname, port = parts.hostname, parts.port
    except ValueError:
        # Its own words may quote a password.
        return "is not an address; write http:// or https://, a host, and a port if there is one", nothing
    if parts.username is not None or parts.password is not None:
        return "holds a user name or password; put a key in the environment and name it in api_key_env", parts
    if parts.scheme not in ("http", "https") or not hostname or port == 0:
        return f"is {shown(url)}; it must begin with http:// or https:// and a host", parts
    if parts.query or parts.fragment:
        # What stands there may be a key.
        return f"is {shown(re.split('[?#]', url)[0])} and more; it must end before any ? or #", parts
    return "", parts


def _formats(keys: ProviderKeys, built_in: BuiltinProvider | None) -> tuple[FormatName, ...]:
    if keys.format is not None:
        return _FORMATS[keys.format]
    return built_in.formats if built_in and keys.url is None else ALL


def read_secret(
    at: str,
    variable: str | None,
    environ: Mapping[str, str],
    problems: list[str],
    absent: list[str] | None,
    *,
    otherwise: str,
) -> Secret | None:
    """Read an API key from the environment; `None` where no variable is named, or it holds none.

    Args:
        at: the full key that names the variable, for messages.
        variable: its name.
        environ: where it is looked up.
        problems: gets one sentence where what stands there is no name, or the variable holds no usable key. Neither a
            key nor what may be one is ever in it.
        absent: gets it instead where the variable is not set or holds no usable key, for commands that send nothing.
        otherwise: what taking the line out of the file does, as the end of that sentence.
    """
    if variable is None:
        return None
    wrong = "" if variable in environ else variable_problem(variable)
    if wrong:
        problems.append(f"{at} {wrong}")
        return None
    told, refuses = (problems, "") if absent is None else (absent, ". coldpress serve does not start as it is")
    value = environ.get(variable, "").strip()
    if not value:
        told.append(
            f"{at} names {variable}, which is not set or empty in the environment; "
            f"set it, or take the line out {otherwise}{refuses}"
        )
        return None
    if not (value.isascii() and value.isprintable()):
        told.append(f"{at}: the value of {variable} holds characters that no HTTP header can carry{refuses}")
        return None
    return Secret(variable, value)
