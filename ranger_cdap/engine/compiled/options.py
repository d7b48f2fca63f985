"""What a plugin's own configuration says to the engine (ranger-semantics.md §1.6, §3, §4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ranger_cdap.engine.compiled.conditions import ConditionMaker

SUPER_USERS = "ranger.plugin.super.users"
SUPER_GROUPS = "ranger.plugin.super.groups"
AUDIT_EXCLUDE_USERS = "ranger.plugin.audit.exclude.users"
AUDIT_EXCLUDE_GROUPS = "ranger.plugin.audit.exclude.groups"
AUDIT_EXCLUDE_ROLES = "ranger.plugin.audit.exclude.roles"
AUDIT_FILTERS = "ranger.plugin.audit.filters"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How the engine decides.

    `compatibility` is `safe` (what cannot be evaluated never allows more) or `ranger` (as the Java engine does).
    The five sets add to those of the service's configuration. Forwarded addresses are believed only from
    `trusted_proxies`, or from anybody if that is empty, and only with `use_forwarded_for`.
    With `fallback` a request no policy speaks of stays undetermined, for callers with rules of their own.
    `conditions` makes conditions that the engine does not know, by the name of the Java class that evaluates them.
    """

    compatibility: Literal["safe", "ranger"] = "safe"
    super_users: frozenset[str] = frozenset()
    super_groups: frozenset[str] = frozenset()
    audit_excluded_users: frozenset[str] = frozenset()
    audit_excluded_groups: frozenset[str] = frozenset()
    audit_excluded_roles: frozenset[str] = frozenset()
    use_forwarded_for: bool = False
    trusted_proxies: frozenset[str] = frozenset()
    fallback: bool = False
    conditions: Mapping[str, ConditionMaker] = field(default_factory=dict)

    @property
    def cautious(self) -> bool:
        """Whether what cannot be evaluated counts against whoever wants in."""
        return self.compatibility == "safe"


@dataclass(frozen=True, slots=True)
class Privileged:
    """Who is never denied, and who is never audited; from the options and the service's configuration."""

    super_users: frozenset[str]
    super_groups: frozenset[str]
    unaudited_users: frozenset[str]
    unaudited_groups: frozenset[str]
    unaudited_roles: frozenset[str]

    def is_super(self, user: str | None, groups: frozenset[str]) -> bool:
        """Whether a super user asks."""
        return user in self.super_users or not self.super_groups.isdisjoint(groups)

    def is_unaudited(self, user: str | None, groups: frozenset[str], roles: frozenset[str]) -> bool:
        """Whether somebody asks whose access is not audited."""
        return (
            user in self.unaudited_users
            or not self.unaudited_groups.isdisjoint(groups)
            or not self.unaudited_roles.isdisjoint(roles)
        )


def privileged(options: EngineOptions, config: Mapping[str, str]) -> Privileged:
    """The five sets of the options joined with the lists of the service's configuration."""
    return Privileged(
        super_users=options.super_users | _names(config, SUPER_USERS),
        super_groups=options.super_groups | _names(config, SUPER_GROUPS),
        unaudited_users=options.audit_excluded_users | _names(config, AUDIT_EXCLUDE_USERS),
        unaudited_groups=options.audit_excluded_groups | _names(config, AUDIT_EXCLUDE_GROUPS),
        unaudited_roles=options.audit_excluded_roles | _names(config, AUDIT_EXCLUDE_ROLES),
    )


def _names(config: Mapping[str, str], key: str) -> frozenset[str]:
    return frozenset(name.strip() for name in config.get(key, "").split(",") if name.strip())
