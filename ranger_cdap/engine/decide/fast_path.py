"""Fast path: decisions that depend only on principal, resource and access type; the first matching rule decides.

It is fast because it only looks up: the policies of a resource, the principal set of a user, and the rules of an access
type, whose decisions are built once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from ranger_cdap.engine.compiled.conditions import ConditionContext
from ranger_cdap.engine.compiled.cost import MAX_VALUE_LENGTH
from ranger_cdap.engine.compiled.items import ItemCompiler, principal_set
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.decide.evaluate import PolicyEvaluator, no_trace
from ranger_cdap.engine.decide.query import Query, has_too_long_token, single_values, tokens_of
from ranger_cdap.engine.decide.semantics import Evaluation
from ranger_cdap.engine.lookup.repository import PolicyRepository
from ranger_cdap.engine.lookup.resource_policies import ResourcePolicies, Rule
from ranger_cdap.engine.model.decision import Decision
from ranger_cdap.engine.model.request import ADMIN_ACCESS, ANY_ACCESS, SUPER_USER_ACCESS, AccessRequest, MatchingScope
from ranger_cdap.ranger_model.document import replaced

_MAX_SHAPES = 1_000
_MAX_USERS = 10_000
_RESERVED = frozenset({"", ANY_ACCESS, SUPER_USER_ACCESS})
_NO_MATCH = Decision(False, True)
_NO_CONTEXT = ConditionContext()


class _Shape(NamedTuple):
    """Path, key function and cache shared by all resources with the same names in the same order."""

    path: Path
    values: Callable[[Mapping[str, Any]], Any]
    cache: Mapping[tuple[str, ...], ResourcePolicies]


@dataclass(eq=False, slots=True)
class PrincipalSets:
    """Bounded cache of principal sets for the role definitions of one engine.

    `cache` maps a user to groups and principal set, for requests that name neither roles nor an owner.
    """

    roles: RoleTable
    cache: dict[str | None, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)

    def of(self, request: AccessRequest) -> frozenset[str]:
        """Return the principal set of a request."""
        user, groups = request.user, request.groups
        if user is None or request.roles is not None or request.owner is not None:
            roles = self.roles.of(user, groups) if request.roles is None else request.roles
            return principal_set(user, groups, roles, request.owner)
        cached = self.cache.get(user)
        if cached is not None and cached[0] == groups:
            return cached[1]
        principals = principal_set(user, groups, self.roles.of(user, groups), None)
        if len(self.cache) >= _MAX_USERS:
            self.cache.clear()
        self.cache[user] = (groups, principals)
        return principals


class FastPath:
    """Fast evaluator for one set of policies and one table of roles; returns None where the general one is needed."""

    __slots__ = ("_item_compiler", "_model", "_principal_sets", "_repository", "_shapes", "_zone")

    def __init__(
        self,
        repository: PolicyRepository,
        model: ServiceModel,
        roles: RoleTable,
        item_compiler: ItemCompiler,
        zone: str | None = None,
    ) -> None:
        self._repository = repository
        self._model = model
        self._item_compiler = item_compiler
        self._principal_sets = PrincipalSets(roles)
        self._zone = zone
        self._shapes: dict[tuple[str, ...], _Shape | None] = {}

    def decide(self, request: AccessRequest) -> Decision | None:
        """Return the decision if it depends on names and access types only, else None."""
        access = request.access_type
        if (
            access in _RESERVED
            or request.matching_scope is not MatchingScope.SELF
            or request.element_scopes
            or request.all_access_types
            or request.all_access_type_groups
            or not request.groups_known
        ):
            return self._decide_with_descendants(request) if is_any(request) or _is_below(request) else None
        resource = request.resource
        names = tuple(resource)
        try:
            shape = self._shapes[names]
        except KeyError:
            shape = self._new_shape(names)
        if shape is None:
            return _NO_MATCH
        try:
            # A level with several values is never found here: the keys hold single values.
            resource_policies = shape.cache.get(shape.values(resource))
        except TypeError:  # a list, which is not hashable
            return None
        if resource_policies is None:
            resource_policies = self._policies_of(request, shape)
            if resource_policies is None:
                return None
        if resource_policies.conditional:
            return None
        rules = resource_policies.cached_rules.get(access)
        if rules is None:
            rules = resource_policies.rules(access)
        if request.owner is None and request.roles is None:
            cached = self._principal_sets.cache.get(request.user)
            principals = (
                cached[1] if cached is not None and cached[0] == request.groups else self._principal_sets.of(request)
            )
        else:
            principals = self._principal_sets.of(request)
        for included, excepted, decision in rules:
            if not included.isdisjoint(principals) and (not excepted or excepted.isdisjoint(principals)):
                return decision if self._zone is None else replaced(decision, zone=self._zone)
        return self._in_zone(resource_policies.default)

    def _policies_of(self, request: AccessRequest, shape: _Shape) -> ResourcePolicies | None:
        """Return the policies of a resource that is not cached; None if it cannot be matched by single values."""
        values: tuple[str, ...] = shape.values(request.resource)
        for value in values:
            if type(value) is not str or len(value) > MAX_VALUE_LENGTH:
                return None
        tokens = tokens_of(request)
        if has_too_long_token(tokens):
            return None
        return self._repository.policies_of(shape.path, values, tokens)

    def _decide_with_descendants(self, request: AccessRequest) -> Decision | None:
        """Decide whether an access type, or any, is allowed on the resource or below it; None as in `decide`."""
        names = tuple(request.resource)
        shape = self._shapes[names] if names in self._shapes else self._new_shape(names)
        if shape is None or not shape.path:
            return None
        values, tokens = single_values(request.resource, shape.path), tokens_of(request)
        if values is None or has_too_long_token(tokens):
            return None
        resource_policies = self._repository.policies_of(shape.path, values, tokens, include_descendants=True)
        if resource_policies.conditional or not resource_policies.unconditional_match:
            return None
        any_access, principals = is_any(request), self._principal_sets.of(request)
        access_types = self._model.any_access_order if any_access else (request.access_type,)
        if not resource_policies.can_deny:
            rules = (
                resource_policies.any_access_rules(access_types)
                if any_access
                else resource_policies.rules(request.access_type)
            )
            return self._in_zone(_first_match(resource_policies, rules, principals))
        query = Query(
            request,
            shape.path,
            values,
            tokens,
            principals,
            frozenset(),
            access_types,
            (),
            any_access,
            True,
            _NO_CONTEXT,
        )
        evaluation = Evaluation()
        PolicyEvaluator(query, self._item_compiler, no_trace).evaluate_unconditional(
            resource_policies.policies, resource_policies.relevant_to(principals), evaluation
        )
        if resource_policies.audit_policy_id is not None:
            evaluation.audited, evaluation.audit_policy_id = True, resource_policies.audit_policy_id
        return evaluation.decision(self._zone, conditional=False)

    def _in_zone(self, decision: Decision) -> Decision:
        return decision if self._zone is None else replaced(decision, zone=self._zone)

    def _new_shape(self, names: tuple[str, ...]) -> _Shape | None:
        """Return the shape of resources with these names; None if no policy can match them."""
        path = self._model.path_of(frozenset(names)) if names else ()
        if path is None:
            return None
        shape = _Shape(path, _values_of(path), self._repository.cache_of(path))
        if len(self._shapes) < _MAX_SHAPES:
            self._shapes[names] = shape
        return shape


def _values_of(path: Path) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function that maps a resource to its key in the cache."""
    if len(path) > 1:
        return itemgetter(*path)
    return lambda resource: tuple([resource[name] for name in path])


def _first_match(resource_policies: ResourcePolicies, rules: tuple[Rule, ...], principals: frozenset[str]) -> Decision:
    for included, excepted, decision in rules:
        if not included.isdisjoint(principals) and (not excepted or excepted.isdisjoint(principals)):
            return decision
    return resource_policies.default


def is_any(request: AccessRequest) -> bool:
    """Return True if the request is exactly `_any`, with denials below the resource ignored."""
    return request.access_type in ("", ANY_ACCESS) and _no_other_options(request)


def _is_below(request: AccessRequest) -> bool:
    """Return True if the request is for one access type here or below, with denials below the resource ignored."""
    return (
        request.matching_scope is MatchingScope.SELF_OR_DESCENDANTS
        and request.access_type not in _RESERVED
        and request.access_type != ADMIN_ACCESS
        and _no_other_options(request)
    )


def _no_other_options(request: AccessRequest) -> bool:
    return (
        request.ignore_descendant_deny
        and request.groups_known
        and not (request.element_scopes or request.all_access_types or request.all_access_type_groups)
    )
