"""Authorization rolled out in phases (S001-P2): what is outside is reported or denied, never just passed."""

from __future__ import annotations

import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode, enforcement
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.config import parse_settings
from ranger_cdap.errors import ConfigError
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from tests.authz.fixtures import Memory, authorizer, policy

KV, SECRET = entity_id("dataset", ["ns1", "kv"]), entity_id("secure_key", ["ns1", "key"])
POLICIES = [
    policy(1, {"namespace": "ns1"}, ["alice"], ["read"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"]),
    policy(3, {"namespace": "ns1", "dataset": "kv"}, ["bob"], ["write"]),
]
DATASETS, NOTHING = frozenset({"dataset"}), frozenset[str]()
REPORT, DENY = UnenforcedMode.REPORT, UnenforcedMode.DENY

CASES = [
    # enforced types, what becomes of the rest; user, operation, entity; allowed, enforced, the audited result
    (None, DENY, "alice", "dataset.get", KV, True, True, 1),
    (None, DENY, "eve", "dataset.get", KV, False, True, 0),
    (DATASETS, REPORT, "eve", "dataset.get", KV, False, True, 0),
    (DATASETS, REPORT, "alice", "dataset.get", KV, True, True, 1),
    (NOTHING, REPORT, "alice", "dataset.get", KV, True, False, 1),
    (NOTHING, REPORT, "eve", "dataset.get", KV, True, False, 0),
    (NOTHING, DENY, "alice", "dataset.get", KV, False, True, 0),
    (NOTHING, DENY, "eve", "dataset.get", KV, False, True, 0),
]


def limited(types: frozenset[str] | None, outside: UnenforcedMode, memory: Memory | None = None) -> Authorizer:
    return authorizer(POLICIES, memory, enforcement=Enforcement(None, types, outside))


@pytest.mark.parametrize(("types", "outside", "user", "operation", "entity", "allowed", "enforced", "result"), CASES)
def test_outside_everything_is_decided_and_audited_and_then_the_mode_speaks(
    types: frozenset[str] | None,
    outside: UnenforcedMode,
    user: str,
    operation: str,
    entity: object,
    allowed: bool,
    enforced: bool,
    result: int,
) -> None:
    memory = Memory()
    answer = limited(types, outside, memory).check(user, (), operation, KV)

    assert (answer.allowed, answer.enforced) == (allowed, enforced)
    assert {(record.result, record.enforced) for record in memory.records} == {(result, enforced)}


def test_a_report_says_what_would_be_denied_and_what_is_missing() -> None:
    answer = limited(NOTHING, REPORT).check("eve", (), "dataset.get", KV)
    assert answer.reason.startswith("not enforced; it would be denied: eve needs READ on dataset:ns1.kv")
    assert str(answer.missing[0]) == "eve needs READ on dataset:ns1.kv"
    assert limited(NOTHING, REPORT).explain("eve", (), "dataset.get", KV) == answer


def test_what_is_visible_follows_the_same_mode() -> None:
    both = [KV, SECRET]
    assert limited(DATASETS, REPORT).visible("eve", (), both) == [SECRET]
    assert limited(DATASETS, DENY).visible("alice", (), both) == [KV]
    assert limited(NOTHING, REPORT).visible("eve", (), both) == both
    assert limited(None, DENY).visible("eve", (), both) == []


def test_without_policies_only_what_is_reported_passes() -> None:
    def unready(outside: UnenforcedMode) -> Answer:
        limits = Enforcement(None, DATASETS, outside)
        return authorizer(None, enforcement=limits).check("alice", (), "secure_key.get", SECRET)

    assert (unready(REPORT).allowed, unready(REPORT).enforced, unready(REPORT).ready) == (True, False, False)
    assert not unready(DENY).allowed
    limits = Enforcement(None, DATASETS, REPORT)
    assert not authorizer(None, enforcement=limits).check("alice", (), "dataset.get", KV).allowed


class Veto:
    @hookimpl
    def ranger_cdap_veto(self, answer: Answer) -> str | None:
        return "audit week"


def test_a_veto_is_reported_like_a_denial() -> None:
    plugins = plugin_manager(entry_points=False)
    plugins.register(Veto())
    reporting = authorizer(POLICIES, plugins=plugins, enforcement=Enforcement(None, NOTHING, REPORT))
    answer = reporting.check("alice", (), "dataset.get", KV)
    assert (answer.allowed, answer.enforced) == (True, False)
    assert "audit week" in answer.reason


# The name in the setting, who asks, and CDAP's check: denied by the policies, and so enforced by this name.
NAMED = [
    ("dataset.list", "eve", CdapCheck("NAMESPACE", ("ns1",), ("STANDARD.LIST",), "DATASET")),
    ("application.list", "eve", CdapCheck("NAMESPACE", ("ns1",), ("STANDARD.LIST",), "APPLICATION")),
    ("application.create", "eve", CdapCheck("APPLICATION", ("ns1", "a"), ("STANDARD.CREATE",))),
    ("application.deploy", "eve", CdapCheck("APPLICATION", ("ns1", "a"), ("STANDARD.CREATE",))),
    ("application.inner_create", "eve", CdapCheck("SYSTEM_APP_ENTITY", ("ns1", "a", "b", "c"), ("STANDARD.CREATE",))),
    ("instance.tether", "eve", CdapCheck("INSTANCE", ("",), ("INSTANCE.TETHER",))),
    # By `master.create`, whatever the policies say.
    ("artifact.add", "cdap", CdapCheck("NAMESPACE", ("ns1",), ("STANDARD.CREATE",), "ARTIFACT")),
    ("application.deploy", "cdap", CdapCheck("APPLICATION", ("ns1", "a"), ("STANDARD.CREATE",))),
]


# Checks that cannot be read, and may be of the operation that is enforced.
INVALID = [
    ("dataset.get", CdapCheck("DATASET", ("ns1", "x" * 2_000), ("STANDARD.GET",))),
    ("dataset.get", CdapCheck("DATASET", ("ns1", "kv"), ("GET",))),
    ("dataset.list", CdapCheck("NAMESPACE", ("n s",), ("STANDARD.LIST",), "DATASET")),
    ("program.start", CdapCheck("PROGRAM_RUN", ("ns1", "a"), ("STANDARD.GET",))),
]


@pytest.mark.parametrize(("operation", "check"), INVALID)
def test_an_invalid_check_is_denied_where_it_may_be_an_enforced_operation(operation: str, check: CdapCheck) -> None:
    named = enforcement(load_profile("default"), (operation,), None, REPORT)
    others = enforcement(load_profile("default"), ("stream.get",), None, REPORT)

    assert not AccessEnforcer(authorizer(POLICIES, enforcement=named), MasterCreate.DENY).enforce("eve", check).allowed
    assert AccessEnforcer(authorizer(POLICIES, enforcement=others), MasterCreate.DENY).enforce("eve", check).allowed


@pytest.mark.parametrize(("operation", "user", "check"), NAMED)
def test_a_check_of_cdap_is_enforced_by_the_name_of_its_operation(operation: str, user: str, check: CdapCheck) -> None:
    named = enforcement(load_profile("default"), (operation,), None, REPORT)
    others = enforcement(load_profile("default"), ("stream.get",), None, REPORT)

    assert not AccessEnforcer(authorizer(POLICIES, enforcement=named), MasterCreate.DENY).enforce(user, check).allowed
    assert AccessEnforcer(authorizer(POLICIES, enforcement=others), MasterCreate.DENY).enforce(user, check).allowed


@pytest.mark.parametrize(
    ("enforce", "told"),
    [
        ({}, "everything is enforced"),
        ({"operations": ["dataset.*"], "outside": "deny"}, "enforced operations: dataset.*; all else: deny"),
        ({"entity_types": [], "outside": "report"}, "enforced entity types: none; all else: report"),
    ],
)
def test_the_settings_say_what_is_enforced(enforce: dict[str, object], told: str) -> None:
    settings = parse_settings({"enforce": enforce}, origin="a test")
    assert str(AuthorizationConfig.of(settings).enforcement) == told


@pytest.mark.parametrize(
    "enforce",
    [{"operations": []}, {"outside": "pass", "operations": []}, {"operation": []}, {"entity_types": "dataset"}],
)
def test_a_mode_nobody_names_is_an_error(enforce: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        AuthorizationConfig.of(parse_settings({"enforce": enforce}, origin="a test"))
