"""Service definitions: resource hierarchy, access types and conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ranger_cdap.ranger_model.document import Document

MARKERS: Final[Mapping[str, str | None]] = {
    "_CREATE": "CREATE",
    "_READ": "READ",
    "_UPDATE": "UPDATE",
    "_DELETE": "DELETE",
    "_MANAGE": "MANAGE",
    "_ALL": None,
}
"""Access types that Ranger Admin adds to every definition, each with the category of those it implies; None: all."""


EXPRESSION: Final[Mapping[str, Any]] = {
    "name": "_expression",
    "evaluator": "org.apache.ranger.plugin.conditionevaluator.RangerScriptConditionEvaluator",
    "evaluatorOptions": {"ui.isMultiline": "true", "engineName": "JavaScript"},
}
"""The condition that Ranger Admin adds to every definition."""


class ResourceDef(Document):
    """A level of the resource hierarchy."""

    name: str
    level: int = 1
    parent: str = ""
    matcher: str = ""
    matcher_options: dict[str, Any] = {}
    is_valid_leaf: bool | None = None
    recursive_supported: bool = False


class AccessTypeDef(Document):
    """An access type with its implied grants, or one of the markers Ranger Admin computes."""

    name: str
    implied_grants: list[str] = []
    category: str | None = None


class PolicyConditionDef(Document):
    """A kind of condition and the Java class that evaluates it."""

    name: str
    evaluator: str = ""
    evaluator_options: dict[str, Any] = {}


class ServiceDef(Document):
    """A service definition, as far as it bears on decisions and their audit."""

    name: str
    id: int | None = None
    options: dict[str, Any] = {}
    resources: Sequence[ResourceDef] = []
    access_types: Sequence[AccessTypeDef] = []
    marker_access_types: Sequence[AccessTypeDef] = []
    policy_conditions: Sequence[PolicyConditionDef] = []
    context_enrichers: Sequence[dict[str, Any]] = []
    data_mask_def: Any = None
    row_filter_def: Any = None
