"""A service definition made ready: hierarchies, access types and how each level matches (ranger-semantics.md §2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranger_cdap.engine.compiled.java import hash_order
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.problem import shown
from ranger_cdap.errors import PolicySetError

Path = tuple[str, ...]
"""Resource names from the root downwards."""

_PATH_MATCHERS = ("RangerPathResourceMatcher", "RangerURLResourceMatcher")

_DENY_OPTION = "enableDenyAndExceptionsInPolicies"
_FLAGS = ("wildCard", "ignoreCase", "quotedCaseSensitive", "replaceTokens", "replaceReqExpressions")
_TEXTS = ("quoteChars", "tokenDelimiterStart", "tokenDelimiterEnd", "tokenDelimiterEscape", "tokenDelimiterPrefix")


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """How the values of one level are read (§5.1)."""

    wildcards: bool = True
    ignore_case: bool = True
    quoted_case_sensitive: bool = False
    quote_chars: str = '"'
    replace_tokens: bool = True
    delimiter_start: str = "{"
    delimiter_end: str = "}"
    delimiter_escape: str = "\\"
    delimiter_prefix: str = ""
    replace_expressions: bool = True


@dataclass(frozen=True, slots=True)
class ServiceModel:
    """What the engine needs of a service definition.

    `paths` maps each resource name to its path from the root; it is empty where the definition allows no hierarchy.
    `implied` maps an access type, lower case, to what it implies, in the order in which Java applies it.
    """

    name: str
    levels: Mapping[str, LevelOptions]
    paths: Mapping[str, Path]
    ranks: Mapping[str, int]
    access_types: tuple[str, ...]
    any_order: tuple[str, ...]
    known_accesses: frozenset[str]
    implied: Mapping[str, tuple[str, ...]]
    conditions: Mapping[str, wire.PolicyConditionDef]
    deny_enabled: bool

    def path_of(self, names: frozenset[str]) -> Path | None:
        """The path whose levels are exactly these names, or None: unknown names, a gap or two branches (§5.4)."""
        for name in names:
            path = self.paths.get(name)
            if path is not None and len(path) == len(names):
                return path if names.issuperset(path) else None
        return None


def compile_service_def(definition: wire.ServiceDef, *, lenient: bool = True) -> ServiceModel:
    """The definition, ready for use; `lenient` reads options as Ranger does, whatever they are.

    Raises:
        PolicySetError: two resources share a name, a parent does not exist, parents form a circle, or a level needs a
            matcher we lack; unless `lenient`, also for an option that is none.
    """
    by_name: dict[str, wire.ResourceDef] = {}
    for resource in definition.resources:
        if resource.name in by_name:
            raise PolicySetError(f"service definition `{definition.name}` has two resources named `{resource.name}`")
        if resource.matcher.rpartition(".")[2] in _PATH_MATCHERS:
            raise PolicySetError(
                f"service definition `{definition.name}`: resource `{resource.name}` needs the matcher "
                f"`{resource.matcher}`, which this engine does not have"
            )
        by_name[resource.name] = resource
    if not lenient:
        _refuse_unreadable(definition, by_name)
    names = [a.name for a in definition.accessTypes]
    return ServiceModel(
        name=definition.name,
        levels={name: _level_options(r) for name, r in by_name.items()},
        paths=_paths(definition.name, by_name),
        ranks={name: r.level for name, r in by_name.items()},
        access_types=tuple(names),
        any_order=hash_order(names),
        known_accesses=frozenset(names) | {a.name for a in definition.markerAccessTypes},
        implied=_implied(definition),
        conditions={c.name: c for c in definition.policyConditions},
        deny_enabled=_flag(definition.options, _DENY_OPTION, True),
    )


def _refuse_unreadable(definition: wire.ServiceDef, by_name: Mapping[str, wire.ResourceDef]) -> None:
    """Raises PolicySetError where another reading than the one meant could allow more."""
    holders: list[tuple[str, Mapping[str, Any], Sequence[str], Sequence[str]]] = [
        ("the definition", definition.options, (_DENY_OPTION,), ())
    ]
    holders += [(f"resource `{n}`", r.matcherOptions, _FLAGS, _TEXTS) for n, r in by_name.items()]
    for holder, options, flags, texts in holders:
        wrong = [k for k in flags if str(options.get(k, "true")).lower() not in ("true", "false")]
        wrong += [k for k in texts if not isinstance(options.get(k, ""), str)]
        if wrong:
            raise PolicySetError(
                f"service definition `{shown(definition.name)}`: {shown(holder)} has an unreadable option `{wrong[0]}`"
            )


def _paths(service_type: str, by_name: Mapping[str, wire.ResourceDef]) -> dict[str, Path]:
    parents = {r.parent for r in by_name.values()}
    if any(r.isValidLeaf is False and name not in parents for name, r in by_name.items()):
        return {}  # a leaf that may not be one makes the whole graph invalid
    paths: dict[str, Path] = {}
    for name in by_name:
        path = [name]
        while parent := by_name[path[-1]].parent:
            if parent not in by_name:
                raise PolicySetError(
                    f"service definition `{shown(service_type)}`: `{shown(path[-1])}` has a parent that does not exist"
                )
            if parent in path:
                raise PolicySetError(f"service definition `{service_type}`: the parents of `{name}` form a circle")
            path.append(parent)
        paths[name] = tuple(reversed(path))
    return paths


def _implied(definition: wire.ServiceDef) -> dict[str, tuple[str, ...]]:
    grants = {a.name: a.impliedGrants for a in (*definition.accessTypes, *definition.markerAccessTypes)}
    return {name: tuple(grants[name]) for name in hash_order(grants) if grants[name]}


def _level_options(resource: wire.ResourceDef) -> LevelOptions:
    options = resource.matcherOptions
    start = _text(options, "tokenDelimiterStart", "{")
    end = _text(options, "tokenDelimiterEnd", "}")
    escape = _text(options, "tokenDelimiterEscape", "\\")
    prefix = _text(options, "tokenDelimiterPrefix", "")
    usable = escape not in (start, end) and not any(c in prefix for c in (start, end, escape))
    return LevelOptions(
        wildcards=_flag(options, "wildCard", True),
        ignore_case=_flag(options, "ignoreCase", True),
        quoted_case_sensitive=_flag(options, "quotedCaseSensitive", False),
        quote_chars=str(options.get("quoteChars", '"')),
        replace_tokens=_flag(options, "replaceTokens", True) and usable,
        delimiter_start=start,
        delimiter_end=end,
        delimiter_escape=escape,
        delimiter_prefix=prefix,
        replace_expressions=_flag(options, "replaceReqExpressions", True),
    )


def _flag(options: Mapping[str, Any], key: str, default: bool) -> bool:
    value = options.get(key)
    return default if value is None else str(value).lower() == "true"


def _text(options: Mapping[str, Any], key: str, default: str) -> str:
    """A delimiter is one character; Java takes the first of a longer text."""
    value = options.get(key)
    if value is None or value == "":
        return default
    return str(value) if key == "tokenDelimiterPrefix" else str(value)[0]
