"""Check which provider stands in for which, and warn of limits that cannot be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from coldpress.config.builtin_providers import BUILTIN_PROVIDERS
from coldpress.config.keys import ProviderKeys
from coldpress.config.limit_keys import LimitKeys
from coldpress.config.masked import shown
from coldpress.config.read import nearest
from coldpress.config.resolve_providers import is_loopback
from coldpress.config.settings import Provider


def failover_problems(given: Mapping[str, ProviderKeys], providers: Sequence[Provider]) -> list[str]:
    """Say what is wrong with `failover` and `failover_model`, one sentence each.

    Args:
        given: the providers of the file.
        providers: all of them, as resolved.
    """
    by_name = {provider.name: provider for provider in providers}
    told: list[str] = []
    for name, keys in given.items():
        at = f"providers.{name}.failover"
        if keys.failover is None:
            if keys.failover_model is not None:
                told.append(f"{at}_model stands without {at}; name the provider that is asked for it")
            continue
        other = by_name.get(keys.failover)
        if other is None:
            near = nearest(keys.failover, by_name)
            hint = f"did you mean {near}?" if near else f"providers are {', '.join(by_name)}"
            told.append(f"{at} is {shown(keys.failover)}, which is no provider; {hint}")
            continue
        if other.name != name:  # itself is a circle, of which `_circles` tells
            told += [f"{at} is {other.name}, {wrong}" for wrong in _wrong(by_name[name], other, given)]
    return told + _circles(by_name)


def limit_warnings(limits: LimitKeys, providers: Sequence[Provider]) -> list[str]:
    """Say where a limit is not kept, or keeps everything out."""
    unread = [provider.name for provider in providers if provider.operation == "off"]
    told: list[str] = []
    if limits.daily_usd is None:
        return told
    if unread:
        what = "are refused" if limits.unpriced == "refuse" else "are of unknown cost and not in the sum"
        names = "every provider" if len(unread) == len(providers) else ", ".join(unread)
        told.append(
            f"limits.daily_usd is set, and requests to {names} are relayed unread (operation = off), so they {what}; "
            'say operation = "observe", which changes no byte either'
        )
    if limits.unpriced == "allow":
        told.append(
            f'limits.daily_usd is {limits.daily_usd:g} and limits.unpriced is "allow": what nobody can price is not in '
            "the sum, so more may be spent than that; /stats counts those requests as limits.spend.unpriced"
        )
    return told


def _wrong(provider: Provider, other: Provider, given: Mapping[str, ProviderKeys]) -> list[str]:
    """Say why one provider cannot stand in for another, each as the end of a sentence that names it."""
    told: list[str] = []
    keys = given.get(other.name, ProviderKeys())
    if keys.api_key_env is None and not is_loopback(urlsplit(other.url).hostname or ""):
        told.append(
            f"which has no key of its own, and the client's key is for {provider.name}: "
            f"name one in providers.{other.name}.api_key_env"
        )
    if not set(provider.formats) & set(other.formats):
        ours, theirs = ", ".join(provider.formats), ", ".join(other.formats)
        told.append(f"which speaks {theirs} and not {ours}; name one of the same wire format")
    if other.operation != provider.operation:
        told.append(
            f"whose operation is {other.operation} and not {provider.operation}: requests are decided on before it "
            "is asked; give both the same"
        )
    versions = {row.name: row.version for row in BUILTIN_PROVIDERS if given.get(row.name, ProviderKeys()).url is None}
    begins, wanted = versions.get(other.name, "/v1"), versions.get(provider.name, "/v1")
    if begins != wanted:
        told.append(f"whose paths begin with {begins} and not with {wanted}, as those of {provider.name} do")
    return told


def _circles(by_name: Mapping[str, Provider]) -> list[str]:
    """Name each circle once, by the first provider on it."""
    told: list[str] = []
    seen: set[str] = set()
    for name in by_name:
        path: list[str] = []
        at: str | None = name
        while at is not None and at in by_name and at not in path and at not in seen:
            path.append(at)
            at = by_name[at].failover
        if at in path:
            circle = [*path[path.index(at) :], at]
            told.append(f"providers.{at}.failover goes in a circle ({' -> '.join(circle)}); take one of them out")
        seen.update(path)
    return told
