"""The policy engine: an immutable set of policies that decides requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ranger_cdap.engine import wire
from ranger_cdap.engine.acl import ResourceAccess, named, who_can
from ranger_cdap.engine.assembly import Parts, after_deltas, assemble
from ranger_cdap.engine.audit_filter import filtered
from ranger_cdap.engine.conditions import Circumstances
from ranger_cdap.engine.decision import NO_POLICY, Decision, TraceEntry
from ranger_cdap.engine.evaluate import Evaluator, Progress, Tracer, no_trace
from ranger_cdap.engine.items import principals
from ranger_cdap.engine.node import Node, Step
from ranger_cdap.engine.options import EngineOptions, Privileged
from ranger_cdap.engine.policy import CompiledPolicy
from ranger_cdap.engine.principal_sets import PrincipalSets
from ranger_cdap.engine.problem import Problem
from ranger_cdap.engine.query import (
    Query,
    asked_of,
    circumstances_of,
    is_wide,
    requested,
    single_values,
    tokens_of,
)
from ranger_cdap.engine.repository import Policies, is_empty, ordered
from ranger_cdap.engine.request import (
    ADMIN_ACCESS,
    ANY_ACCESS,
    SUPER_USER_ACCESS,
    AccessRequest,
    ElementScope,
    MatchingScope,
)
from ranger_cdap.engine.service_def import Path
from ranger_cdap.engine.tags import RequestedTag
from ranger_cdap.engine.zones import UNZONED

_SUPER_USER_PRIORITY = 2**31 - 1
_SUPER_USER = "superuser"
_FIXED_AUDIT = {"audit-all": True, "audit-none": False}
_MOST_PATHS = 1_000
_RESERVED = frozenset({ANY_ACCESS, SUPER_USER_ACCESS})


class PolicyEngine:
    """Decides requests by one set of policies, exactly as Ranger does (design: same answers as Java)."""

    __slots__ = ("_parts", "_paths", "_principals", "_quick", "_rules", "_timed_tags")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        p = parts
        self._rules = p.compiler.rules
        self._principals = PrincipalSets(p.roles)
        self._paths: dict[tuple[str, ...], Path] = {}
        self._timed_tags = p.tag_repository is not None and p.tag_table.depends_on_time
        special = (
            p.zones or p.tag_repository or p.tag_audit_filters or p.policies.auditMode in ("audit-all", "audit-none")
        )
        anybody = any(getattr(p.privileged, name) for name in Privileged.__slots__)
        self._quick = not (special or anybody or p.options.fallback or p.audit_filters or is_empty(p.default))

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
            PolicySetError: the set belongs to another service, its definition can't be used, tags are missing, or,
                where the engine is to follow Java, a policy can't be used.
        """
        return cls(assemble(policies, service, roles, tags, options))

    def with_deltas(self, document: wire.ServicePolicies) -> PolicyEngine:
        """An engine that decides as one built of the changed policies would; this one stays as it is.

        Raises:
            PolicySetError: the deltas can't be applied; all policies have to be downloaded.
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
    def problems(self) -> tuple[Problem, ...]:
        """What could not be used as it was meant."""
        return self._parts.problems

    def evaluate(self, request: AccessRequest) -> Decision:
        """The decision on one request. Never raises; what can't be judged is not allowed."""
        access = request.access_type or ANY_ACCESS
        if (
            self._quick
            and request.groups_known
            and not request.element_scopes
            and not request.all_access_types
            and not request.all_access_type_groups
        ):
            decision = None
            if access == ANY_ACCESS:
                decision = self._quick_any(request) if request.ignore_descendant_deny else None
            elif access not in _RESERVED and request.matching_scope is MatchingScope.SELF:
                decision = self._quick_decision(request, access)
            if decision is not None:
                return decision
        return self._general_decision(request, access, no_trace)

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

    def _quick_decision(self, request: AccessRequest, access: str) -> Decision | None:
        """The decision by the steps of the resource's node; None where the general way is needed."""
        path = self._path(request.resource)
        if path is None:
            return _NO_MATCH
        values = single_values(request.resource, path)
        if values is None:
            return None
        node = self._parts.default.node(path, values, tokens_of(request))
        if node.conditional:
            return None
        return _first_hit(node, node.steps(access), self._principals.of(request))

    def _quick_any(self, request: AccessRequest) -> Decision | None:
        """Whether anything at all is allowed, here or below; None where more than names and access types has a say."""
        path = self._path(request.resource)
        values = single_values(request.resource, path) if path else None
        if not path or values is None:
            return None
        tokens = tokens_of(request)
        node = self._parts.default.node(path, values, tokens, wide=True)
        if node.conditional or not node.sure:
            return None
        who, accesses = self._principals.of(request), self._parts.model.any_order
        if not node.denies:
            return _first_hit(node, node.any_steps(accesses), who)
        query = Query(request, path, values, tokens, who, frozenset(), accesses, (), True, True, _NOTHING)
        progress = Progress()
        Evaluator(query, self._rules, no_trace).sure_policies(node.policies, node.about(who), progress)
        if node.audit_policy_id is not None:
            progress.audited, progress.audit_policy_id = True, node.audit_policy_id
        return _decision(progress, None, conditional=False)

    def _path(self, resource: Mapping[str, str | tuple[str, ...]]) -> Path | None:
        """The path whose levels the resource has; those that exist are remembered by the order they were given in."""
        names = tuple(resource)
        path = self._paths.get(names)
        if path is None:
            path = self._parts.model.path_of(frozenset(names)) if names else ()
            if path is not None and len(self._paths) < _MOST_PATHS:
                self._paths[names] = path
        return path

    def _general_decision(
        self, request: AccessRequest, access: str, trace: Tracer, assume: bool | None = None
    ) -> Decision:
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
            # "any access anywhere" may also be some inside a zone (6.2)
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
        """The client's address; a forwarded one only from proxies that are believed (4.2)."""
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
            rules = parts.tag_compiler.rules
            parts.tag_repository.evaluate(
                tags,
                zone if zone is not None and zone in parts.tag_zones else UNZONED,
                Evaluator(query, rules, trace),
                Evaluator(query, rules, trace, certain=False),
                progress,
            )
        repository = parts.default if not zone else parts.zones[zone]
        if not is_empty(repository):
            evaluator.resource_policies(
                self._candidates(repository, query, request), progress, fallback=parts.options.fallback
            )
        if progress.allowed:
            progress.determined = True
        if parts.audit_filters or parts.tag_audit_filters:
            progress.audited = filtered(progress, query, tags, parts.audit_filters, parts.tag_audit_filters)
        return _decision(progress, zone, conditional=query.conditional or self._timed_tags)

    def _start(self, query: Query) -> Progress:
        """Where a decision begins: audit mode, people who are never audited, super users (6.3)."""
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


def _first_hit(node: Node, steps: tuple[Step, ...], who: frozenset[str]) -> Decision:
    audited = node.audit_policy_id is not None
    audit_policy_id = NO_POLICY if node.audit_policy_id is None else node.audit_policy_id
    for names, excepted, allowed, policy, reason in steps:
        if not names.isdisjoint(who) and excepted.isdisjoint(who):
            return Decision(allowed, True, policy.id, policy.version, policy.priority, audited, audit_policy_id, reason)
    return Decision(False, True, audited=audited, audit_policy_id=audit_policy_id)


def _decision(progress: Progress, zone: str | None, *, conditional: bool) -> Decision:
    policy = progress.policy
    return Decision(
        allowed=progress.allowed,
        determined=progress.determined,
        policy_id=policy.id if policy else NO_POLICY,
        policy_version=policy.version if policy else NO_POLICY,
        policy_priority=progress.priority,
        audited=progress.audited,
        audit_policy_id=progress.audit_policy_id,
        reason=progress.reason,
        zone=zone,
        conditional=conditional,
    )


_NO_MATCH = Decision(False, True)
_NOTHING = Circumstances()
