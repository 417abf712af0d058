"""Read the settings once: find the file, check it, lay it over the defaults, and give one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from coldpress.config.budget_keys import budget_problems, budget_warnings, build_budgets, raw_log_warnings
from coldpress.config.files import find_file, parse_file, xdg
from coldpress.config.keys import (
    EXPECTED_APPLICATIONS,
    DefaultProviderKeys,
    FileKeys,
    ProviderKeys,
    StoreKeys,
)
from coldpress.config.limit_keys import LimitKeys
from coldpress.config.masked import shown
from coldpress.config.notes_keys import notes_problems
from coldpress.config.read import nearest, read_table
from coldpress.config.reference import (
    PlacedRule,
    is_reference,
    reference_expected_applications,
    reference_rules,
)
from coldpress.config.resolve_failover import failover_problems, limit_warnings
from coldpress.config.resolve_offload import build_offload
from coldpress.config.resolve_plugins import build_plugins
from coldpress.config.resolve_providers import SecretsNeed, build_providers, is_loopback
from coldpress.config.resolve_summariser import build_summariser
from coldpress.config.rules import build_rules
from coldpress.config.settings import Provider, Settings
from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule, with_source_age
from coldpress.model.errors import ConfigError
from coldpress.model.records import Operation


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says; it goes before the file. `operation` holds for every provider."""

    host: str | None = None
    port: int | None = None
    operation: Operation | None = None
    provider_urls: tuple[tuple[str, str], ...] = ()
    store_path: Path | None = None


def load(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    directory: Path | None = None,
    overrides: Overrides | None = None,
    secrets: SecretsNeed = "required",
) -> Settings:
    """Give the settings in force.

    Args:
        path: the file to read, TOML or (by its name) JSON. `None` looks for `coldpress.toml` in the working directory,
            then under `$XDG_CONFIG_HOME`, and goes on with the defaults where there is none.
        environ: the environment variables; the process's own by default.
        directory: the working directory; the process's own by default.
        overrides: what the command line says.
        secrets: `optional` makes a warning of an API key that the environment does not have, for commands that
            send nothing.

    Raises:
        ConfigError: something in the file is wrong; the message tells everything that is, one line each.
    """
    environ = os.environ if environ is None else environ
    directory = Path.cwd() if directory is None else directory
    file = path or find_file(environ, directory)
    tree = parse_file(file) if file else {}
    return load_tree(tree, file, environ=environ, directory=directory, overrides=overrides, secrets=secrets)


def load_tree(
    tree: object,
    file: Path | None,
    *,
    environ: Mapping[str, str],
    directory: Path,
    overrides: Overrides | None = None,
    secrets: SecretsNeed = "required",
) -> Settings:
    """Give the settings that a parsed file makes; arguments and errors as of `load`."""
    problems: list[str] = []
    root = read_table(FileKeys, tree, problems)
    if root is None:
        raise _wrong(file, problems)
    root = _overlay(root, overrides or Overrides())
    if not _says_store_path(tree, overrides):
        default = xdg(environ, "XDG_DATA_HOME", ".local/share") / "coldpress" / "coldpress.sqlite3"
        root = replace(root, store=replace(root.store, path=default))
    return _resolve(root, file, base=file.parent if file else directory, environ=environ, secrets=secrets)


def _overlay(root: FileKeys, overrides: Overrides) -> FileKeys:
    providers = dict(root.providers)
    for name, url in overrides.provider_urls:
        providers[name] = replace(providers.get(name, ProviderKeys()), url=url)
    if overrides.operation:
        providers = {name: replace(keys, operation=None) for name, keys in providers.items()}
    return replace(
        root,
        host=overrides.host or root.host,
        port=root.port if overrides.port is None else overrides.port,
        operation=overrides.operation or root.operation,
        providers=providers,
        store=replace(root.store, path=overrides.store_path.absolute()) if overrides.store_path else root.store,
    )


def _says_store_path(tree: object, overrides: Overrides | None) -> bool:
    if overrides and overrides.store_path:
        return True
    store = tree.get("store") if isinstance(tree, Mapping) else None
    return isinstance(store, Mapping) and "path" in store


def _resolve(
    root: FileKeys, file: Path | None, *, base: Path, environ: Mapping[str, str], secrets: SecretsNeed
) -> Settings:
    placed = tuple(PlacedRule(f"rules[{index}]", rule) for index, rule in enumerate(root.rules))
    built = build_rules((*placed, *reference_rules(root.plugins)))
    upstreams = build_providers(root.providers, operation=root.operation, environ=environ, secrets=secrets)
    summariser = build_summariser(root.summariser, environ=environ, secrets=secrets, price_table=root.prices)
    plugins = build_plugins(root.plugins)
    offload = build_offload(
        root.offload, upstreams.providers, environ=environ, secrets=secrets, price_table=root.prices
    )
    problems = [
        *built.problems,
        *plugins.problems,
        *upstreams.problems,
        *summariser.problems,
        *offload.problems,
        *failover_problems(root.providers, upstreams.providers),
        *_root_problems(root, upstreams.providers),
    ]
    if problems:
        raise _wrong(file, problems)
    own_rules = not is_reference(root) if root.default_policy is None else root.default_policy
    return Settings(
        host=root.host,
        port=root.port,
        control_port=root.control_port,
        operation=root.operation,
        press_subscription=root.press_subscription,
        default_provider=root.default_provider,
        store=_store(root.store, base, environ),
        limits=root.limits,
        providers=upstreams.providers,
        policy=Policy((*built.rules, *_own_rules(root.source_age)) if own_rules else built.rules),
        default_policy=own_rules,
        source_age=root.source_age,
        allow_thinking_loss=root.allow_thinking_loss,
        expected_applications=_expected_applications(root),
        prices=root.prices,
        summariser=summariser.settings,
        offload=offload.settings,
        notes=root.notes,
        plugins=plugins.settings,
        budgets=build_budgets(root.budget, root.budgets),
        require_raw_log=root.budget.require_raw_log,
        file=file,
        warnings=(
            *built.warnings,
            *upstreams.warnings,
            *summariser.warnings,
            *offload.warnings,
            *plugins.warnings,
            *limit_warnings(root.limits, upstreams.providers),
            *_root_warnings(root),
        ),
    )


def _root_problems(root: FileKeys, providers: tuple[Provider, ...]) -> list[str]:
    return [
        *_host_problems(root),
        *_default_provider_problems(root.default_provider, providers),
        *_bound_problems(root.limits),
        *notes_problems(root.notes),
        *budget_problems(root.budget, root.budgets),
    ]


def _root_warnings(root: FileKeys) -> list[str]:
    return [
        *_default_policy_warnings(root),
        *_means_warnings(root),
        *budget_warnings(root.budget, root.budgets),
        *raw_log_warnings(root.budget, raw_log=root.store.raw_log),
    ]


def _expected_applications(root: FileKeys) -> float:
    """What the file says, else what the reference experiment's plugins say, else our own constant."""
    said = (root.expected_applications, reference_expected_applications(root.plugins))
    return next((expected for expected in said if expected is not None), EXPECTED_APPLICATIONS)


def _own_rules(source_age: int | None) -> tuple[Rule, ...]:
    return (DEFAULT_POLICY if source_age is None else with_source_age(DEFAULT_POLICY, source_age)).rules


def _store(keys: StoreKeys, base: Path, environ: Mapping[str, str]) -> StoreKeys:
    path = keys.path
    home = environ.get("HOME")
    if path.parts and path.parts[0] == "~" and home:
        path = Path(home, *path.parts[1:])
    return replace(keys, path=base.absolute() / path.expanduser())


def _host_problems(root: FileKeys) -> list[str]:
    if root.allow_remote or is_loopback(root.host):
        return []
    return [
        f"host is {shown(root.host)}, which other machines can reach; use 127.0.0.1, or say allow_remote = true "
        "if everyone who can connect may use this gateway"
    ]


def _default_provider_problems(keys: DefaultProviderKeys, providers: tuple[Provider, ...]) -> list[str]:
    names = [provider.name for provider in providers]
    told: list[str] = []
    for key, name in (("anthropic", keys.anthropic), ("openai", keys.openai), ("gemini", keys.gemini)):
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean {near}?" if near else f"providers are {', '.join(names)}"
            told.append(f"default_provider.{key} is {shown(name)}, which is no provider; {hint}")
    return told


def _bound_problems(limits: LimitKeys) -> list[str]:
    told: list[str] = []
    if limits.expanded_body_bytes < limits.body_bytes:
        told.append(
            f"limits.expanded_body_bytes is {limits.expanded_body_bytes}, less than limits.body_bytes "
            f"({limits.body_bytes}); a body that is not compressed would never fit"
        )
    if limits.in_flight_bytes < limits.body_bytes:
        told.append(
            f"limits.in_flight_bytes is {limits.in_flight_bytes}, less than limits.body_bytes ({limits.body_bytes}); "
            "the largest body allowed would always be refused"
        )
    return told


def _default_policy_warnings(root: FileKeys) -> list[str]:
    if root.default_policy is None and is_reference(root):
        return [
            "default_policy is off, since the rules stand in plugins.config as in the reference experiment: every tool "
            "that none of them matches stays exact; say default_policy = true to add coldpress's own rules"
        ]
    return []


def _means_warnings(root: FileKeys) -> list[str]:
    """Name what asks for something that nothing in the file does."""
    placed = (*(PlacedRule(f"rules[{i}]", rule) for i, rule in enumerate(root.rules)), *reference_rules(root.plugins))
    told = [
        f'{rule.at} (match "{rule.keys.match}"): mode model has nobody to ask, since offload.enabled is false; the '
        "results it matches stay as its other modes leave them"
        for rule in placed
        if "model" in rule.keys.mode and not root.offload.enabled
    ]
    intent = root.plugins.config.intent
    asks = "intent" in root.plugins.order and (intent is None or intent.mode == "capture")
    if asks and not any({"keyword", "model"}.intersection(rule.keys.mode) for rule in placed):
        told.append(
            "plugins.order: intent asks the model for the reason of every call, and no rule has the mode keyword or "
            "model, which would use it; it costs tokens and saves none"
        )
    return told


def _wrong(file: Path | None, problems: list[str]) -> ConfigError:
    source = str(file) if file else "settings"
    return ConfigError("\n".join(f"{source}: {problem}" for problem in problems))
