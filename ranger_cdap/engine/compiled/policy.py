"""Compiled policies, and substitutes for unusable ones (ranger-semantics.md §1.2, §6.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.conditions import (
    Condition,
    ConditionContext,
    ConditionFactory,
    ConditionOutcome,
    CustomCondition,
)
from ranger_cdap.engine.compiled.items import ALL_USERS, Item, ItemCompiler
from ranger_cdap.engine.compiled.order import SortKey, sort_key
from ranger_cdap.engine.compiled.resource_match import (
    COMMON_OPTIONS,
    PolicyResourceMatcher,
    ResourceCache,
    compile_resource,
    deepest_valid_ancestor,
    found_together,
    resource_issues,
)
from ranger_cdap.engine.compiled.schedule import Schedule, compile_schedule
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.model.decision import NO_POLICY
from ranger_cdap.engine.model.problem import PolicyIssue, ProblemCode, Unusable
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import UnreadablePolicy, convert_resource, decode_policy
from ranger_cdap.ranger_model.json_repair import as_boolean
from ranger_cdap.ranger_model.policy import Policy, PolicyResource

ABOVE_ALL_PRIORITIES = 2**31
"""Higher than any readable priority, so no policy overrides a denial with it, not even for `_any`."""

_DENY_KEYS = ("denyPolicyItems", "isDenyAllElse")
_EVERYTHING = Item(frozenset({ALL_USERS}), frozenset(), True, True, ())


class CompiledPolicy(msgspec.Struct, frozen=True, eq=False, kw_only=True, gc=False):
    """Compiled policy. With `covers_subtree`, a level of its resource is unreadable, and it covers everything below.

    `zone` is the zone it was created in, None if unreadable.
    """

    id: int
    version: int
    name: str
    priority: int
    audited: bool
    resources: tuple[PolicyResourceMatcher, ...]
    deny: tuple[Item, ...]
    deny_exceptions: tuple[Item, ...]
    allow: tuple[Item, ...]
    allow_exceptions: tuple[Item, ...]
    deny_all_else: bool
    has_deny: bool
    conditions: tuple[Condition, ...]
    order: SortKey | tuple[PolicyCompiler, msgspec.Raw]
    """Sort key, or that from which it is computed: most policies are never compared with another."""
    substitute_reason: str = ""
    covers_subtree: bool = False
    zone: str | None
    principals: frozenset[str] = frozenset()
    """Principals of all items; computed, as is the next field."""
    conditional: bool = False
    """True if the result depends on more than principals and access type."""

    def __post_init__(self) -> None:
        items = (*self.deny, *self.deny_exceptions, *self.allow, *self.allow_exceptions)
        found = items[0].principals if len(items) == 1 else frozenset().union(*[item.principals for item in items])
        msgspec.structs.force_setattr(self, "principals", found)
        for item in items:
            if item.conditions:
                msgspec.structs.force_setattr(self, "conditional", True)
        if self.conditions:
            msgspec.structs.force_setattr(self, "conditional", True)

    @property
    def sort_key(self) -> SortKey:
        """Key of the order of evaluation."""
        if len(self.order) == 2:
            compiler, raw = self.order
            msgspec.structs.force_setattr(self, "order", compiler.sort_key(raw, self.resources))
        return self.order  # type: ignore[return-value]

    def may_apply_to(self, principals: frozenset[str]) -> bool:
        """Return True if the policy may apply to a principal set."""
        return self.deny_all_else or not self.principals.isdisjoint(principals)

    @property
    def reads_resource(self) -> bool:
        """Return True if a custom condition of the policy may look at the requested resource."""
        items = (*self.deny, *self.deny_exceptions, *self.allow, *self.allow_exceptions)
        found = (*self.conditions, *(condition for item in items for condition in item.conditions))
        return any(isinstance(one, CustomCondition) and one.reads_resource for one in found)

    @property
    def condition_steps(self) -> int:
        """Return the steps that its custom conditions may take, each evaluated once."""
        items = (*self.deny, *self.deny_exceptions, *self.allow, *self.allow_exceptions)
        found = (*self.conditions, *(condition for item in items for condition in item.conditions))
        return sum(one.max_steps for one in found if isinstance(one, CustomCondition))

    @property
    def has_items(self) -> bool:
        """Return True if the policy can allow or deny something."""
        return bool(self.deny_all_else or self.deny or self.deny_exceptions or self.allow or self.allow_exceptions)


@dataclass(frozen=True, slots=True)
class PolicyCompiler:
    """Compiler of the policies of one service; what cannot be compiled never allows more."""

    model: ServiceModel
    fail_closed: bool
    custom: Mapping[str, ConditionFactory]
    item_compiler: ItemCompiler = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "item_compiler", ItemCompiler(self.model, self.fail_closed, self.custom))

    def decode(self, raw: msgspec.Raw) -> Policy:
        """Decode a policy. Raises Unusable if a part of it is unreadable."""
        try:
            return decode_policy(raw, lenient=not self.fail_closed)
        except UnreadablePolicy as e:
            issues = [PolicyIssue(ProblemCode.UNREADABLE_POLICY, place, message) for place, message in e.parts]
            raise Unusable(issues) from None

    def compile(
        self,
        policy: Policy,
        matchers: tuple[PolicyResourceMatcher, ...],
        raw: msgspec.Raw | None = None,
    ) -> CompiledPolicy:
        """Compile a policy; its sort key is computed from `raw` when it is needed, without it now.

        Raises:
            PolicySetError: a part of the policy is unreadable.
        """
        item_compiler = self.item_compiler
        denies = policy.is_deny_all_else or bool(policy.deny_policy_items)
        enabled = self.model.deny_enabled
        conditions = item_compiler.conditions(policy.conditions)
        return CompiledPolicy(
            id=NO_POLICY if policy.id is None else policy.id,
            version=NO_POLICY if policy.version is None else policy.version,
            name=policy.name,
            priority=policy.policy_priority,
            audited=policy.is_audit_enabled,
            resources=matchers,
            deny=item_compiler.compile(policy.deny_policy_items, restricts=True) if enabled else (),
            deny_exceptions=item_compiler.compile(policy.deny_exceptions, restricts=False) if enabled else (),
            allow=item_compiler.compile(policy.policy_items, restricts=False),
            allow_exceptions=item_compiler.compile(policy.allow_exceptions, restricts=True) if enabled else (),
            deny_all_else=policy.is_deny_all_else,
            has_deny=denies,
            conditions=(*self._validity(policy), *conditions) if policy.validity_schedules else conditions,
            order=sort_key(policy, matchers, self.model) if raw is None else (self, raw),
            zone=policy.zone_name,
        )

    def sort_key(self, raw: msgspec.Raw, matchers: tuple[PolicyResourceMatcher, ...]) -> SortKey:
        """Return the sort key of a policy that was compiled before."""
        return sort_key(self.decode(raw), matchers, self.model)

    def resources(self, policy: Policy, cache: ResourceCache | None = None) -> tuple[PolicyResourceMatcher, ...]:
        """Compile the policy's resources, except those that fit no hierarchy. Raises Unusable if one is unusable."""
        # The sync job's policies list their entity again, which changes no decision.
        more = [one for one in policy.additional_resources if one != policy.resources]
        if cache is not None and not more:
            known = cache.compiled(policy.resources)
            if known is not None:
                return (known,)
        issues = [
            d for place, resources in self._located_resources(policy) for d in self._fatal_issues(place, resources)
        ]
        if issues:
            raise Unusable(issues)
        compiled = (compile_resource(one, self.model) for one in (policy.resources, *more))
        return found_together(tuple([matcher for matcher in compiled if matcher is not None]))

    def ineffective_resources(self, policy: Policy) -> list[PolicyIssue]:
        """Return why resources of a usable policy match nothing, as in Ranger."""
        issues = (d for place, r in self._located_resources(policy) for d in resource_issues(r, self.model, place))
        return [d for d in issues if d.code is not ProblemCode.VALUE_TOO_LONG]

    def _located_resources(self, policy: Policy) -> list[tuple[str, Mapping[str, PolicyResource]]]:
        more = ((f"additionalResources[{n}]", r) for n, r in enumerate(policy.additional_resources))
        return [("resources", policy.resources), *more]

    def _fatal_issues(self, place: str, resources: Mapping[str, PolicyResource]) -> list[PolicyIssue]:
        """Return the issues that make a resource unusable; for Ranger only expressions."""
        issues = resource_issues(resources, self.model, place)
        return [d for d in issues if self.fail_closed or d.code is ProblemCode.RESOURCE_EXPRESSION]

    def _validity(self, policy: Policy) -> tuple[Condition, ...]:
        schedules: list[Schedule] = []
        issues: list[PolicyIssue] = []
        for n, schedule in enumerate(policy.validity_schedules):
            try:
                schedules.append(compile_schedule(schedule, lenient=not self.fail_closed))
            except PolicySetError as e:
                issues.append(PolicyIssue(ProblemCode.UNREADABLE_SCHEDULE, f"validitySchedules[{n}]", str(e)))
        if issues:
            raise Unusable(issues)
        return (_validity_condition(tuple(schedules)),) if schedules else ()

    def substitute(self, raw: Any, reason: str) -> CompiledPolicy | None:
        """Return the substitute of an unusable policy: None, or one that denies all users if the policy can deny.

        It covers the policy's resource as far as readable, and everything below an unreadable level.
        """
        known: Mapping[str, Any] | None = raw if isinstance(raw, dict) else None
        if known is not None and not self._has_deny_side(known):
            return None
        matchers, covers_subtree = ([COMMON_OPTIONS], True) if known is None else self._readable_resources(known)
        zone = "" if known is not None and known.get("zoneName") is None else (known or {}).get("zoneName")
        known = known or {}
        priority = _number(0 if known.get("policyPriority") is None else known["policyPriority"], ABOVE_ALL_PRIORITIES)
        name = known.get("name")
        return deny_all_policy(
            matchers,
            reason,
            id=_number(known.get("id"), NO_POLICY),
            version=_number(known.get("version"), NO_POLICY),
            name=name if isinstance(name, str) else "",
            priority=priority if -(2**31) <= priority < 2**31 else ABOVE_ALL_PRIORITIES,
            zone=zone if isinstance(zone, str) else None,
            covers_subtree=covers_subtree,
        )

    def costly_substitute(self, policy: CompiledPolicy) -> CompiledPolicy | None:
        """Return the substitute of a policy that takes too many steps to match, as `substitute` does.

        It covers every value at the most expensive levels.
        """
        if not (policy.deny or policy.deny_all_else):
            return None
        return deny_all_policy(
            [matcher.without_most_costly(len(policy.resources)) for matcher in policy.resources],
            f"its resource takes more than {cost.MAX_STEPS} steps to match",
            id=policy.id,
            version=policy.version,
            name=policy.name,
            priority=policy.priority,
            zone=policy.zone,
            covers_subtree=False,
        )

    def _has_deny_side(self, raw: Mapping[str, Any]) -> bool:
        items, all_else = (raw.get(key) for key in _DENY_KEYS)
        if all_else is not None and as_boolean(all_else) is not False:
            return True
        return self.model.deny_enabled and items is not None and items != []

    def _readable_resources(self, raw: Mapping[str, Any]) -> tuple[list[PolicyResourceMatcher], bool]:
        additional = raw.get("additionalResources")
        maps = [raw.get("resources")]
        maps += additional if isinstance(additional, list) else [] if additional is None else [None]
        found = []
        covers_subtree = False
        for resources in maps:
            levels = _items(resources)
            readable = {n: r for n, v in levels if (r := convert_resource(v)) is not None}
            whole = isinstance(resources, dict) and len(readable) == len(levels)
            if whole and not any(resource_issues(readable, self.model, "")):
                matcher = compile_resource(readable, self.model)
                found += [matcher] if matcher else []
            else:
                found.append(deepest_valid_ancestor(readable, self.model))
                covers_subtree = True
        return found, covers_subtree


def deny_all_policy(
    matchers: Iterable[PolicyResourceMatcher],
    reason: str,
    *,
    id: int = NO_POLICY,
    version: int = NO_POLICY,
    name: str = "",
    priority: int = ABOVE_ALL_PRIORITIES,
    zone: str | None = None,
    covers_subtree: bool = True,
) -> CompiledPolicy:
    """Return a policy that denies all access to its resources because a part of the download is unreadable."""
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
        order=(-priority, False, 0, b""),
        substitute_reason=reason,
        covers_subtree=covers_subtree,
        zone=zone,
    )


def _validity_condition(schedules: tuple[Schedule, ...]) -> Condition:
    def valid(c: ConditionContext) -> ConditionOutcome:
        if not c.access_time:
            return ConditionOutcome.UNKNOWN_HOLDS
        return ConditionOutcome.HOLDS if any(s.applies(c.access_time) for s in schedules) else ConditionOutcome.FAILS

    return valid


def _items(resources: Any) -> list[tuple[str, Any]]:
    return list(resources.items()) if isinstance(resources, dict) else []


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
