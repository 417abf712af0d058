"""Check `[summariser]` and make of it what the caller of a model needs: an address, a key, prices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from coldpress.config.builtin_providers import BUILTIN_PROVIDERS
from coldpress.config.proxy import proxy_for
from coldpress.config.resolve_prices import build_prices
from coldpress.config.resolve_providers import SecretsNeed, is_loopback, parse_url, read_secret
from coldpress.config.summariser_keys import SummariserKeys
from coldpress.config.summariser_settings import SummariserSettings
from coldpress.measure.price_tables import PriceTableName

_AT: Final = "summariser"
_CALL: Final[dict[Literal["openai", "anthropic"], str]] = {"openai": "/chat/completions", "anthropic": "/messages"}
_ENDS_IN_VERSION: Final = re.compile(r"/(?:v[0-9]+[a-z0-9]*|beta)")
"""`/beta` is the version of DeepSeek's newest features."""


@dataclass(frozen=True, slots=True)
class BuiltSummariser:
    """The summariser's settings, with what had to be said about them."""

    settings: SummariserSettings
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def build_summariser(
    keys: SummariserKeys, *, environ: Mapping[str, str], secrets: SecretsNeed, price_table: PriceTableName | None
) -> BuiltSummariser:
    """Resolve the summariser.

    Args:
        keys: the table of the file.
        environ: where `api_key_env` is looked up.
        secrets: whether an absent variable is an error or, for commands that send nothing, a warning.
        price_table: the table that takes the place of the built-in prices.
    """
    problems: list[str] = []
    warnings: list[str] = []
    pricing = build_prices(keys.pricing, _AT, problems)
    match keys.kind:
        case "structural":
            warnings += _unused(keys)
            return BuiltSummariser(SummariserSettings(), tuple(problems), tuple(warnings))
        case "openai" | "anthropic" as kind:
            if keys.model is None:
                problems.append(f'{_AT}.model is missing; kind = "{kind}" asks a model, so name it')
            url = _url(kind, keys, problems, warnings)
        case _:
            assert_never(keys.kind)
    settings = SummariserSettings(
        kind=kind,
        endpoint=endpoint(url, kind),
        model=keys.model or "",
        needs_key=keys.api_key_env is not None,
        api_key=read_secret(
            f"{_AT}.api_key_env",
            keys.api_key_env,
            environ,
            problems,
            None if secrets == "required" else warnings,
            otherwise="so that no key is sent",
        ),
        prefix=keys.prefix,
        timeout_seconds=keys.timeout_seconds,
        attempts=keys.attempts,
        rest_seconds=keys.rest_seconds,
        max_output_tokens=keys.max_output_tokens,
        most_input_tokens=keys.most_input_tokens,
        max_usd_per_call=keys.max_usd_per_call,
        pricing=pricing,
        price_table=price_table,
        proxy=None if problems else proxy_for(endpoint(url, kind), environ),
    )
    return BuiltSummariser(settings, tuple(problems), tuple(warnings))


def endpoint(url: str, kind: Literal["openai", "anthropic"], *, version: str = "/v1") -> str:
    """Complete an address to that of the call; `version` stands in between where the address ends in none.

    >>> endpoint("https://llm.example.com", "anthropic")
    'https://llm.example.com/v1/messages'
    >>> endpoint("https://llm.example.com/api/paas/v4/", "openai")
    'https://llm.example.com/api/paas/v4/chat/completions'
    >>> endpoint("https://llm.example.com/beta", "openai")
    'https://llm.example.com/beta/chat/completions'
    """
    bare, call = url.rstrip("/"), _CALL[kind]
    if bare.endswith(call):
        return bare
    between = "" if _ENDS_IN_VERSION.fullmatch(bare[bare.rfind("/") :]) else version
    return f"{bare}{between}{call}"


def _url(kind: Literal["openai", "anthropic"], keys: SummariserKeys, problems: list[str], warnings: list[str]) -> str:
    if keys.url is None:
        return next(row.url for row in BUILTIN_PROVIDERS if row.name == kind)
    wrong, parts = parse_url(keys.url)
    if wrong:
        problems.append(f"{_AT}.url {wrong}")
    elif parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        warnings.append(
            f"{_AT}.url is plain http to another machine: the key and conversations cross the network unencrypted"
        )
    return keys.url


def _unused(keys: SummariserKeys) -> list[str]:
    said = [name for name in ("url", "model", "api_key_env") if getattr(keys, name) is not None]
    if not said:
        return []
    return [f'{_AT}.{", ".join(said)} without kind: no model is asked; say kind = "openai" or "anthropic"']
