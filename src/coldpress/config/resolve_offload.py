"""Check `[offload]` and make of it what the caller of the cheaper model needs: an address, a format, a key, prices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from coldpress.config.builtin_providers import BUILTIN_PROVIDERS
from coldpress.config.masked import shown
from coldpress.config.offload_keys import OffloadKeys
from coldpress.config.offload_settings import OffloadSettings
from coldpress.config.proxy import proxy_for
from coldpress.config.read import nearest
from coldpress.config.resolve_providers import SecretsNeed, is_loopback, read_secret
from coldpress.config.resolve_summariser import endpoint
from coldpress.config.secret import Secret
from coldpress.config.settings import Provider
from coldpress.measure.price_tables import PriceTableName
from coldpress.wire.registry import FormatName

_AT: Final = "offload"
_PATH: Final = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*")
_KINDS: Final[dict[FormatName, Literal["openai", "anthropic"]]] = {"openai_chat": "openai", "anthropic": "anthropic"}
_CALLS: Final[tuple[tuple[str, FormatName], ...]] = (("/messages", "anthropic"), ("/chat/completions", "openai_chat"))

_THINKS_UNASKED: Final = ("deepseek", "deepseek-anthropic")
_THINKS_UNASKED_HOST: Final = "api.deepseek.com"
"""Thinking is on by default there, counts as output, and would leave no room for the summary; `thinking.type` switches
it off in both formats (api-docs.deepseek.com/guides/thinking_mode, 30 November 2026)."""


@dataclass(frozen=True, slots=True)
class BuiltOffload:
    """The settings of the cheaper model, with what had to be said about them."""

    settings: OffloadSettings
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def build_offload(
    keys: OffloadKeys,
    providers: tuple[Provider, ...],
    *,
    environ: Mapping[str, str],
    secrets: SecretsNeed,
    price_table: PriceTableName | None,
) -> BuiltOffload:
    """Resolve the table. One that is not enabled asks for nothing, so nothing in it is looked at.

    Args:
        keys: the table of the file.
        providers: all there are, built-in ones too.
        environ: where `api_key_env` is looked up.
        secrets: whether an absent variable is an error or, for commands that send nothing, a warning.
        price_table: the table that takes the place of the built-in prices.
    """
    if not keys.enabled:
        return BuiltOffload(OffloadSettings())
    problems: list[str] = []
    warnings: list[str] = []
    provider = _provider(keys, providers, problems)
    if keys.model is None or not keys.model.strip():
        problems.append(f"{_AT}.model is missing; {_AT}.enabled asks a model, so name it")
    if keys.path is not None and not _PATH.fullmatch(keys.path):
        problems.append(f"{_AT}.path is {shown(keys.path)}; it must begin with / and end before any ? or #")
    if provider is None or problems:
        return BuiltOffload(OffloadSettings(), tuple(problems))
    speaks = _format(keys, provider)
    url = _address(keys, provider, speaks)
    key = _key(keys, provider, environ, problems, None if secrets == "required" else warnings)
    host = urlsplit(url).hostname or ""
    needs_key = keys.api_key_env is not None or not is_loopback(host)
    if key is None and keys.api_key_env is None and needs_key:
        warnings.append(
            f"{_AT} is on and has no API key, so every summary is declined (no_key): name the variable that holds it "
            f"in {_AT}.api_key_env or providers.{provider.name}.api_key_env; a client's key is not used for this"
        )
    settings = OffloadSettings(
        enabled=True,
        provider=provider.name,
        model=keys.model or "",
        format=speaks,
        endpoint=url,
        api_key=key,
        needs_key=needs_key,
        switches_thinking_off=_thinking_off(keys, provider, host),
        timeout_seconds=keys.timeout_seconds,
        max_tokens=keys.max_tokens,
        max_input_bytes=keys.max_input_bytes,
        concurrency=keys.concurrency,
        rpm=keys.rpm,
        retries=keys.retries,
        rest_seconds=keys.rest_seconds,
        pricing=provider.pricing,
        price_table=price_table,
        proxy=None if problems else proxy_for(url, environ),
    )
    return BuiltOffload(settings, tuple(problems), tuple(warnings))


def _provider(keys: OffloadKeys, providers: tuple[Provider, ...], problems: list[str]) -> Provider | None:
    names = [provider.name for provider in providers]
    if keys.provider is None:
        problems.append(f"{_AT}.provider is missing; {_AT}.enabled asks a model, so name who serves it")
        return None
    found = next((provider for provider in providers if provider.name == keys.provider), None)
    if found is None:
        near = nearest(keys.provider, names)
        hint = f"did you mean {near}?" if near else f"providers are {', '.join(names)}"
        problems.append(f"{_AT}.provider is {shown(keys.provider)}, which is no provider; {hint}")
    return found


def _format(keys: OffloadKeys, provider: Provider) -> FormatName:
    """Choose what is spoken: what the path says, else the provider's one format, else its maker's own."""
    for call, name in _CALLS:
        if keys.path is not None and keys.path.rstrip("/").endswith(call) and name in provider.formats:
            return name
    if len(provider.formats) == 1:
        return provider.formats[0]
    return "anthropic" if provider.name == "anthropic" else "openai_chat"


def _address(keys: OffloadKeys, provider: Provider, speaks: FormatName) -> str:
    if keys.path is not None:
        return f"{provider.url.rstrip('/')}{keys.path}"
    row = next((row for row in BUILTIN_PROVIDERS if row.name == provider.name and row.url == provider.url), None)
    return endpoint(provider.url, _KINDS[speaks], version=row.version if row is not None else "/v1")


def _key(
    keys: OffloadKeys,
    provider: Provider,
    environ: Mapping[str, str],
    problems: list[str],
    absent: list[str] | None,
) -> Secret | None:
    if keys.api_key_env is None:
        return provider.api_key
    at = f"{_AT}.api_key_env"
    return read_secret(at, keys.api_key_env, environ, problems, absent, otherwise="so that the provider's key is used")


def _thinking_off(keys: OffloadKeys, provider: Provider, host: str) -> bool:
    if keys.thinking is not None:
        return not keys.thinking
    return provider.name in _THINKS_UNASKED or host == _THINKS_UNASKED_HOST
