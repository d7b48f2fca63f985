"""The shadow report of real decisions: it misses no change, names what is really missing, and closing ends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.audit.verify import Place
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.answer import EvaluatedPrivilege, evaluate_privilege
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.cdap.entity import parse_entity
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.cdap.profile import profile_names
from ranger_cdap.tools.policies.needed_policies import needed_policies
from ranger_cdap.tools.shadow.shadow_report import ShadowChange, ShadowReport, ShadowRow, Target, gaps
from tests.authz.fixtures import Memory, authorizer, engine, policy
from tests.cdap.checks.predecessor_answers import POLICIES, made, recorded
from tests.cdap.fixtures import Policies

Json = dict[str, Any]

START = CdapCheck("PROGRAM", ("nsx", "a", "workflow", "W"), ("APPLICATION.EXECUTE",), None, "")
DELETE = CdapCheck("DATASET", ("ns1", "other"), ("STANDARD.DELETE",), None, "")
MAY_START = policy(21, {"namespace": "nsx", "application": "a", "program": "workflow.W"}, ["bob"], ["execute"])


@dataclass(frozen=True)
class World:
    """Policies and a profile; nothing is enforced."""

    policies: tuple[Json, ...]
    profile: str = "default"

    def authorizer(self, memory: Memory) -> Authorizer:
        """It reports what it decides."""
        limits = Enforcement(frozenset(), None, UnenforcedMode.REPORT)
        return authorizer(self.policies, memory, profile=self.profile, enforcement=limits)

    def changes(self, users: Iterable[str], checks: Sequence[CdapCheck]) -> Iterator[tuple[bool, bool, Memory]]:
        """Each check's answer, what it would be if everything was enforced, and the audit."""
        memory = Memory()
        reporting = AccessEnforcer(self.authorizer(memory), MasterCreate.DENY)
        enforcing = AccessEnforcer(authorizer(self.policies, profile=self.profile), MasterCreate.DENY)
        for user in users:
            for check in checks:
                memory.records.clear()
                yield reporting.enforce(user, check).allowed, enforcing.enforce(user, check).allowed, memory

    def report(self, users: Iterable[str], checks: Sequence[CdapCheck]) -> tuple[ShadowRow, ...]:
        """The report of one run."""
        memory = Memory()
        enforcer = AccessEnforcer(self.authorizer(memory), MasterCreate.DENY)
        for user in users:
            for check in checks:
                enforcer.enforce(user, check)
        return self.read(memory)

    def read(self, memory: Memory) -> tuple[ShadowRow, ...]:
        """The report of an audit."""
        found = ShadowReport("cdapdev", 0)
        for number, record in enumerate(memory.records):
            found.read(Place("audit", number), msgspec.json.encode(record))
        assert not found.rejected
        if not found.rows:
            return ()
        ask = Policies(engine(self.policies))

        def evaluate(user: str, _: str, entity: Target, actions: tuple[str, ...]) -> EvaluatedPrivilege:
            return evaluate_privilege(user, entity, actions, ask, ask.names)

        return tuple(found.by_now(evaluate))

    def closed(self, rows: Sequence[ShadowRow]) -> World:
        """The world after the policies that close the gaps were applied."""
        first = 1 + max((one["id"] for one in self.policies), default=0)
        more = (
            {"version": 1, **one.document(), "id": number}
            for number, one in enumerate(needed_policies(gaps(rows), "cdap"), first)
        )
        return replace(self, policies=(*self.policies, *more))


def denied(rows: Iterable[ShadowRow]) -> list[ShadowRow]:
    return [row for row in rows if row.key.change is ShadowChange.DENIED]


def test_the_report_blames_what_is_missing_and_not_the_policy_that_allows() -> None:
    world = World((MAY_START,))
    rows = world.report(["bob"], [START])
    assert {(row.key.decisive, row.closed) for row in rows} == {("READ on namespace:nsx", False)}
    after = world.closed(rows)
    assert len(after.policies) == 2
    assert after.report(["bob"], [START]) == ()


def test_what_is_denied_without_any_policy_is_in_the_report() -> None:
    above = policy(1, {"namespace": "ns1", "dataset": "*"}, ["bob"], ["admin"], isAuditEnabled=False)
    for policies in ((), (above,)):
        world = World(policies, "004" if policies else "default")
        ((now, would, memory),) = world.changes(["bob"], [DELETE])
        assert bool(world.read(memory)) is (now is not would)


def test_a_denial_names_the_policy_that_denies_and_nothing_to_grant() -> None:
    deny = {"denyPolicyItems": [{"users": ["bob"], "accesses": [{"type": "read"}]}]}
    world = World((MAY_START, policy(7, {"namespace": "nsx"}, ["ann"], ["read"], **deny)))
    for row in world.report(["bob"], [START]):
        assert row.key.decisive == "READ on namespace:nsx: policy 7 denies"
        assert (row.closed, row.gaps) == (False, ())


def test_several_privileges_missing_on_one_pattern_are_one_row_and_closed_together() -> None:
    local = Context({"local_datasets": (parse_pattern("dataset:ns1.local*"),)})

    def report(world: World) -> tuple[ShadowRow, ...]:
        memory = Memory()
        world.authorizer(memory).check("bob", (), "program.start", parse_entity("program:ns1.a.spark.S"), context=local)
        return world.read(memory)

    world = World((), "004")
    (row,) = (row for row in report(world) if row.key.resource.startswith("dataset:"))
    assert row.key.decisive == "; ".join(f"{a} on dataset:ns1.local*" for a in ("ADMIN", "READ", "WRITE"))
    assert row.gaps == ("admin", "read", "write")
    after = world.closed(report(world))
    assert report(after) == ()


@settings(max_examples=10)
@given(
    rows=POLICIES,
    profile=st.sampled_from(profile_names()),
    audited=st.booleans(),
)
def test_each_changed_answer_has_a_record_and_no_other_is_a_change(rows: Any, profile: str, audited: bool) -> None:
    policies = tuple({**one, "isAuditEnabled": audited} for one in made(rows))
    world = World(policies, profile)
    for now, would, memory in world.changes(["alice", "eve"], recorded()):
        assert now, "everything is allowed meanwhile"
        assert {row.key.change for row in world.read(memory)} == (set() if would else {ShadowChange.DENIED})


@settings(max_examples=25)
@given(rows=POLICIES, profile=st.sampled_from(profile_names()))
def test_once_the_gaps_are_closed_only_policies_deny(rows: Any, profile: str) -> None:
    world, users = World(tuple(made(rows)), profile), ["alice", "eve"]
    found = world.report(users, recorded())
    world = world.closed(found)
    found = world.report(users, recorded())
    for row in denied(found):
        by_policy = any(one.policy >= 0 for one in row.key.missing)
        assert by_policy or not row.key.missing, row
    if not any(one.get("denyPolicyItems") for one in world.policies):
        assert [row for row in denied(found) if row.key.missing] == []
