"""A policy made ready to decide, and what becomes of one that can't be (policy-engine.md, 1.2 and 6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ranger_cdap.engine import wire
from ranger_cdap.engine.conditions import Circumstances, Condition, Outcome
from ranger_cdap.engine.decision import NO_POLICY
from ranger_cdap.engine.items import EVERYBODY, Item, ItemRules
from ranger_cdap.engine.matcher import compile_element, has_expression
from ranger_cdap.engine.order import SortKey, sort_key
from ranger_cdap.engine.resource_match import Known, ResourceMatcher, compile_resource
from ranger_cdap.engine.schedule import Schedule, compile_schedules
from ranger_cdap.engine.service_def import ServiceModel
from ranger_cdap.errors import PolicySetError

_HIGHEST_PRIORITY = 2**31 - 1
_DENY_KEYS = ("denyPolicyItems", "isDenyAllElse")
_EVERYTHING = Item(frozenset({EVERYBODY}), frozenset(), True, True, ())


@dataclass(frozen=True, slots=True, eq=False)
class CompiledPolicy:
    """A policy ready to decide. `broad` ones, unreadable below some level, hold for all that is under it as well."""

    id: int
    version: int
    name: str
    priority: int
    audited: bool
    resources: tuple[ResourceMatcher, ...]
    deny: tuple[Item, ...]
    deny_exceptions: tuple[Item, ...]
    allow: tuple[Item, ...]
    allow_exceptions: tuple[Item, ...]
    deny_all_else: bool
    has_deny: bool
    conditions: tuple[Condition, ...]
    sort_key: SortKey
    broken: str = ""
    broad: bool = False
    zone: str = ""

    @property
    def conditional(self) -> bool:
        """Whether anything but the principals and the access type has a say."""
        items = (*self.deny, *self.deny_exceptions, *self.allow, *self.allow_exceptions)
        return bool(self.conditions) or any(item.conditions for item in items)


@dataclass(frozen=True, slots=True)
class PolicyCompiler:
    """Compiles the policies of one service; what can't be compiled never allows more."""

    model: ServiceModel
    cautious: bool

    @property
    def rules(self) -> ItemRules:
        """How items are read."""
        return ItemRules(self.model, self.cautious)

    def compile(self, policy: wire.Policy, matchers: tuple[ResourceMatcher, ...]) -> CompiledPolicy:
        """The policy ready to decide. Raises PolicySetError where a part of it can't be understood."""
        rules = self.rules
        denies = policy.isDenyAllElse or bool(policy.denyPolicyItems)
        enabled = self.model.deny_enabled
        return CompiledPolicy(
            id=NO_POLICY if policy.id is None else policy.id,
            version=NO_POLICY if policy.version is None else policy.version,
            name=policy.name,
            priority=policy.policyPriority,
            audited=policy.isAuditEnabled,
            resources=matchers,
            deny=rules.compile(policy.denyPolicyItems, restricts=True) if enabled else (),
            deny_exceptions=rules.compile(policy.denyExceptions, restricts=False) if enabled else (),
            allow=rules.compile(policy.policyItems, restricts=False),
            allow_exceptions=rules.compile(policy.allowExceptions, restricts=True) if enabled else (),
            deny_all_else=policy.isDenyAllElse,
            has_deny=denies,
            conditions=(*self._validity(policy), *rules.conditions(policy.conditions)),
            sort_key=sort_key(policy, matchers, self.model),
            zone=policy.zoneName or "",
        )

    def resources(self, policy: wire.Policy, known: Known | None = None) -> tuple[ResourceMatcher, ...]:
        """The policy's resources, without those that fit no hierarchy; PolicySetError where one can't be understood."""
        matchers = []
        for resources in (policy.resources, *policy.additionalResources):
            for name, resource in resources.items():
                if self.cautious and name not in self.model.levels:
                    raise PolicySetError(f"the service definition has no resource `{name}`")
                if name in self.model.levels and has_expression(resource.values, self.model.levels[name]):
                    raise PolicySetError(f"a value of `{name}` holds an expression that only JavaScript can evaluate")
            matcher = compile_resource(resources, self.model, known)
            if matcher is not None:
                matchers.append(matcher)
        return tuple(matchers)

    def _validity(self, policy: wire.Policy) -> tuple[Condition, ...]:
        if not policy.validitySchedules:
            return ()
        schedules = compile_schedules(policy.validitySchedules, lenient=not self.cautious)
        return (_valid_by(schedules),)

    def substitute(self, raw: Any, reason: str) -> CompiledPolicy | None:
        """What stands for a policy that can't be used: None, or with a deny side one that denies everybody.

        It covers the policy's resource as far as that can be read, and all below where a level can't be.
        """
        known = raw if isinstance(raw, dict) else None
        if known is not None and not self._has_deny_side(known):
            return None
        matchers, broad = self._readable_resources(known or {}) if known is not None else ([_ROOT], True)
        priority = _number((known or {}).get("policyPriority", 0), _HIGHEST_PRIORITY)
        name = (known or {}).get("name")
        return CompiledPolicy(
            id=_number((known or {}).get("id"), NO_POLICY),
            version=_number((known or {}).get("version"), NO_POLICY),
            name=name if isinstance(name, str) else "",
            priority=priority,
            audited=True,
            resources=tuple(matchers),
            deny=(_EVERYTHING,),
            deny_exceptions=(),
            allow=(),
            allow_exceptions=(),
            deny_all_else=False,
            has_deny=True,
            conditions=(),
            sort_key=(-priority, False, 0, b""),
            broken=reason,
            broad=broad,
        )

    def _has_deny_side(self, raw: Mapping[str, Any]) -> bool:
        items, all_else = (raw.get(key) for key in _DENY_KEYS)
        if all_else not in (None, False, "false"):
            return True
        return self.model.deny_enabled and items is not None and items != []

    def _readable_resources(self, raw: Mapping[str, Any]) -> tuple[list[ResourceMatcher], bool]:
        additional = raw.get("additionalResources")
        maps = [raw.get("resources")]
        maps += additional if isinstance(additional, list) else [] if additional is None else [None]
        found = []
        broad = False
        for resources in maps:
            readable = {n: r for n, v in _items(resources) if (r := self._readable_level(n, v)) is not None}
            if isinstance(resources, dict) and len(readable) == len(resources):
                matcher = compile_resource(readable, self.model)
                found += [matcher] if matcher else []
            else:
                found.append(self._smallest_readable_ancestor(readable))
                broad = True
        return found, broad

    def _readable_level(self, name: str, value: Any) -> wire.PolicyResource | None:
        if name not in self.model.levels:
            return None
        try:
            resource = wire.convert_leniently(value, wire.PolicyResource)
        except PolicySetError:
            return None
        return None if has_expression(resource.values, self.model.levels[name]) else resource

    def _smallest_readable_ancestor(self, readable: Mapping[str, wire.PolicyResource]) -> ResourceMatcher:
        paths = [p for n in readable if (p := self.model.paths.get(n)) and readable.keys() >= set(p)]
        longest = max(map(len, paths), default=0)
        deepest = [p for p in paths if len(p) == longest]
        shared = next((n for n in range(longest, 0, -1) if len({p[:n] for p in deepest}) == 1), 0)
        path = deepest[0][:shared] if deepest else ()
        elements = tuple(
            compile_element(readable[n].values, readable[n].isExcludes, self.model.levels[n]) for n in path
        )
        specific = [i for i, e in enumerate(elements) if not e.match_any]
        return ResourceMatcher(path, elements, specific[-1] if specific else -1)


_ROOT = ResourceMatcher((), (), -1)


def decode_raw(raw: msgspec.Raw) -> Any:
    """Whatever JSON the policy is, or None where it is not even that."""
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return None


def _valid_by(schedules: tuple[Schedule, ...]) -> Condition:
    def valid(c: Circumstances) -> Outcome:
        if not c.access_time:
            return Outcome.UNKNOWN_HOLDS
        return Outcome.HOLDS if any(s.applies(c.access_time) for s in schedules) else Outcome.FAILS

    return valid


def _items(resources: Any) -> list[tuple[str, Any]]:
    return list(resources.items()) if isinstance(resources, dict) else []


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
