"""An `Authorizer` over policies written in few words, without a Ranger Admin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pluggy

import servicedef
from ranger_cdap.audit import AuditRecord, AuditTrail
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.authz.decider import Decider
from ranger_cdap.cdap.enforcement import Enforcement
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.profile import Profile, load_profile
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import VersionPending
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot, no_groups
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.audit.undelayed import Undelayed

Json = dict[str, Any]
NOW = 1_800_000_000.0


def policy(number: int, resource: dict[str, str], users: list[str], accesses: list[str], **more: object) -> Json:
    return {
        "id": number,
        "version": 3,
        "name": f"policy {number}",
        "resources": {"instance": {"values": ["cdap"]}} | {level: {"values": [v]} for level, v in resource.items()},
        "policyItems": [{"users": users, "accesses": [{"type": access} for access in accesses]}],
        **more,
    }


@dataclass
class FixedPolicies:
    """In the place of a refresher: one snapshot that never changes."""

    snapshot: Snapshot

    def refresh_now(self) -> Snapshot:
        return self.snapshot

    def refresh_to(self, version: int, timeout: float) -> Snapshot:
        if not self.snapshot.has(version):
            raise VersionPending(f"version `{version}` is not in effect after {timeout:g} s")
        return self.snapshot

    def request_refresh(self) -> None:
        pass

    def close(self) -> None:
        pass


class Memory:
    """An audit sink in memory."""

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []

    def write(self, records: Sequence[AuditRecord]) -> None:
        self.records += records

    def close(self) -> None:
        pass


def document(policies: Sequence[Json], service_def: Mapping[str, Any] | None = None) -> Json:
    return {
        "serviceName": "cdapdev",
        "policyVersion": 1,
        "policies": policies,
        "serviceDef": service_def or servicedef.service_definition(),
    }


def engine(policies: Sequence[Json], service_def: Mapping[str, Any] | None = None) -> PolicyEngine:
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(document(policies, service_def))))


def authorizer(
    policies: Sequence[Json] | PolicyEngine | None,
    memory: Memory | None = None,
    *,
    plugins: pluggy.PluginManager | None = None,
    profile: str | Profile = "default",
    options: Options = Options(),  # noqa: B008 a frozen value
    enforcement: Enforcement = Enforcement(),  # noqa: B008 a frozen value
    master: str = "cdap",
    instance: str = "cdap",
    groups_of: Callable[[str], frozenset[str]] = no_groups,
) -> Authorizer:
    """Over these policies; None: none were ever loaded."""
    if policies is None:
        snapshot = Snapshot(None, PolicyState.NOT_READY, "no policies yet")
    else:
        made = policies if isinstance(policies, PolicyEngine) else engine(policies)
        snapshot = Snapshot(made, PolicyState.FRESH, "", groups_of=groups_of)
    rules = AuthorizationConfig(
        instance=instance,
        profile=load_profile(profile) if isinstance(profile, str) else profile,
        options=options,
        enforcement=enforcement,
        master=master,
        service="cdapdev",
    )
    return Authorizer(
        Decider(
            FixedPolicies(snapshot),
            rules,
            audit=AuditTrail([Undelayed(memory)] if memory else []),
            plugins=plugins or plugin_manager(entry_points=False),
            clock=lambda: NOW,
        )
    )
