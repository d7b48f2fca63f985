"""The policy engine: an immutable set of policies that decides requests."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from ranger_cdap.engine.assembly import Parts, after_deltas, assemble
from ranger_cdap.engine.compiled.items import ItemRules, principals
from ranger_cdap.engine.compiled.options import EngineOptions, Privileged
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.service_def import Path
from ranger_cdap.engine.decide.acl import ResourceAccess, named, who_can
from ranger_cdap.engine.decide.audit_filter import filtered
from ranger_cdap.engine.decide.evaluate import Evaluator, Progress, Tracer, no_trace
from ranger_cdap.engine.decide.lanes import QuickLanes
from ranger_cdap.engine.decide.query import (
    Query,
    asked_of,
    circumstances_of,
    is_wide,
    requested,
    tokens_of,
    too_long,
)
from ranger_cdap.engine.decide.quick import QuickDecider
from ranger_cdap.engine.decide.tags import RequestedTag
from ranger_cdap.engine.lookup.repository import Policies, is_empty, ordered
from ranger_cdap.engine.lookup.zones import UNZONED
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.decision import Decision, TraceEntry
from ranger_cdap.engine.model.problem import Problem, ProblemCode
from ranger_cdap.engine.model.request import (
    ADMIN_ACCESS,
    ANY_ACCESS,
    SUPER_USER_ACCESS,
    AccessRequest,
    ElementScope,
    MatchingScope,
)

_SUPER_USER_PRIORITY = 2**31 - 1
_SUPER_USER = "superuser"
_FIXED_AUDIT = {"audit-all": True, "audit-none": False}


class PolicyEngine:
    """Decides requests by one set of policies, as Ranger does (ranger-semantics.md, compatibility.md)."""

    __slots__ = ("_costly", "_parts", "_quick", "_rules", "_timed_tags")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        p = parts
        self._rules = p.compiler.rules
        self._costly = any(problem.code is ProblemCode.COSTLY_RESOURCE for problem in p.problems)
        self._timed_tags = p.tag_repository is not None and p.tag_table.depends_on_time
        special = self._timed_tags or p.tag_audit_filters or p.policies.auditMode in ("audit-all", "audit-none")
        anybody = any(getattr(p.privileged, name) for name in Privileged.__slots__)
        special = special or anybody or p.options.fallback or p.audit_filters or is_empty(p.default)
        self._quick: QuickDecider | QuickLanes | None = None
        if not special and not p.zones and p.tag_repository is None:
            self._quick = QuickDecider(p.default, p.model, p.roles, self._rules)
        elif not special and not p.tag_table.depends_on_asker:
            self._quick = _quick_lanes(p, self._rules)

    @classmethod
    def build(
        cls,
        policies: wire.ServicePolicies,
        *,
        service: str | None = None,
        roles: wire.RangerRoles | None = None,
        tags: wire.ServiceTags | None = None,
        options: EngineOptions = EngineOptions(),  # noqa: B008 - immutable
    ) -> PolicyEngine:
        """An engine of a full download.

        Raises:
            PolicySetError: the set belongs to another service, its definition cannot be used, tags are missing, or,
                where the engine is to follow Java, a policy cannot be used.
        """
        with _nothing_collected():
            return cls(assemble(policies, service, roles, tags, options))

    def with_deltas(self, document: wire.ServicePolicies) -> PolicyEngine:
        """An engine that decides as one built of the changed policies would; this one stays as it is.

        Raises:
            PolicySetError: the deltas cannot be applied; all policies have to be downloaded.
        """
        return PolicyEngine(after_deltas(self._parts, document))

    @property
    def service_name(self) -> str:
        """The service whose policies these are."""
        return self._parts.policies.serviceName

    @property
    def policy_version(self) -> int:
        """The version of the set of policies, -1 where it has none."""
        return self._parts.policies.policyVersion

    @property
    def service_def(self) -> wire.ServiceDef:
        """The service definition the policies were written for."""
        definition = self._parts.policies.serviceDef
        assert definition is not None  # `build` refuses a set without one
        return definition

    @property
    def may_be_costly(self) -> bool:
        """Whether some policy takes many steps to match with long values."""
        return self._costly

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be used as it was meant."""
        return self._parts.problems

    def evaluate(self, request: AccessRequest) -> Decision:
        """The decision on one request. Never raises; what cannot be judged is not allowed."""
        quick = self._quick
        if quick is not None:
            decision = quick.decide(request)
            if decision is not None:
                return decision
        return self._general_decision(request, request.access_type or ANY_ACCESS, no_trace)

    def evaluate_many(self, requests: Iterable[AccessRequest]) -> list[Decision]:
        """The decisions on many requests, in their order, all by this one set of policies."""
        return [self.evaluate(request) for request in requests]

    def explain(self, request: AccessRequest) -> Decision:
        """The same decision with a trace: policy by policy, why it did or did not apply."""
        trace: list[TraceEntry] = []

        def note(policy: CompiledPolicy, outcome: str, reason: str) -> None:
            trace.append(TraceEntry(policy.id, policy.name, outcome, reason))

        decision = self._general_decision(request, request.access_type or ANY_ACCESS, note)
        return wire.replaced(decision, trace=tuple(trace))

    def who_can(
        self,
        resource: Mapping[str, str | tuple[str, ...]],
        *,
        matching_scope: MatchingScope = MatchingScope.SELF,
        owner: str | None = None,
    ) -> ResourceAccess:
        """Who can do what on a resource: everybody, and the users, groups and roles its policies name.

        A policy whose resource holds `{USER}` counts for the users that are named by some policy or by the resource.
        """
        parts = self._parts
        base = AccessRequest(resource, "", matching_scope=matching_scope, owner=owner)
        query, tags = self._query(base, ADMIN_ACCESS)
        policies: list[CompiledPolicy] = []
        if query.path is not None:
            for repository in (parts.default, *parts.zones.values()):
                policies += ordered(repository.found(query.path, query.values, query.tokens, wide=query.wide))
        if parts.tag_repository is not None:
            policies += (policy for tag in tags for policy in parts.tag_repository.of(tag.type))
        names = named(policies, parts.privileged, parts.roles)
        perhaps = {v for v in query.values if isinstance(v, str)} | ({owner} if owner else set())

        def decide(
            user: str | None, groups: frozenset[str], roles: frozenset[str] | None, access: str, assume: bool
        ) -> Decision:
            request = wire.replaced(base, user=user, groups=groups, roles=roles, access_type=access)
            return self._general_decision(request, access, no_trace, assume)

        return who_can(names, perhaps, (*parts.model.access_types, ADMIN_ACCESS), decide)

    def _general_decision(
        self, request: AccessRequest, access: str, trace: Tracer, assume: bool | None = None
    ) -> Decision:
        if invalid := too_long(request):
            return Decision(False, True, audited=True, reason=invalid)
        query, tags = self._query(request, access)
        query.assume = assume
        zones: tuple[str | None, ...] = self._parts.zone_table.of(query.path, query.values)
        if not zones or (len(zones) > 1 and not query.is_any):
            zones = (None,)
        decision = self._zone_decision(zones[0], query, tags, trace)
        for zone in zones[1:]:
            if decision.allowed:
                return decision
            decision = self._zone_decision(zone, query, tags, trace)
        if query.is_any and query.path == () and not decision.allowed:
            # "any access anywhere" may also be some inside a zone (§6.2)
            inside = (self._zone_decision(zone, query, tags, trace) for zone in self._parts.zones)
            return next((found for found in inside if found.allowed), decision)
        return decision

    def _query(self, request: AccessRequest, access: str) -> tuple[Query, tuple[RequestedTag, ...]]:
        parts = self._parts
        path, values = requested(request.resource, parts.model)
        roles = parts.roles.of(request.user, request.groups) if request.roles is None else request.roles
        asked, groups = asked_of(request, access, parts.model)
        wide = is_wide(request, access)
        tags: tuple[RequestedTag, ...] = ()
        if parts.tag_repository is not None or request.tags:
            where = path or (path if access == ANY_ACCESS else None)  # the tags of everything are for `_any` only
            tags = parts.tag_table.of(
                where, values, tokens_of(request), request.tags, wide=wide, time=request.access_time
            )
        query = Query(
            request=request,
            path=path,
            values=values,
            tokens=tokens_of(request),
            who=principals(request.user, request.groups, roles, request.owner),
            roles=roles,
            asked=asked,
            groups=groups,
            is_any=access == ANY_ACCESS,
            wide=wide,
            circumstances=circumstances_of(
                request,
                self._client_ip(request),
                roles,
                frozenset(t.type for t in tags),
                frozenset(t.type for t in tags if t.certain),
            ),
        )
        return query, tags

    def _client_ip(self, request: AccessRequest) -> str | None:
        """The client's address; a forwarded one only from proxies that are believed (§4.2)."""
        if request.client_ip is not None:
            return request.client_ip
        options = self._parts.options
        believed = not options.trusted_proxies or request.remote_ip in options.trusted_proxies
        if options.use_forwarded_for and request.forwarded and believed:
            return request.forwarded[0]
        return request.remote_ip

    def _zone_decision(self, zone: str | None, query: Query, tags: tuple[RequestedTag, ...], trace: Tracer) -> Decision:
        parts = self._parts
        request = query.request
        progress = self._start(query)
        evaluator = Evaluator(query, self._rules, trace)
        if parts.tag_repository is not None and parts.tag_compiler is not None and tags:
            of_tags = Evaluator(query, parts.tag_compiler.rules, trace)
            tag_zone = zone if zone is not None and zone in parts.tag_zones else UNZONED
            parts.tag_repository.evaluate(tags, tag_zone, of_tags, progress)
        repository = parts.default if not zone else parts.zones[zone]
        if not is_empty(repository):
            evaluator.resource_policies(
                self._candidates(repository, query, request), progress, fallback=parts.options.fallback
            )
        if progress.allowed:
            progress.determined = True
        if parts.audit_filters or parts.tag_audit_filters:
            progress.audited = filtered(progress, query, tags, parts.audit_filters, parts.tag_audit_filters)
        return progress.decision(zone, conditional=query.conditional or self._timed_tags)

    def _start(self, query: Query) -> Progress:
        """Where a decision begins: audit mode, people who are never audited, super users (§6.3)."""
        parts = self._parts
        request = query.request
        progress = Progress()
        mode = parts.policies.auditMode
        if mode in _FIXED_AUDIT:
            progress.audited, progress.audit_determined = _FIXED_AUDIT[mode], True
        elif is_empty(parts.default) and parts.tag_repository is None:
            progress.audited = progress.audit_determined = True
        if parts.privileged.is_unaudited(request.user, request.groups, query.roles):
            progress.audited, progress.audit_determined = False, True
        is_super = parts.privileged.is_super(request.user, request.groups)
        if is_super or request.access_type == SUPER_USER_ACCESS:
            progress.allowed, progress.determined = is_super, True
            progress.priority, progress.reason = _SUPER_USER_PRIORITY, _SUPER_USER
        return progress

    def _candidates(self, repository: Policies, query: Query, request: AccessRequest) -> tuple[CompiledPolicy, ...]:
        if query.path is None:
            return ()
        scopes = request.element_scopes
        scoped = [
            level
            for level, name in enumerate(query.path)
            if scopes and scopes.get(name, ElementScope.SELF) is not ElementScope.SELF
        ]
        upto = scoped[0] if scoped else None
        if upto is None and all(isinstance(value, str) for value in query.values):
            single = cast("tuple[str, ...]", query.values)
            return repository.node(query.path, single, query.tokens, wide=query.wide).policies
        return ordered(repository.found(query.path, query.values, query.tokens, wide=query.wide, upto=upto))


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Loading makes much and drops little: to look for garbage in between takes as long as the loading itself."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _quick_lanes(parts: Parts, rules: ItemRules) -> QuickLanes:
    """Quick deciders for the zones, for resources that lie in one zone or none and carry no tag."""
    repositories: list[tuple[str | None, Policies]] = [(None, parts.default), *parts.zones.items()]
    deciders = {
        zone: QuickDecider(repository, parts.model, parts.roles, rules, zone)
        for zone, repository in repositories
        if not is_empty(repository)
    }

    def lane(path: Path, values: tuple[str, ...], wide: bool) -> QuickDecider | None:
        zones = parts.zone_table.of(path, values)
        if len(zones) > 1:
            return None
        if parts.tag_repository is not None and parts.tag_table.of(path, values, {}, (), wide=wide, time=0):
            return None
        return deciders.get(zones[0] if zones else None)

    return QuickLanes(lane, parts.model)
