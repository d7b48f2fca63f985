"""Facts of a service definition as Ranger reads it."""

from __future__ import annotations

from typing import Any


def hierarchies(definition: dict[str, Any]) -> set[tuple[str, ...]]:
    """Return every path from a root to a level that may be the last one of a policy (`isValidLeaf`).

    Raises:
        ValueError: a parent is missing or levels do not grow downwards, so Ranger could not use the definition.
    """
    resources = {resource["name"]: resource for resource in definition["resources"]}
    if len(resources) != len(definition["resources"]):
        raise ValueError("two resources have one name")
    paths = set()
    for resource in resources.values():
        path = [resource["name"]]
        while parent := resources[path[0]]["parent"]:
            if parent not in resources:
                raise ValueError(f"resource `{path[0]}` has the unknown parent `{parent}`")
            if resources[parent]["level"] >= resources[path[0]]["level"]:
                raise ValueError(f"resource `{path[0]}` is not below its parent `{parent}` by level")
            path.insert(0, parent)
        if resource["isValidLeaf"]:
            paths.add(tuple(path))
    return paths


def access_types(definition: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the actions, in the definition's order."""
    return tuple(access["name"] for access in definition["accessTypes"])
