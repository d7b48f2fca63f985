"""Policy engine: an immutable, compiled set of policies that evaluates requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import cast

import msgspec

from ranger_cdap.collector import gc_paused
from ranger_cdap.engine.build import EngineState, apply_deltas, build_state, with_attributes
from ranger_cdap.engine.compiled.conditions import AttributeStore, ConditionContext
from ranger_cdap.engine.compiled.cost import MAX_STEPS
from ranger_cdap.engine.compiled.items import ItemCompiler, principal_set
from ranger_cdap.engine.compiled.names import NameTransformation
from ranger_cdap.engine.compiled.options import EngineOptions, Privileged
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.service_def import Path
from ranger_cdap.engine.decide.acl import (
    AccessEntry,
    ResourceAccess,
    access_entry,
    named_principals_of,
    resource_access,
)
from ranger_cdap.engine.decide.audit_filter import is_audited
from ranger_cdap.engine.decide.evaluate import PolicyEvaluator, Tracer, no_trace
from ranger_cdap.engine.decide.fast_path import FastPath
from ranger_cdap.engine.decide.fast_path_router import FastPathRouter
from ranger_cdap.engine.decide.query import (
    Query,
    condition_context,
    includes_descendants,
    requested_access_types,
    requested_resource,
    tokens_of,
    too_long_reason,
)
from ranger_cdap.engine.decide.semantics import Evaluation
from ranger_cdap.engine.decide.tags import ApplicableTag
from ranger_cdap.engine.lookup.named_values import NamedValues, OpenResource, named_values
from ranger_cdap.engine.lookup.repository import PolicyRepository, is_empty
from ranger_cdap.engine.lookup.resource_cache import ordered
from ranger_cdap.engine.lookup.resources_below import resources_below
from ranger_cdap.engine.lookup.zones import NO_ZONES_KNOWN, UNZONED
from ranger_cdap.engine.model.decision import Decision, TraceEntry
from ranger_cdap.engine.model.problem import Problem, ProblemCode, name_and_id
from ranger_cdap.engine.model.request import (
    ADMIN_ACCESS,
    ANY_ACCESS,
    SUPER_USER_ACCESS,
    AccessRequest,
    MatchingScope,
    first_scoped_level,
)
from ranger_cdap.engine.view import EngineView
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.download import ServicePolicies
from ranger_cdap.ranger_model.json_text import decode_or_none
from ranger_cdap.ranger_model.role import RangerRoles
from ranger_cdap.ranger_model.service_def import ServiceDef
from ranger_cdap.ranger_model.tag import ServiceTags

_SUPER_USER_PRIORITY = 2**31 - 1
_SUPER_USER = "superuser"
_FIXED_AUDIT = {"audit-all": True, "audit-none": False}


class PolicyEngine:
    """Evaluator of requests against one set of policies, as Ranger does it (ranger-semantics.md, compatibility.md)."""

    __slots__ = ("_costly", "_fast_path", "_item_compiler", "_prepared", "_state", "_tags_depend_on_time")

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._item_compiler = state.compiler.item_compiler
        self._costly = (
            state.condition_steps > MAX_STEPS
            or state.is_crowded
            or any(
                problem.code in (ProblemCode.COSTLY_RESOURCE, ProblemCode.COSTLY_POLICY) for problem in state.problems
            )
        )
        self._prepared = all(policies.is_prepared for policies in state.repositories)
        self._tags_depend_on_time = state.tag_repository is not None and state.tag_table.depends_on_time
        needs_general = (
            self._tags_depend_on_time
            or state.tag_audit_filters
            or state.policies.audit_mode in ("audit-all", "audit-none")
            or not state.policies.zones_known
        )
        has_privileged = any(getattr(state.privileged, name) for name in Privileged.__slots__)
        needs_general = (
            needs_general or has_privileged or state.options.fallback or state.audit_filters or is_empty(state.default)
        )
        self._fast_path: FastPath | FastPathRouter | None = None
        if not needs_general and not state.zones and state.tag_repository is None:
            self._fast_path = FastPath(state.default, state.model, state.roles, self._item_compiler)
        elif not needs_general and not state.tag_table.depends_on_request:
            self._fast_path = _fast_path_router(state, self._item_compiler)

    @classmethod
    @gc_paused()
    def build(
        cls,
        policies: ServicePolicies,
        *,
        service: str | None = None,
        roles: RangerRoles | None = None,
        tags: ServiceTags | None = None,
        attributes: AttributeStore | None = None,
        options: EngineOptions = EngineOptions(),  # noqa: B008 - immutable
    ) -> PolicyEngine:
        """Build an engine from a full download; `attributes` of users and groups are for custom conditions.

        Raises:
            PolicySetError: the policies belong to another service, the service definition is unusable, tags are
                missing, or a policy is unusable in compatibility mode `ranger`.
        """
        return cls(build_state(policies, service, roles, tags, options, attributes))

    def with_attributes(self, attributes: AttributeStore | None) -> PolicyEngine:
        """Return a new engine with other attributes of users and groups; all else is shared."""
        return PolicyEngine(with_attributes(self._state, attributes))

    @gc_paused()
    def with_deltas(self, document: ServicePolicies) -> PolicyEngine:
        """Return a new engine with the deltas applied, equivalent to one built from a full download.

        Raises:
            PolicySetError: the deltas cannot be applied; a full download is needed.
        """
        return PolicyEngine(apply_deltas(self._state, document))

    @property
    def service_name(self) -> str:
        """Name of the service that owns the policies."""
        return self._state.policies.service_name

    @property
    def names(self) -> NameTransformation:
        """Transformation of the names in a request, which `evaluate` is given transformed."""
        return self._state.names

    @property
    def view(self) -> EngineView:
        """Compiled policies, zones, roles and tags, for programs that analyse them; nothing of it may be changed."""
        return self._state

    def context_of(self, request: AccessRequest) -> ConditionContext:
        """Return the input that conditions of resource policies get for a request."""
        return self._query(request, request.access_type)[0].condition_context

    @property
    def policy_version(self) -> int:
        """Version of the policies, -1 if unknown."""
        return self._state.policies.policy_version

    @property
    def service_def(self) -> ServiceDef:
        """Service definition of the policies."""
        definition = self._state.policies.service_def
        assert definition is not None  # `build` refuses a set without one
        return definition

    @property
    def may_be_costly(self) -> bool:
        """Return True if a decision may take long: by a policy, by custom conditions, or before `prepare`.

        Apart from this, those that include everything below a resource of the highest level may take long.
        """
        return self._costly or not self._prepared

    def prepare(self) -> None:
        """Build what decisions would otherwise build on first use; for another thread than that of decisions."""
        for policies in self._state.repositories:
            policies.prepare()
        self._costly = self._costly or self._state.is_crowded
        self._prepared = True

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Parts of the download that have no effect or another effect than intended."""
        return self._state.problems

    def raw_policies(self) -> Iterator[msgspec.Raw]:
        """Yield every policy that affects access, of all zones, as received from Ranger Admin."""
        return (entry.raw for policies in self._state.repositories for entry in policies.all())

    def service_ids(self, policy_ids: Iterable[int]) -> dict[int, int]:
        """Map policy ids to the id of their service in Ranger Admin, which is the tag service for tag policies.

        Services of unknown id are left out.
        """
        policies = self._state.policies
        found = {} if policies.service_id is None else dict.fromkeys(policy_ids, policies.service_id)
        linked = policies.tag_policies
        if linked is None or linked.service_id is None:
            return found
        tag_policy_ids = (name_and_id(decode_or_none(raw))[1] for raw in linked.policies)
        return found | dict.fromkeys((id_ for id_ in tag_policy_ids if id_ in found), linked.service_id)

    def evaluate(self, request: AccessRequest) -> Decision:
        """Evaluate a request. Never raises; a request that cannot be evaluated is not allowed."""
        fast_path = self._fast_path
        if fast_path is not None and not request.refused:
            decision = fast_path.decide(request)
            if decision is not None:
                return decision
        return self._general_decision(request, request.access_type or ANY_ACCESS, no_trace)

    def explain(self, request: AccessRequest) -> Decision:
        """Return the decision of `evaluate` with a trace: for each policy, why it did or did not apply."""
        trace: list[TraceEntry] = []

        def note(policy: CompiledPolicy, outcome: str, reason: str) -> None:
            trace.append(TraceEntry(policy.id, policy.name, outcome, reason))

        decision = self._general_decision(request, request.access_type or ANY_ACCESS, note)
        return replaced(decision, trace=tuple(trace))

    def access_entry(self, request: AccessRequest) -> AccessEntry | None:
        """Return the access of the user of a request, by the rule of `who_can`: conditional if conditions decide.

        None if no policy applies.
        """
        access = request.access_type or ANY_ACCESS
        unfavourable, favourable = (self._general_decision(request, access, no_trace, a) for a in (False, True))
        return access_entry(unfavourable, favourable)

    def who_can(
        self,
        resource: Mapping[str, str | tuple[str, ...]],
        *,
        matching_scope: MatchingScope = MatchingScope.SELF,
        owner: str | None = None,
    ) -> ResourceAccess:
        """Return the ACLs of a resource: access of all users, and of the users, groups and roles its policies name.

        A policy with `{USER}` in its resource is evaluated for the users named by any policy or by the resource.
        """
        state = self._state
        base = AccessRequest(resource, "", matching_scope=matching_scope, owner=owner)
        query, tags = self._query(base, ADMIN_ACCESS)
        policies: list[CompiledPolicy] = []
        if query.path is not None:
            for repository in state.repositories:
                policies += ordered(
                    repository.candidates(
                        query.path, query.values, query.tokens, include_descendants=query.include_descendants
                    )
                )
        if state.tag_repository is not None:
            policies += (policy for tag in tags for policy in state.tag_repository.of(tag.type))
        named = named_principals_of(policies, state.privileged, state.roles)
        candidate_users = {v for v in query.values if isinstance(v, str)} | ({owner} if owner else set())

        def decide(
            user: str | None, groups: frozenset[str], roles: frozenset[str] | None, access: str, assume_conditions: bool
        ) -> Decision:
            request = replaced(base, user=user, groups=groups, roles=roles, access_type=access)
            return self._general_decision(request, access, no_trace, assume_conditions)

        return resource_access(named, candidate_users, (*state.model.access_types, ADMIN_ACCESS), decide)

    def named_values(self, request: AccessRequest, open_levels: Collection[str]) -> Mapping[str, NamedValues] | None:
        """Return the values named on the open levels, whose own values in the request mean nothing.

        Resources that differ on these levels only, and match the same of these values there, are decided alike. None if
        a policy takes too many steps to match some of them, or has a custom condition that may look at them.
        """
        path, values = requested_resource(request.resource, self._state.model)
        if path is None or not set(open_levels) <= set(path):
            return None
        state, resource = self._state, OpenResource(path, values, open_levels, tokens_of(request))
        custom = bool(state.options.conditions)
        tag_entries = state.tag_repository.entries if custom and state.tag_repository is not None else ()
        if any(entry.compiled.reads_resource for entry in tag_entries):
            return None
        maps = (state.zone_table.resources, state.tag_table.resources)
        return named_values(resource, state.repositories, maps, custom_conditions=custom)

    def resources_below(self, request: AccessRequest) -> Iterator[dict[str, str]]:
        """Return the resources below that of a request, with wildcards, which tags, zones, or its user's policies name.

        The values of the request must be single ones. A right below it names one of them, or none below it at all.
        """
        query, _ = self._query(request, ADMIN_ACCESS)
        path, values, tokens = query.path or (), cast(tuple[str, ...], query.values), query.tokens
        relevant = (
            entry.compiled
            for repository in self._state.repositories
            for entry in repository.candidates(path, values, tokens, include_descendants=True)
            if entry.compiled.may_apply_to(query.principals)
        )
        others = (
            matcher
            for table in (self._state.tag_table, self._state.zone_table)
            for matcher in table.resources.at_or_below(path, values, tokens)
        )
        return resources_below(path, values, tokens, chain((r for one in relevant for r in one.resources), others))

    def _general_decision(
        self, request: AccessRequest, access: str, trace: Tracer, assume_conditions: bool | None = None
    ) -> Decision:
        if invalid := request.refused or too_long_reason(request):
            return Decision(False, True, audited=True, reason=invalid)
        query, tags = self._query(request, access)
        query.assume_conditions = assume_conditions
        if not self._state.policies.zones_known:
            return self._in_any_zone(query, tags, trace)
        zones: tuple[str | None, ...] = self._state.zone_table.of(query.path, query.values)
        if not zones or (len(zones) > 1 and not query.is_any):
            zones = (None,)
        decision = self._zone_decision(zones[0], query, tags, trace)
        for zone in zones[1:]:
            if decision.allowed:
                return decision
            decision = self._zone_decision(zone, query, tags, trace)
        if query.is_any and query.path == () and not decision.allowed:
            # Any access anywhere includes access inside a zone (§6.2).
            inside = (self._zone_decision(zone, query, tags, trace) for zone in self._state.zones)
            return next((found for found in inside if found.allowed), decision)
        return decision

    def _in_any_zone(self, query: Query, tags: tuple[ApplicableTag, ...], trace: Tracer) -> Decision:
        """Return the decision that holds whatever zone the resource is in; without one, the request is undecided."""
        worlds = dict.fromkeys((zone, tag_zone) for zone in (None, *self._state.zones) for tag_zone in (UNZONED, zone))
        found = [self._zone_decision(zone, query, tags, trace, tag_zone or UNZONED) for zone, tag_zone in worlds]
        allowing, denying = ([one for one in found if one.allowed is side] for side in (True, False))
        if allowing and denying and query.assume_conditions is None:
            return Decision(False, False, audited=True, reason=NO_ZONES_KNOWN, conditional=True)
        return (allowing or denying)[0] if query.assume_conditions else (denying or allowing)[0]

    def _query(self, request: AccessRequest, access: str) -> tuple[Query, tuple[ApplicableTag, ...]]:
        state = self._state
        path, values = requested_resource(request.resource, state.model)
        roles = state.roles.of(request.user, request.groups) if request.roles is None else request.roles
        access_types, groups = requested_access_types(request, access, state.model)
        include_descendants = includes_descendants(request, access)
        tags: tuple[ApplicableTag, ...] = ()
        if state.tag_repository is not None or request.tags:
            tagged_path = path or (path if access == ANY_ACCESS else None)  # the root has tags for `_any` only
            tags = state.tag_table.of(
                tagged_path,
                values,
                tokens_of(request),
                request.tags,
                request.element_scopes,
                include_descendants=include_descendants,
                time=request.access_time,
            )
        query = Query(
            request=request,
            path=path,
            values=values,
            tokens=tokens_of(request),
            principals=principal_set(request.user, request.groups, roles, request.owner),
            roles=roles,
            access_types=access_types,
            access_type_groups=groups,
            is_any=access == ANY_ACCESS,
            include_descendants=include_descendants,
            condition_context=condition_context(
                request,
                self._client_ip(request),
                roles,
                frozenset(t.type for t in tags),
                frozenset(t.type for t in tags if t.certain),
                tuple([t.in_conditions for t in tags]),
                state.attributes,
            ),
        )
        return query, tuple([tag for tag in tags if tag.effective])

    def _client_ip(self, request: AccessRequest) -> str | None:
        """Return the client address; a forwarded address is used only if sent by a trusted proxy (§4.2)."""
        if request.client_ip is not None:
            return request.client_ip
        options = self._state.options
        trusted = not options.trusted_proxies or request.remote_ip in options.trusted_proxies
        if options.use_forwarded_for and request.forwarded and trusted:
            return request.forwarded[0]
        return request.remote_ip

    def _zone_decision(
        self,
        zone: str | None,
        query: Query,
        tags: tuple[ApplicableTag, ...],
        trace: Tracer,
        tag_zone: str | None = None,
    ) -> Decision:
        state = self._state
        request = query.request
        evaluation = self._initial_evaluation(query)
        preset = evaluation.audited if evaluation.audit_determined else None
        evaluator = PolicyEvaluator(query, self._item_compiler, trace)
        if state.tag_repository is not None and state.tag_compiler is not None and tags:
            tag_evaluator = PolicyEvaluator(query, state.tag_compiler.item_compiler, trace)
            if tag_zone is None:
                tag_zone = zone if zone is not None and zone in state.tag_zones else UNZONED
            state.tag_repository.evaluate(tags, tag_zone, tag_evaluator, evaluation)
        repository = state.default if not zone else state.zones[zone]
        if not is_empty(repository):
            evaluator.evaluate_policies(
                self._candidates(repository, query, request), evaluation, fallback=state.options.fallback
            )
        if evaluation.allowed:
            evaluation.determined = True
        if state.audit_filters or state.tag_audit_filters:
            evaluation.audited = is_audited(
                evaluation, query, tags, state.audit_filters, state.tag_audit_filters, preset=preset
            )
        return evaluation.decision(zone, conditional=query.conditional or self._tags_depend_on_time)

    def _initial_evaluation(self, query: Query) -> Evaluation:
        """Return the initial state of an evaluation: audit mode, audit exclusions, super users (§6.3)."""
        state = self._state
        request = query.request
        evaluation = Evaluation()
        mode = state.policies.audit_mode
        if mode in _FIXED_AUDIT:
            evaluation.audited, evaluation.audit_determined = _FIXED_AUDIT[mode], True
        elif is_empty(state.default) and state.tag_repository is None:
            evaluation.audited = evaluation.audit_determined = True
        if state.privileged.is_unaudited(request.user, request.groups, query.roles):
            evaluation.audited, evaluation.audit_determined = False, True
        is_super = state.privileged.is_super(request.user, request.groups)
        if is_super or request.access_type == SUPER_USER_ACCESS:
            evaluation.allowed, evaluation.determined = is_super, True
            evaluation.priority, evaluation.reason = _SUPER_USER_PRIORITY, _SUPER_USER
        return evaluation

    def _candidates(
        self, repository: PolicyRepository, query: Query, request: AccessRequest
    ) -> tuple[CompiledPolicy, ...]:
        if query.path is None:
            return ()
        depth = first_scoped_level(query.path, request.element_scopes)
        if depth is None and all(isinstance(value, str) for value in query.values):
            single = cast("tuple[str, ...]", query.values)
            return repository.policies_of(
                query.path, single, query.tokens, include_descendants=query.include_descendants
            ).policies
        return ordered(
            repository.candidates(
                query.path, query.values, query.tokens, include_descendants=query.include_descendants, depth=depth
            )
        )


def _fast_path_router(state: EngineState, item_compiler: ItemCompiler) -> FastPathRouter:
    """Build fast paths per zone, for resources in at most one zone and without tags."""
    repositories: list[tuple[str | None, PolicyRepository]] = [(None, state.default), *state.zones.items()]
    deciders = {
        zone: FastPath(repository, state.model, state.roles, item_compiler, zone)
        for zone, repository in repositories
        if not is_empty(repository)
    }

    def resolver(path: Path, values: tuple[str, ...], include_descendants: bool) -> FastPath | None:
        zones = state.zone_table.of(path, values)
        if len(zones) > 1:
            return None
        if state.tag_repository is not None and state.tag_table.of(
            path, values, {}, (), include_descendants=include_descendants, time=0
        ):
            return None
        return deciders.get(zones[0] if zones else None)

    return FastPathRouter(resolver, state.model)
