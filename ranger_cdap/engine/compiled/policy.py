"""A policy made ready to decide, and what becomes of one that cannot be (ranger-semantics.md §1.2, §6.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.ancestor import EVERYWHERE, doubts_of_resource, smallest_readable_ancestor
from ranger_cdap.engine.compiled.conditions import Circumstances, Condition, ConditionMaker, Outcome
from ranger_cdap.engine.compiled.items import EVERYBODY, Item, ItemRules
from ranger_cdap.engine.compiled.order import SortKey, sort_key
from ranger_cdap.engine.compiled.resource_match import Known, ResourceMatcher, compile_resource
from ranger_cdap.engine.compiled.schedule import Schedule, compile_schedule
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.decision import NO_POLICY
from ranger_cdap.engine.model.problem import Doubt, ProblemCode, Unusable
from ranger_cdap.errors import PolicySetError

ABOVE_ALL_PRIORITIES = 2**31
"""No policy that can be read has this priority, so nothing outvotes a denial of it, not even for `_any`."""

_DENY_KEYS = ("denyPolicyItems", "isDenyAllElse")
_EVERYTHING = Item(frozenset({EVERYBODY}), frozenset(), True, True, ())


@dataclass(frozen=True, slots=True, eq=False)
class CompiledPolicy:
    """A policy ready to decide. `broad` ones, unreadable below some level, hold for all that is under it as well.

    `zone` is the zone its author put it into, None where that cannot be read.
    """

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
    zone: str | None = ""
    names: frozenset[str] = field(init=False)
    """Everybody some item is about."""

    def __post_init__(self) -> None:
        items = (*self.deny, *self.deny_exceptions, *self.allow, *self.allow_exceptions)
        object.__setattr__(self, "names", frozenset().union(*(item.who for item in items)))

    def is_about(self, who: frozenset[str]) -> bool:
        """Whether it may say anything of somebody who is all of these."""
        return self.deny_all_else or not self.names.isdisjoint(who)

    @property
    def conditional(self) -> bool:
        """Whether anything but the principals and the access type has a say."""
        items = (*self.deny, *self.deny_exceptions, *self.allow, *self.allow_exceptions)
        return bool(self.conditions) or any(item.conditions for item in items)


@dataclass(frozen=True, slots=True)
class PolicyCompiler:
    """Compiles the policies of one service; what cannot be compiled never allows more."""

    model: ServiceModel
    cautious: bool
    added: Mapping[str, ConditionMaker] = field(default_factory=dict)

    @property
    def rules(self) -> ItemRules:
        """How items are read."""
        return ItemRules(self.model, self.cautious, self.added)

    def decode(self, raw: msgspec.Raw) -> wire.Policy:
        """The policy as it came. Raises Unusable where a part of it cannot be read."""
        return wire.decode_policy(raw, lenient=not self.cautious)

    def compile(self, policy: wire.Policy, matchers: tuple[ResourceMatcher, ...]) -> CompiledPolicy:
        """The policy ready to decide. Raises PolicySetError where a part of it cannot be understood."""
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
        """The policy's resources, without those that fit no hierarchy. Raises Unusable where one cannot be used."""
        maps = (policy.resources, *policy.additionalResources)
        known = known or Known()
        if not all(map(known.is_usual, maps)):
            doubts = [d for place, resources in self._places(policy) for d in self._fatal(place, resources)]
            if doubts:
                raise Unusable(doubts)
        return tuple(m for r in maps if (m := compile_resource(r, self.model, known)) is not None)

    def lost_resources(self, policy: wire.Policy) -> list[Doubt]:
        """Why resources of a usable policy match nothing, as Ranger has it."""
        doubts = (d for place, r in self._places(policy) for d in doubts_of_resource(r, self.model, place))
        return [d for d in doubts if d.code is not ProblemCode.VALUE_TOO_LONG]

    def _places(self, policy: wire.Policy) -> list[tuple[str, Mapping[str, wire.PolicyResource]]]:
        more = ((f"additionalResources[{n}]", r) for n, r in enumerate(policy.additionalResources))
        return [("resources", policy.resources), *more]

    def _fatal(self, place: str, resources: Mapping[str, wire.PolicyResource]) -> list[Doubt]:
        """What cannot be matched at all; Ranger only stumbles over expressions."""
        doubts = doubts_of_resource(resources, self.model, place)
        return [d for d in doubts if self.cautious or d.code is ProblemCode.RESOURCE_EXPRESSION]

    def _validity(self, policy: wire.Policy) -> tuple[Condition, ...]:
        schedules: list[Schedule] = []
        doubts: list[Doubt] = []
        for n, schedule in enumerate(policy.validitySchedules):
            try:
                schedules.append(compile_schedule(schedule, lenient=not self.cautious))
            except PolicySetError as e:
                doubts.append(Doubt(ProblemCode.UNREADABLE_SCHEDULE, f"validitySchedules[{n}]", str(e)))
        if doubts:
            raise Unusable(doubts)
        return (_valid_by(tuple(schedules)),) if schedules else ()

    def substitute(self, raw: Any, reason: str) -> CompiledPolicy | None:
        """What stands for a policy that cannot be used: None, or with a deny side one that denies everybody.

        It covers the policy's resource as far as that can be read, and all below where a level cannot be.
        """
        known: Mapping[str, Any] | None = raw if isinstance(raw, dict) else None
        if known is not None and not self._has_deny_side(known):
            return None
        matchers, broad = ([EVERYWHERE], True) if known is None else self._readable_resources(known)
        zone = "" if known is not None and known.get("zoneName") is None else (known or {}).get("zoneName")
        known = known or {}
        priority = _number(known.get("policyPriority") or 0, ABOVE_ALL_PRIORITIES)
        name = known.get("name")
        return denying(
            matchers,
            reason,
            id=_number(known.get("id"), NO_POLICY),
            version=_number(known.get("version"), NO_POLICY),
            name=name if isinstance(name, str) else "",
            priority=min(priority, ABOVE_ALL_PRIORITIES),
            zone=zone if isinstance(zone, str) else None,
            broad=broad,
        )

    def exhausted(self, policy: CompiledPolicy) -> CompiledPolicy | None:
        """What stands for a policy where its resource takes too many steps to match: as `substitute`.

        It covers whatever the dearest levels may cover.
        """
        if not (policy.deny or policy.deny_all_else):
            return None
        return denying(
            [matcher.without_dearest(len(policy.resources)) for matcher in policy.resources],
            f"its resource takes more than {cost.MOST_STEPS} steps to match",
            id=policy.id,
            version=policy.version,
            name=policy.name,
            priority=policy.priority,
            zone=policy.zone,
            broad=False,
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
            levels = _items(resources)
            readable = {n: r for n, v in levels if (r := wire.convert_resource(v)) is not None}
            whole = isinstance(resources, dict) and len(readable) == len(levels)
            if whole and not any(doubts_of_resource(readable, self.model, "")):
                matcher = compile_resource(readable, self.model)
                found += [matcher] if matcher else []
            else:
                found.append(smallest_readable_ancestor(readable, self.model))
                broad = True
        return found, broad


def denying(
    matchers: Iterable[ResourceMatcher],
    reason: str,
    *,
    id: int = NO_POLICY,
    version: int = NO_POLICY,
    name: str = "",
    priority: int = ABOVE_ALL_PRIORITIES,
    zone: str | None = None,
    broad: bool = True,
) -> CompiledPolicy:
    """A policy that denies everybody everything on its resources, because something there cannot be read."""
    return CompiledPolicy(
        id=id,
        version=version,
        name=name,
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
        zone=zone,
    )


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
