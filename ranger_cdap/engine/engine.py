"""The policy engine: an immutable set of policies that decides requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ranger_cdap.engine import wire
from ranger_cdap.engine.audit_filter import CompiledFilter, compile_filters, filtered
from ranger_cdap.engine.decision import NO_POLICY, Decision, TraceEntry
from ranger_cdap.engine.delta import apply_changes, apply_to_list, read_changes
from ranger_cdap.engine.evaluate import Evaluator, Progress, Tracer, no_trace
from ranger_cdap.engine.items import principals
from ranger_cdap.engine.load import Problem, load_policies
from ranger_cdap.engine.options import AUDIT_FILTERS, EngineOptions, Privileged, privileged
from ranger_cdap.engine.policy import CompiledPolicy, PolicyCompiler
from ranger_cdap.engine.query import Query, asked_of, circumstances_of, is_wide, requested, tokens_of
from ranger_cdap.engine.repository import Policies, Repository, is_empty, ordered
from ranger_cdap.engine.request import ANY_ACCESS, SUPER_USER_ACCESS, AccessRequest, ElementScope, MatchingScope
from ranger_cdap.engine.roles import RoleTable
from ranger_cdap.engine.service_def import ServiceModel, compile_service_def
from ranger_cdap.engine.tags import RequestedTag, TagRepository, TagTable, for_component, policy_for_component
from ranger_cdap.engine.zones import UNZONED, ZoneTable
from ranger_cdap.errors import PolicySetError

_SUPER_USER_PRIORITY = 2**31 - 1
_SUPER_USER = "superuser"
_FIXED_AUDIT = {"audit-all": True, "audit-none": False}
_RESERVED = frozenset({ANY_ACCESS, SUPER_USER_ACCESS})


@dataclass(frozen=True, slots=True)
class _Parts:
    """What an engine is made of; a new engine shares with the old one what has not changed."""

    policies: wire.ServicePolicies
    model: ServiceModel
    compiler: PolicyCompiler
    tag_compiler: PolicyCompiler | None
    default: Policies
    zones: Mapping[str, Policies]
    zone_table: ZoneTable
    tag_zones: frozenset[str]
    tag_repository: TagRepository | None
    tag_table: TagTable
    audit_filters: tuple[CompiledFilter, ...]
    tag_audit_filters: tuple[CompiledFilter, ...]
    roles: RoleTable
    privileged: Privileged
    options: EngineOptions
    problems: tuple[Problem, ...]


class PolicyEngine:
    """Decides requests by one set of policies, exactly as Ranger does (design: same answers as Java)."""

    __slots__ = ("_parts", "_quick")

    def __init__(self, parts: _Parts) -> None:
        self._parts = parts
        p = parts
        special = (
            p.zones or p.tag_repository or p.tag_audit_filters or p.policies.auditMode in ("audit-all", "audit-none")
        )
        anybody = any(getattr(p.privileged, name) for name in Privileged.__slots__)
        self._quick = not (special or anybody or p.audit_filters or is_empty(p.default))

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
        if service is not None and policies.serviceName != service:
            raise PolicySetError(f"the policies are those of service `{policies.serviceName}`, not of `{service}`")
        if policies.serviceDef is None:
            raise PolicySetError(f"the policies of service `{policies.serviceName}` come without a service definition")
        model = compile_service_def(policies.serviceDef)
        compiler = PolicyCompiler(model, options.cautious)
        problems: list[Problem] = []
        zones = {
            name: Repository(load_policies(zone.policies, compiler, problems), model)
            for name, zone in policies.securityZones.items()
        }
        default = Repository(load_policies(policies.policies or (), compiler, problems), model)
        if policies.tagPolicies is not None and tags is None and options.cautious:
            raise PolicySetError(
                f"service `{policies.serviceName}` has tag policies, which can't be judged without the service's tags: "
                "download them too"
            )
        tag_repository, tag_compiler = _tag_repository(policies, options, problems)
        return cls(
            _Parts(
                policies=_envelope(policies),
                model=model,
                compiler=compiler,
                tag_compiler=tag_compiler,
                default=default,
                zones=zones,
                zone_table=ZoneTable(policies.securityZones, model),
                tag_zones=_tag_zones(policies),
                tag_repository=tag_repository,
                tag_table=TagTable(tags, model, lenient=not options.cautious),
                audit_filters=compile_filters(policies.serviceConfig.get(AUDIT_FILTERS, ""), model),
                tag_audit_filters=_tag_audit_filters(policies, tag_compiler),
                roles=RoleTable(roles),
                privileged=privileged(options, policies.serviceConfig),
                options=options,
                problems=tuple(problems),
            )
        )

    def with_deltas(self, document: wire.ServicePolicies) -> PolicyEngine:
        """An engine that decides as one built of the changed policies would; this one stays as it is.

        Raises:
            PolicySetError: the deltas can't be applied; all policies have to be downloaded.
        """
        old = self._parts
        problems: list[Problem] = []
        if document.serviceDef is not None and document.serviceDef != old.policies.serviceDef:
            raise PolicySetError("the service definition has changed with the deltas: download all policies")
        if document.serviceName and document.serviceName != self.service_name:
            raise PolicySetError(f"the deltas are those of service `{document.serviceName}`, not `{self.service_name}`")
        if document.policies or document.policyDeltas is None:
            raise PolicySetError("the document holds policies where deltas are expected")
        changes = read_changes(document.policyDeltas)
        own = [c for c in changes if c.service_type in ("", old.model.name)]
        envelope, zones = _with_zones(old, document, problems)
        touched = {c.policy_id for c in changes}
        linked = old.policies.tagPolicies
        if linked is not None and len(own) < len(changes):
            others = [c for c in changes if c.service_type not in ("", old.model.name)]
            linked = wire.replaced(linked, policies=apply_to_list(linked.policies, others))
        envelope = wire.replaced(envelope, policyVersion=document.policyVersion, tagPolicies=linked)
        tag_repository, tag_compiler = old.tag_repository, old.tag_compiler
        if linked is not old.policies.tagPolicies:
            tag_repository, tag_compiler = _tag_repository(envelope, old.options, problems)
        default = apply_changes(old.default, own, old.compiler, problems)
        return PolicyEngine(
            replace(
                old,
                policies=envelope,
                default=default,
                zones=zones,
                zone_table=old.zone_table if zones is old.zones else ZoneTable(envelope.securityZones, old.model),
                tag_zones=_tag_zones(envelope),
                tag_repository=tag_repository,
                tag_compiler=tag_compiler,
                problems=tuple([p for p in old.problems if p.policy_id not in touched] + problems),
            )
        )

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
            and access not in _RESERVED
            and request.matching_scope is MatchingScope.SELF
            and not request.element_scopes
            and not request.all_access_types
            and not request.all_access_type_groups
        ):
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

    def _quick_decision(self, request: AccessRequest, access: str) -> Decision | None:
        """The decision by the steps of the resource's node; None where the general way is needed."""
        parts = self._parts
        path, values = requested(request.resource, parts.model)
        if path is None:
            return _NO_MATCH
        single = tuple(v for v in values if isinstance(v, str))
        if len(single) != len(values):
            return None
        node = parts.default.node(path, single, tokens_of(request))
        if node.conditional:
            return None
        roles = parts.roles.of(request.user, request.groups) if request.roles is None else request.roles
        who = principals(request.user, request.groups, roles, request.owner)
        audited = node.audit_policy_id is not None
        audit_policy_id = NO_POLICY if node.audit_policy_id is None else node.audit_policy_id
        for names, excepted, allowed, policy, reason in node.steps(access):
            if not names.isdisjoint(who) and excepted.isdisjoint(who):
                return Decision(
                    allowed, True, policy.id, policy.version, policy.priority, audited, audit_policy_id, reason
                )
        return Decision(False, True, audited=audited, audit_policy_id=audit_policy_id)

    def _general_decision(self, request: AccessRequest, access: str, trace: Tracer) -> Decision:
        query, tags = self._query(request, access)
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
            tags = parts.tag_table.of(where, values, request.tags, wide=wide, time=request.access_time)
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
            circumstances=circumstances_of(request, self._client_ip(request), frozenset(t.type for t in tags)),
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
        evaluator = Evaluator(query, parts.compiler.rules, trace)
        if parts.tag_repository is not None and parts.tag_compiler is not None and tags:
            rules = parts.tag_compiler.rules
            parts.tag_repository.evaluate(
                tags,
                zone if zone is not None and zone in parts.tag_zones else UNZONED,
                Evaluator(query, rules, trace),
                Evaluator(query, rules, trace, may_allow=False),
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
        )

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
        return ordered(repository.found(query.path, query.values, query.tokens, wide=query.wide, upto=upto))


def _envelope(policies: wire.ServicePolicies) -> wire.ServicePolicies:
    """The document without the policies, which the repositories hold."""
    zones = {name: wire.replaced(zone, policies=[]) for name, zone in policies.securityZones.items()}
    return wire.replaced(policies, policies=None, securityZones=zones)


def _tag_zones(policies: wire.ServicePolicies) -> frozenset[str]:
    return frozenset(name for name, zone in policies.securityZones.items() if zone.containsAssociatedTagService)


def _with_zones(
    old: _Parts, document: wire.ServicePolicies, problems: list[Problem]
) -> tuple[wire.ServicePolicies, Mapping[str, Policies]]:
    """The envelope and the zones after the deltas of zones; a zone keeps its resources unless new ones are given."""
    if not document.securityZones:
        return old.policies, old.zones
    zones = dict(old.zones)
    infos = dict(old.policies.securityZones)
    for name, zone in document.securityZones.items():
        known = infos.get(name)
        changes = read_changes(zone.policyDeltas or ())
        before = zones.get(name) or Repository(load_policies((), old.compiler, problems), old.model)
        zones[name] = apply_changes(before, changes, old.compiler, problems)
        infos[name] = wire.SecurityZoneInfo(
            zoneName=zone.zoneName or name,
            resources=zone.resources or (known.resources if known else []),
            containsAssociatedTagService=zone.containsAssociatedTagService
            or bool(known and known.containsAssociatedTagService),
        )
    return wire.replaced(old.policies, securityZones=infos), zones


def _tag_audit_filters(policies: wire.ServicePolicies, compiler: PolicyCompiler | None) -> tuple[CompiledFilter, ...]:
    if policies.tagPolicies is None or compiler is None:
        return ()
    return compile_filters(policies.tagPolicies.serviceConfig.get(AUDIT_FILTERS, ""), compiler.model)


def _tag_repository(
    policies: wire.ServicePolicies, options: EngineOptions, problems: list[Problem]
) -> tuple[TagRepository | None, PolicyCompiler | None]:
    """The tag policies as this service sees them; none where no tag service is named."""
    linked = policies.tagPolicies
    if linked is None or not linked.serviceName or linked.serviceDef is None or policies.serviceDef is None:
        return None, None
    component = policies.serviceDef.name
    compiler = PolicyCompiler(compile_service_def(for_component(linked.serviceDef, component)), options.cautious)
    raws = [kept for raw in linked.policies if (kept := policy_for_component(raw, component)) is not None]
    return TagRepository(load_policies(raws, compiler, problems).records), compiler


_NO_MATCH = Decision(False, True)
