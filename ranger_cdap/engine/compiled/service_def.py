"""Compiled service definition: hierarchies, access types and matching options (ranger-semantics.md §2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ranger_cdap.engine.compiled.java import hash_order
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.json_repair import shown
from ranger_cdap.ranger_model.service_def import PolicyConditionDef, ResourceDef, ServiceDef

Path = tuple[str, ...]
"""Resource names from the root down."""

_DENY_OPTION = "enableDenyAndExceptionsInPolicies"
_FLAGS = ("wildCard", "ignoreCase", "quotedCaseSensitive", "replaceTokens", "replaceReqExpressions")
_TEXTS = (
    "quoteChars",
    "tokenDelimiterStart",
    "tokenDelimiterEnd",
    "tokenDelimiterEscape",
    "tokenDelimiterPrefix",
    "pathSeparatorChar",
)


class LevelKind(Enum):
    """Matcher of a level, by its Java class; any other class is the default one (§2.1)."""

    DEFAULT = "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher"
    PATH = "org.apache.ranger.plugin.resourcematcher.RangerPathResourceMatcher"
    URL = "org.apache.ranger.plugin.resourcematcher.RangerURLResourceMatcher"


_KINDS = {kind.value: kind for kind in LevelKind}


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """Matching options of one level (§5.1).

    `special` are the characters at which the look-up cuts a value (§20). The separator and whether it is recursive
    count for paths and URLs only; resources of security zones are recursive where the level supports it (§13).
    """

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
    kind: LevelKind = LevelKind.DEFAULT
    separator: str = "/"
    recursive: bool = False
    special: str = "*?{}\\$"
    zones_recursive: bool = False


@dataclass(frozen=True, slots=True)
class ServiceModel:
    """Compiled service definition.

    `paths` maps each resource name to its path from the root; it is empty if the definition has no valid hierarchy.
    `implied` maps an access type, in lower case, to its implied grants, in the order in which Java applies them.
    """

    name: str
    levels: Mapping[str, LevelOptions]
    paths: Mapping[str, Path]
    access_types: tuple[str, ...]
    any_access_order: tuple[str, ...]
    known_access_types: frozenset[str]
    implied: Mapping[str, tuple[str, ...]]
    conditions: Mapping[str, PolicyConditionDef]
    deny_enabled: bool

    def path_of(self, names: frozenset[str]) -> Path | None:
        """Return the path of exactly these names; None for unknown names, a gap or two branches (§5.4)."""
        for name in names:
            path = self.paths.get(name)
            if path is not None and len(path) == len(names):
                return path if names.issuperset(path) else None
        return None


def compile_service_def(definition: ServiceDef, *, lenient: bool = True) -> ServiceModel:
    """Compile a service definition; `lenient` accepts invalid options, as Ranger does.

    Raises:
        PolicySetError: two resources share a name, a parent does not exist, or parents form a cycle; unless `lenient`,
            also for an invalid option.
    """
    by_name: dict[str, ResourceDef] = {}
    for resource in definition.resources:
        if resource.name in by_name:
            raise PolicySetError(f"service definition `{definition.name}` has two resources named `{resource.name}`")
        by_name[resource.name] = resource
    if not lenient:
        _refuse_unreadable(definition, by_name)
    names = [a.name for a in definition.access_types]
    return ServiceModel(
        name=definition.name,
        levels={name: _level_options(r) for name, r in by_name.items()},
        paths=_paths(definition.name, by_name),
        access_types=tuple(names),
        any_access_order=hash_order(names),
        known_access_types=frozenset(names) | {a.name for a in definition.marker_access_types},
        implied=_implied(definition),
        conditions={c.name: c for c in definition.policy_conditions},
        deny_enabled=_flag(definition.options, _DENY_OPTION, True),
    )


def _refuse_unreadable(definition: ServiceDef, by_name: Mapping[str, ResourceDef]) -> None:
    """Raise PolicySetError for an option that could allow more if misread."""
    holders: list[tuple[str, Mapping[str, Any], Sequence[str], Sequence[str]]] = [
        ("the definition", definition.options, (_DENY_OPTION,), ())
    ]
    holders += [(f"resource `{n}`", r.matcher_options, _FLAGS, _TEXTS) for n, r in by_name.items()]
    for holder, options, flags, texts in holders:
        wrong = [k for k in flags if str(options.get(k, "true")).lower() not in ("true", "false")]
        wrong += [k for k in texts if not isinstance(options.get(k, ""), str)]
        if wrong:
            raise PolicySetError(
                f"service definition `{shown(definition.name)}`: {shown(holder)} has an unreadable option `{wrong[0]}`"
            )


def _paths(service_type: str, by_name: Mapping[str, ResourceDef]) -> dict[str, Path]:
    parents = {r.parent for r in by_name.values()}
    if any(r.is_valid_leaf is False and name not in parents for name, r in by_name.items()):
        return {}  # a leaf that is not a valid one invalidates the whole graph
    paths: dict[str, Path] = {}
    for name in by_name:
        path = [name]
        while parent := by_name[path[-1]].parent:
            if parent not in by_name:
                raise PolicySetError(
                    f"service definition `{shown(service_type)}`: `{shown(path[-1])}` has a parent that does not exist"
                )
            if parent in path:
                raise PolicySetError(f"service definition `{service_type}`: the parents of `{name}` form a cycle")
            path.append(parent)
        paths[name] = tuple(reversed(path))
    return paths


def _implied(definition: ServiceDef) -> dict[str, tuple[str, ...]]:
    grants: dict[str, list[str]] = {}
    for access in (*definition.access_types, *definition.marker_access_types):
        grants.setdefault(access.name, []).extend(access.implied_grants)  # of several with one name, those of all
    return {name: tuple(dict.fromkeys(grants[name])) for name in hash_order(grants) if grants[name]}


def _level_options(resource: ResourceDef) -> LevelOptions:
    options, default = resource.matcher_options, LevelOptions()
    start = _text(options, "tokenDelimiterStart", default.delimiter_start)
    end = _text(options, "tokenDelimiterEnd", default.delimiter_end)
    escape = _text(options, "tokenDelimiterEscape", default.delimiter_escape)
    prefix = _text(options, "tokenDelimiterPrefix", default.delimiter_prefix)
    usable = escape not in (start, end) and not any(c in prefix for c in (start, end, escape))
    kind = _KINDS.get(resource.matcher, LevelKind.DEFAULT)
    wildcards = _flag(options, "wildCard", default.wildcards)
    tokens = _flag(options, "replaceTokens", default.replace_tokens)
    expressions = _flag(options, "replaceReqExpressions", default.replace_expressions)
    quoted = kind is not LevelKind.PATH and _flag(options, "quotedCaseSensitive", default.quoted_case_sensitive)
    return LevelOptions(
        wildcards=wildcards,
        ignore_case=_flag(options, "ignoreCase", default.ignore_case),
        quoted_case_sensitive=quoted,
        quote_chars=str(options.get("quoteChars", default.quote_chars)),
        replace_tokens=tokens and usable,
        delimiter_start=start,
        delimiter_end=end,
        delimiter_escape=escape,
        delimiter_prefix=prefix,
        replace_expressions=expressions,
        kind=kind,
        separator=_text(options, "pathSeparatorChar", default.separator),
        special="*?" * wildcards + (start + end + escape) * tokens + "$" * expressions,
        zones_recursive=resource.recursive_supported,
    )


def _flag(options: Mapping[str, Any], key: str, default: bool) -> bool:
    value = options.get(key)
    return default if value is None else str(value).lower() == "true"


def _text(options: Mapping[str, Any], key: str, default: str) -> str:
    """Return a delimiter of one character: Java uses the first of a longer text."""
    value = options.get(key)
    if value is None or value == "":
        return default
    return str(value) if key == "tokenDelimiterPrefix" else str(value)[0]
