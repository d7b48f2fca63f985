"""Rules for service definitions: validation, completion and resource hierarchies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ranger_cdap.ranger_model.service_def import EXPRESSION, MARKERS
from ranger_cdap.testing.admin.model.documents import (
    AdminAccessTypeDef,
    AdminConditionDef,
    AdminResourceDef,
    AdminServiceDef,
)
from ranger_cdap.testing.admin.model.validation import DUPLICATE_IN_DEFINITION, ValidationFailure, failure, of_rule

EXPRESSION_CONDITION = AdminConditionDef(
    name=EXPRESSION["name"],
    evaluator=EXPRESSION["evaluator"],
    evaluator_options=EXPRESSION["evaluatorOptions"],
    ui_hint='{ "isMultiline":true }',
    label="Enter boolean expression",
    description="Boolean expression",
)
DEFAULT_OPTIONS = {"enableTagBasedPolicies": "true"}


def check_definition(definition: AdminServiceDef, others: Sequence[AdminServiceDef]) -> Iterator[ValidationFailure]:
    """Yield every violated rule; `others` are the stored definitions except the old version of this one."""
    if not definition.name:
        yield failure(2006, definition.name)
    yield from (failure(2007, definition.name) for other in others if other.name == definition.name)
    yield from (
        failure(2025, other.display_name, other.name)
        for other in others
        if other.display_name == (definition.display_name or definition.name)
    )
    if not definition.access_types:
        yield failure(2002, "access types")
    yield from _duplicates("access type name", "access types", (access.name for access in definition.access_types))
    yield from _duplicates(
        "access type itemId", "access types", (a.item_id for a in definition.access_types if a.item_id is not None)
    )
    known = {access.name for access in definition.access_types}
    yield from (
        failure(2009, access.name, ", ".join(unknown), subfield=unknown[0])
        for access in definition.access_types
        if (unknown := sorted(set(access.implied_grants) - known))
    )
    if not definition.resources:
        yield failure(2002, "resources")
    yield from _duplicates("resource name", "resources", (resource.name for resource in definition.resources))
    yield from _duplicates(
        "resource itemId", "resources", (r.item_id for r in definition.resources if r.item_id is not None)
    )
    yield from _check_graph(definition.resources)


def _duplicates(what: str, where: str, values: Iterable[object]) -> Iterator[ValidationFailure]:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            yield of_rule(0, DUPLICATE_IN_DEFINITION, what, value, where, subfield=str(value))
        seen.add(value)


def _check_graph(resources: Sequence[AdminResourceDef]) -> Iterator[ValidationFailure]:
    by_name = {resource.name: resource for resource in resources}
    if len(by_name) != len(resources):
        # Duplicate names are reported; the parent of a child is ambiguous.
        return
    for resource in resources:
        if not resource.parent:
            continue
        parent = by_name.get(resource.parent)
        if parent is None:
            yield failure(2016, subfield=resource.name)
        elif parent.level >= resource.level:
            # A cycle of parents cannot have increasing levels, so it is caught here too.
            yield failure(2021, subfield=resource.name)


def complete(definition: AdminServiceDef) -> AdminServiceDef:
    """Return the definition with Ranger's additions: item ids, leaves, `_expression` condition, options, markers.

    Markers have the item ids after the last access type, so they change when one is added.
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
    conditions = [row for row in definition.policy_conditions if row.name != EXPRESSION_CONDITION.name]
    next_id = 1 + max((row.item_id or 0 for row in conditions), default=0)
    return msgspec.structs.replace(
        definition,
        display_name=definition.display_name or definition.name,
        options={**definition.options, **DEFAULT_OPTIONS},
        resources=sorted(resources, key=lambda resource: resource.level),
        access_types=access_types,
        policy_conditions=[*conditions, msgspec.structs.replace(EXPRESSION_CONDITION, item_id=next_id)],
        marker_access_types=markers(access_types),
    )


def markers(access_types: Sequence[AdminAccessTypeDef]) -> list[AdminAccessTypeDef]:
    """Return the six marker access types; each implies those of its category and their implied grants."""
    implied = {access.name: access.implied_grants for access in access_types}
    first_id = 1 + max((access.item_id or 0 for access in access_types), default=0)
    rows = []
    for n, (name, category) in enumerate(MARKERS.items(), start=first_id):
        direct = [access.name for access in access_types if category is None or access.category == category]
        grants = dict.fromkeys([*direct, *(inner for outer in direct for inner in implied[outer])])
        rows.append(AdminAccessTypeDef(item_id=n, name=name, label=name, implied_grants=list(grants)))
    return rows


def hierarchies(resources: Sequence[AdminResourceDef]) -> list[tuple[str, ...]]:
    """Return every path from a root to a valid leaf, in the order of the definition."""
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
