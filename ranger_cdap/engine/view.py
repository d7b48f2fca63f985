"""The engine's second face, for tools: what compiled policies, zones, roles and tags consist of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ranger_cdap.engine.compiled.compile_level import compile_element, compile_level
from ranger_cdap.engine.compiled.conditions import PACKAGE, UNREADABLE_TAG, Condition, date_script, matches_no_address
from ranger_cdap.engine.compiled.cost import MAX_VALUE_LENGTH
from ranger_cdap.engine.compiled.items import (
    ALL_USERS,
    ANY_USER,
    OWNER,
    OWNER_MACRO,
    PUBLIC,
    USER_MACRO,
    Item,
    ItemCompiler,
    implied,
    principal_set,
)
from ranger_cdap.engine.compiled.java import fold, odd_letters, utf16_key, utf16_units
from ranger_cdap.engine.compiled.load import PolicyEntry
from ranger_cdap.engine.compiled.matcher import PatternKind, ResourceMatcher, Tokens, ValueTest, expand
from ranger_cdap.engine.compiled.names import name_transformation
from ranger_cdap.engine.compiled.options import EngineOptions, Privileged, privileged
from ranger_cdap.engine.compiled.path_matcher import ALWAYS
from ranger_cdap.engine.compiled.policy import CompiledPolicy, PolicyCompiler
from ranger_cdap.engine.compiled.resource_match import (
    SELF_KINDS,
    MatchType,
    PolicyResourceMatcher,
    compile_resource,
)
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.compiled.schedule import TIME, Schedule, compile_schedule, compile_schedules, is_saved_zone
from ranger_cdap.engine.compiled.service_def import LevelOptions, Path, ServiceModel, compile_service_def
from ranger_cdap.engine.compiled.tag_date import read_date
from ranger_cdap.engine.compiled.wildcard import matches, normalise
from ranger_cdap.engine.decide.acl import ANONYMOUS_USER, Accesses
from ranger_cdap.engine.decide.query import tokens_of
from ranger_cdap.engine.decide.tags import ResourceTag, TagRepository, TagTable
from ranger_cdap.engine.lookup.delta import PolicyChange, read_changes
from ranger_cdap.engine.lookup.repository import PolicyRepository
from ranger_cdap.engine.lookup.zones import NO_ZONES_KNOWN, UNREADABLE_ZONE, UNZONED, ZoneTable
from ranger_cdap.engine.model.decision import DENY_ALL_ELSE
from ranger_cdap.ranger_model.download import ServicePolicies

__all__ = [
    "ALL_USERS",
    "ALWAYS",
    "ANONYMOUS_USER",
    "ANY_USER",
    "DENY_ALL_ELSE",
    "MAX_VALUE_LENGTH",
    "NO_ZONES_KNOWN",
    "OWNER",
    "OWNER_MACRO",
    "PACKAGE",
    "PUBLIC",
    "SELF_KINDS",
    "TIME",
    "UNREADABLE_TAG",
    "UNREADABLE_ZONE",
    "UNZONED",
    "USER_MACRO",
    "Accesses",
    "CompiledPolicy",
    "Condition",
    "EngineView",
    "Item",
    "ItemCompiler",
    "LevelOptions",
    "MatchType",
    "Path",
    "PatternKind",
    "PolicyChange",
    "PolicyCompiler",
    "PolicyEntry",
    "PolicyRepository",
    "PolicyResourceMatcher",
    "Privileged",
    "ResourceMatcher",
    "ResourceTag",
    "RoleTable",
    "Schedule",
    "ServiceModel",
    "Tokens",
    "ValueTest",
    "ZoneTable",
    "compile_element",
    "compile_level",
    "compile_resource",
    "compile_schedule",
    "compile_schedules",
    "compile_service_def",
    "date_script",
    "expand",
    "fold",
    "implied",
    "is_saved_zone",
    "matches",
    "matches_no_address",
    "name_transformation",
    "normalise",
    "odd_letters",
    "principal_set",
    "privileged",
    "read_changes",
    "read_date",
    "tokens_of",
    "utf16_key",
    "utf16_units",
]


@dataclass(frozen=True, slots=True)
class EngineView:
    """The compiled set of an engine; nothing of it may be changed."""

    policies: ServicePolicies
    model: ServiceModel
    compiler: PolicyCompiler
    tag_compiler: PolicyCompiler | None
    default: PolicyRepository
    zones: Mapping[str, PolicyRepository]
    zone_table: ZoneTable
    tag_zones: frozenset[str]
    tag_repository: TagRepository | None
    tag_table: TagTable
    roles: RoleTable
    privileged: Privileged
    options: EngineOptions

    @property
    def repositories(self) -> tuple[PolicyRepository, ...]:
        """Policies outside zones, and those of each zone."""
        return (self.default, *self.zones.values())
