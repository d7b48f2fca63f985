"""Fast path: decisions that depend only on principal, resource and access type; the first step that hits decides.

What makes these fast: a resource that policies name is one look-up away from its node, a user from their
principal set, and a node from its steps; the decision of each step is built once. So a decision is only look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from ranger_cdap.engine.compiled.conditions import Circumstances
from ranger_cdap.engine.compiled.items import ItemRules
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.decide.evaluate import Evaluator, Progress, no_trace
from ranger_cdap.engine.decide.principal_sets import PrincipalSets
from ranger_cdap.engine.decide.query import Query, single_values, stand_for_too_much, tokens_of
from ranger_cdap.engine.lookup.node import Node, Step
from ranger_cdap.engine.lookup.repository import Policies
from ranger_cdap.engine.model.decision import Decision
from ranger_cdap.engine.model.request import ADMIN_ACCESS, ANY_ACCESS, SUPER_USER_ACCESS, AccessRequest, MatchingScope
from ranger_cdap.engine.model.wire import replaced

_MOST_SHAPES = 1_000
_RESERVED = frozenset({"", ANY_ACCESS, SUPER_USER_ACCESS})
_NO_MATCH = Decision(False, True)
_NOTHING = Circumstances()


class _Shape(NamedTuple):
    """What a resource of certain names has in common with all others of the same names in the same order."""

    path: Path
    values: Callable[[Mapping[str, Any]], Any]
    known: Mapping[tuple[str, ...], Node]


class QuickDecider:
    """Decides by one set of policies for one table of roles. None as an answer: the general way is needed."""

    __slots__ = ("_model", "_policies", "_principals", "_rules", "_shapes", "_zone")

    def __init__(
        self, policies: Policies, model: ServiceModel, roles: RoleTable, rules: ItemRules, zone: str | None = None
    ) -> None:
        self._policies = policies
        self._model = model
        self._rules = rules
        self._principals = PrincipalSets(roles)
        self._zone = zone
        self._shapes: dict[tuple[str, ...], _Shape | None] = {}

    def decide(self, request: AccessRequest) -> Decision | None:
        """The decision, where names and access types alone make it."""
        access = request.access_type
        if (
            access in _RESERVED
            or request.matching_scope is not MatchingScope.SELF
            or request.element_scopes
            or request.all_access_types
            or request.all_access_type_groups
            or not request.groups_known
        ):
            return self._decide_wide(request) if is_any(request) or _is_below(request) else None
        resource = request.resource
        names = tuple(resource)
        try:
            shape = self._shapes[names]
        except KeyError:
            shape = self._new_shape(names)
        if shape is None:
            return _NO_MATCH
        try:
            # A level with several values is never found here: the values of known nodes are texts.
            node = shape.known.get(shape.values(resource))
        except TypeError:  # a list, which is no key
            return None
        if node is None:
            values = single_values(resource, shape.path)
            tokens = tokens_of(request)
            if values is None or stand_for_too_much(tokens):
                return None
            node = self._policies.node(shape.path, values, tokens)
        if node.conditional:
            return None
        steps = node.ready.get(access)
        if steps is None:
            steps = node.steps(access)
        if request.owner is None and request.roles is None:
            known = self._principals.remembered.get(request.user)
            who = known[1] if known is not None and known[0] == request.groups else self._principals.of(request)
        else:
            who = self._principals.of(request)
        for named, excepted, told in steps:
            if not named.isdisjoint(who) and (not excepted or excepted.isdisjoint(who)):
                return told if self._zone is None else replaced(told, zone=self._zone)
        return self._told(node.otherwise)

    def _decide_wide(self, request: AccessRequest) -> Decision | None:
        """Whether an access type, or anything at all, is allowed here or below."""
        names = tuple(request.resource)
        shape = self._shapes[names] if names in self._shapes else self._new_shape(names)
        values = single_values(request.resource, shape.path) if shape and shape.path else None
        tokens = tokens_of(request)
        if not shape or values is None or stand_for_too_much(tokens):
            return None
        node = self._policies.node(shape.path, values, tokens, wide=True)
        if node.conditional or not node.sure:
            return None
        any_access, who = is_any(request), self._principals.of(request)
        asked = self._model.any_order if any_access else (request.access_type,)
        if not node.denies:
            steps = node.any_steps(asked) if any_access else node.steps(request.access_type)
            return self._told(_first_hit(node, steps, who))
        query = Query(request, shape.path, values, tokens, who, frozenset(), asked, (), any_access, True, _NOTHING)
        progress = Progress()
        Evaluator(query, self._rules, no_trace).sure_policies(node.policies, node.about(who), progress)
        if node.audit_policy_id is not None:
            progress.audited, progress.audit_policy_id = True, node.audit_policy_id
        return progress.decision(self._zone, conditional=False)

    def _told(self, decision: Decision) -> Decision:
        return decision if self._zone is None else replaced(decision, zone=self._zone)

    def _new_shape(self, names: tuple[str, ...]) -> _Shape | None:
        """Where to look for resources of these names; None where no policy can be about them."""
        path = self._model.path_of(frozenset(names)) if names else ()
        if path is None:
            return None
        shape = _Shape(path, _values_of(path), self._policies.known(path))
        if len(self._shapes) < _MOST_SHAPES:
            self._shapes[names] = shape
        return shape


def _values_of(path: Path) -> Callable[[Mapping[str, Any]], Any]:
    """A function that makes the key of a node."""
    if len(path) > 1:
        return itemgetter(*path)
    return lambda resource: tuple([resource[name] for name in path])


def _first_hit(node: Node, steps: tuple[Step, ...], who: frozenset[str]) -> Decision:
    for names, excepted, told in steps:
        if not names.isdisjoint(who) and (not excepted or excepted.isdisjoint(who)):
            return told
    return node.otherwise


def is_any(request: AccessRequest) -> bool:
    """Whether only this is asked: is anything at all allowed, with denials below not counted."""
    return request.access_type in ("", ANY_ACCESS) and _nothing_else(request)


def _is_below(request: AccessRequest) -> bool:
    """Whether only this is asked: is one access type allowed here or below, with denials below not counted."""
    return (
        request.matching_scope is MatchingScope.SELF_OR_DESCENDANTS
        and request.access_type not in _RESERVED
        and request.access_type != ADMIN_ACCESS
        and _nothing_else(request)
    )


def _nothing_else(request: AccessRequest) -> bool:
    return (
        request.ignore_descendant_deny
        and request.groups_known
        and not (request.element_scopes or request.all_access_types or request.all_access_type_groups)
    )
