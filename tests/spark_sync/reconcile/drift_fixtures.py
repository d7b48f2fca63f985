"""Shared by the tests of drift and repair: lives, policies as Ranger would have them, and a Ranger in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import groupby
from typing import Any

from msgspec.structs import replace as replaced

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import Inventory
from ranger_cdap.errors import NotFound, RequestRejected
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of
from spark_sync.grants.plan import CreateGrant, PlanSettings, plan
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.ledger.event import Position
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import PUSH_STATES, Life, State
from spark_sync.reconcile.drift import DriftFinding, drift_of, survey
from tests.spark_sync.planning import planning

ALL = ("read", "write", "admin", "execute")
KV = EntityId("dataset", ("ns1", "kv"))
APP = EntityId("application", ("ns1", "shop"))
BEGUN, ENDED, TAKEN = 100, 200, 1_000
SETTINGS = planning()
ENDED_STATES = (State.CLOSING, State.CLOSED)
UNSENT = (State.KNOWN, State.UNCONFIRMED)


def ours(entity: EntityId = KV, number: int = 1, user: str = "alice", policy_id: int = 7, **edited: Any) -> Policy:
    """The policy of a life as Ranger has it, perhaps edited."""
    life = Life(entity, number, user, Position(BEGUN, False, "", ""), State.PENDING, accesses=ALL)
    (step,) = plan([life], SETTINGS)
    assert isinstance(step, CreateGrant)
    return replaced(step.policy, **{"id": policy_id, "version": 3, "service_type": "cdap"} | edited)


def row(state: State, entity: EntityId = KV, number: int = 1, creator: str | None = "alice", **fields: Any) -> Life:
    """A row of the ledger that goes with `ours`."""
    over = state in ENDED_STATES
    begun, ended = Position(BEGUN + 200 * number, False, "s", "1"), Position(ENDED + 200 * number, True, "s", "2")
    sent = state not in (*UNSENT, State.PENDING) and creator is not None and "written" not in fields
    holds: dict[str, Any] = {}
    if sent:
        written = content_of(ours(entity, number, creator or ""))
        holds = {"policy_id": 7, "policy_version": 3, "written": written, "applied": ALL}
    life = Life(entity, number, creator, begun, state, ended=ended if over else None, accesses=ALL if creator else ())
    return replace(life, **{**holds, **fields})


def inventory(*entities: EntityId, taken: int = TAKEN) -> Inventory:
    return Inventory("cdap", taken, entities)


def changed(lives: Iterable[Life], changes: Iterable[LedgerChange]) -> list[Life]:
    """The ledger after these changes."""
    rows = {(life.entity, life.number): life for life in lives}
    for change in changes:
        if change.after:
            rows[change.after.entity, change.after.number] = change.after
        else:
            rows.pop((change.life.entity, change.life.number), None)
    return [rows[key] for key in sorted(rows)]


def signature(policy: Policy) -> list[str]:
    """The resources of a policy in any order, which Ranger allows to one enabled policy."""
    own = "" if policy.is_enabled else policy.guid
    return [*sorted(map(str, (policy.resources, *policy.additional_resources))), own]


class RangerInMemory:
    """As much of Ranger as the writer meets: a guid, a name and a resource are there once."""

    def __init__(self, policies: Collection[Policy]) -> None:
        self.policies = {policy.id: policy for policy in policies}

    def create_policy(self, policy: Policy) -> Policy:
        for there in self.policies.values():
            if there.name == policy.name or there.guid == policy.guid:
                raise RequestRejected("name", reason_codes=(3006,), ranger_message=f"policy-name=[{there.name}]")
            if signature(there) == signature(policy):
                raise RequestRejected("resource", reason_codes=(3010,), ranger_message=f"policy-id=[{there.id}]")
        new = replaced(policy, id=max([100, *(n for n in self.policies if n)]) + 1, version=1)
        self.policies[new.id] = new
        return new

    def update_policy(self, policy: Policy) -> Policy:
        new = replaced(policy, version=(self.policies[policy.id].version or 0) + 1)
        self.policies[policy.id] = new
        return new

    def policy_by_guid(self, service: str, guid: str, zone: str = "") -> Policy | None:
        return next((policy for policy in self.policies.values() if policy.guid == guid), None)

    def delete_policy(self, policy_id: int) -> None:
        if self.policies.pop(policy_id, None) is None:
            raise NotFound("no such policy")

    def security_zones(self, service: str) -> dict[str, SecurityZoneInfo]:
        return {}

    def list_policies(self, service: str, zone: str = "") -> list[Policy]:
        return list(self.policies.values())

    def holdings(self) -> set[tuple[str, str, str]]:
        """Who holds what where."""
        return {
            (str(policy.resources), who, access.type)
            for policy in self.policies.values()
            for item in policy.policy_items
            for who in (*item.users, *item.groups)
            for access in item.accesses
        }


def push(lives: Iterable[Life], ranger: RangerInMemory) -> list[Life]:
    """What the next run does: the ledger after it."""
    before = list(lives)
    owed = [life for life in before if life.state in PUSH_STATES]
    lanes = (list(steps) for _, steps in groupby(plan(owed, SETTINGS), key=lambda step: step.life.entity))
    outcomes = StepExecutor(1, 0).carry_out(lanes, ranger)
    return changed(before, [LedgerChange(None, life) for _, life, *_ in outcomes])


def find_drift(
    lives: Iterable[Life], policies: Iterable[Policy], inventory: Inventory | None, settings: PlanSettings
) -> list[DriftFinding]:
    """All differences, by entity."""
    return [found for facts in survey(lives, policies, inventory, settings) for found in drift_of(facts, settings)]
