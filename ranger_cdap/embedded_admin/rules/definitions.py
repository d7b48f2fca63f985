"""What Ranger does with a service definition: which are valid, what it adds, and the hierarchies of its levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ranger_cdap.embedded_admin.model.documents import AccessTypeDef, ResourceDef, ServiceDef
from ranger_cdap.embedded_admin.model.problems import DUPLICATE_IN_DEFINITION, Problem, of_rule, problem

MARKERS: dict[str, str | None] = {
    "_CREATE": "CREATE",
    "_READ": "READ",
    "_UPDATE": "UPDATE",
    "_DELETE": "DELETE",
    "_MANAGE": "MANAGE",
    "_ALL": None,
}
"""Marker access type → the category whose access types it implies; `None` implies all of them."""

EXPRESSION_CONDITION: dict[str, Any] = {
    "name": "_expression",
    "evaluator": "org.apache.ranger.plugin.conditionevaluator.RangerScriptConditionEvaluator",
    "evaluatorOptions": {"ui.isMultiline": "true", "engineName": "JavaScript"},
    "uiHint": '{ "isMultiline":true }',
    "label": "Enter boolean expression",
    "description": "Boolean expression",
}
DEFAULT_OPTIONS = {"enableTagBasedPolicies": "true"}


def check_definition(definition: ServiceDef, others: Sequence[ServiceDef]) -> Iterator[Problem]:
    """Every rule the definition breaks; `others` are the stored ones without the definition's own old version."""
    if not definition.name:
        yield problem(2006, definition.name)
    for other in others:
        if other.name == definition.name:
            yield problem(2007, definition.name)
    for other in others:
        if other.display_name == (definition.display_name or definition.name):
            yield problem(2025, other.display_name, other.name)
    if not definition.access_types:
        yield problem(2002, "access types")
    yield from _duplicates("access type name", "access types", (access.name for access in definition.access_types))
    yield from _duplicates(
        "access type itemId", "access types", (a.item_id for a in definition.access_types if a.item_id is not None)
    )
    known = {access.name for access in definition.access_types}
    for access in definition.access_types:
        if unknown := sorted(set(access.implied_grants) - known):
            yield problem(2009, access.name, ", ".join(unknown), subfield=unknown[0])
    if not definition.resources:
        yield problem(2002, "resources")
    yield from _duplicates("resource name", "resources", (resource.name for resource in definition.resources))
    yield from _duplicates(
        "resource itemId", "resources", (r.item_id for r in definition.resources if r.item_id is not None)
    )
    yield from _check_graph(definition.resources)


def _duplicates(what: str, where: str, values: Iterable[object]) -> Iterator[Problem]:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            yield of_rule(0, DUPLICATE_IN_DEFINITION, what, value, where, subfield=str(value))
        seen.add(value)


def _check_graph(resources: Sequence[ResourceDef]) -> Iterator[Problem]:
    by_name = {resource.name: resource for resource in resources}
    if len(by_name) != len(resources):
        # Two of one name have been reported; which of them a child belongs to is not known.
        return
    for resource in resources:
        if not resource.parent:
            continue
        parent = by_name.get(resource.parent)
        if parent is None:
            yield problem(2016, subfield=resource.name)
        elif parent.level >= resource.level:
            # A circle of parents cannot have growing levels, so it ends here too.
            yield problem(2021, subfield=resource.name)


def complete(definition: ServiceDef) -> ServiceDef:
    """The definition with what Ranger adds: item ids, leaves, the `_expression` condition, options and markers.

    Markers take the item ids after the last access type, so they move when one is added.
    """
    parents = {resource.parent for resource in definition.resources}
    resources = [
        msgspec.structs.replace(
            resource,
            item_id=n if resource.item_id is None else resource.item_id,
            is_valid_leaf=resource.name not in parents if resource.is_valid_leaf is None else resource.is_valid_leaf,
        )
        for n, resource in enumerate(definition.resources, start=1)
    ]
    access_types = [
        access if access.item_id is not None else msgspec.structs.replace(access, item_id=n)
        for n, access in enumerate(definition.access_types, start=1)
    ]
    conditions = [row for row in definition.policy_conditions if row.get("name") != EXPRESSION_CONDITION["name"]]
    next_id = 1 + max((int(row.get("itemId", 0)) for row in conditions), default=0)
    return msgspec.structs.replace(
        definition,
        display_name=definition.display_name or definition.name,
        options={**definition.options, **DEFAULT_OPTIONS},
        resources=sorted(resources, key=lambda resource: resource.level),
        access_types=access_types,
        policy_conditions=[*conditions, {"itemId": next_id, **EXPRESSION_CONDITION}],
        marker_access_types=markers(access_types),
    )


def markers(access_types: Sequence[AccessTypeDef]) -> list[AccessTypeDef]:
    """The six marker access types; each implies the access types of its category and what those imply."""
    implied = {access.name: access.implied_grants for access in access_types}
    first_id = 1 + max((access.item_id or 0 for access in access_types), default=0)
    rows = []
    for n, (name, category) in enumerate(MARKERS.items(), start=first_id):
        direct = [access.name for access in access_types if category is None or access.category == category]
        grants = dict.fromkeys([*direct, *(inner for outer in direct for inner in implied[outer])])
        rows.append(AccessTypeDef(item_id=n, name=name, label=name, implied_grants=list(grants)))
    return rows


def hierarchies(resources: Sequence[ResourceDef]) -> list[tuple[str, ...]]:
    """Every path from a root to a level that may be a policy's last, in the definition's order."""
    by_name = {resource.name: resource for resource in resources}
    parents = {resource.parent for resource in resources}
    paths = []
    for resource in resources:
        if resource.is_valid_leaf or resource.name not in parents:
            path = [resource.name]
            while (above := by_name[path[0]].parent) in by_name:
                path.insert(0, above)
            paths.append(tuple(path))
    return paths
