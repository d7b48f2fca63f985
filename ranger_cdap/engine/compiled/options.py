"""Plugin configuration of the engine (ranger-semantics.md §1.6, §3, §4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ranger_cdap.engine.compiled.conditions import ConditionFactory

SUPER_USERS = "ranger.plugin.super.users"
SUPER_GROUPS = "ranger.plugin.super.groups"
AUDIT_EXCLUDE_USERS = "ranger.plugin.audit.exclude.users"
AUDIT_EXCLUDE_GROUPS = "ranger.plugin.audit.exclude.groups"
AUDIT_EXCLUDE_ROLES = "ranger.plugin.audit.exclude.roles"
AUDIT_FILTERS = "ranger.plugin.audit.filters"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of the engine.

    `compatibility` is `safe` (what cannot be evaluated never allows more) or `ranger` (as the Java engine).
    The five sets are added to those of the service configuration. With `use_forwarded_for`, forwarded addresses are
    trusted from `trusted_proxies`, or from any address if that is empty. With `fallback`, a request that no policy
    decides stays undetermined, for callers with a fallback authorizer. `conditions` holds factories of custom
    conditions by the name of the Java class that evaluates them. The last three decide the `names` of an engine.
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
    conditions: Mapping[str, ConditionFactory] = field(default_factory=dict)
    transform_names: bool = False
    email_to_user: bool = False
    stored_groups: Literal["added", "only", "ignored"] = "added"

    @property
    def fail_closed(self) -> bool:
        """Return True if what cannot be evaluated counts against the user."""
        return self.compatibility == "safe"


@dataclass(frozen=True, slots=True)
class Privileged:
    """Principals that are never denied, and principals that are never audited."""

    super_users: frozenset[str]
    super_groups: frozenset[str]
    unaudited_users: frozenset[str]
    unaudited_groups: frozenset[str]
    unaudited_roles: frozenset[str]

    def is_super(self, user: str | None, groups: frozenset[str]) -> bool:
        """Return True for a super user."""
        return user in self.super_users or not self.super_groups.isdisjoint(groups)

    def is_unaudited(self, user: str | None, groups: frozenset[str], roles: frozenset[str]) -> bool:
        """Return True if the user's access is not audited."""
        return (
            user in self.unaudited_users
            or not self.unaudited_groups.isdisjoint(groups)
            or not self.unaudited_roles.isdisjoint(roles)
        )


def privileged(options: EngineOptions, config: Mapping[str, str]) -> Privileged:
    """Merge the five sets of the options with the lists of the service configuration."""
    return Privileged(
        super_users=options.super_users | _names(config, SUPER_USERS),
        super_groups=options.super_groups | _names(config, SUPER_GROUPS),
        unaudited_users=options.audit_excluded_users | _names(config, AUDIT_EXCLUDE_USERS),
        unaudited_groups=options.audit_excluded_groups | _names(config, AUDIT_EXCLUDE_GROUPS),
        unaudited_roles=options.audit_excluded_roles | _names(config, AUDIT_EXCLUDE_ROLES),
    )


def _names(config: Mapping[str, str], key: str) -> frozenset[str]:
    return frozenset(name.strip() for name in config.get(key, "").split(",") if name.strip())
