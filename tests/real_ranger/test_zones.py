"""Security zones: what is decided in one, and that our files and `apply` reach into it."""

from __future__ import annotations

from dataclasses import replace

from ranger_cdap.cdap.entity import EntityId
from spark_sync.grants.plan_settings import plan_settings
from tests.real_ranger.estate import Estate, Json
from tests.real_ranger.ui_forms import POLICIES, ZONES, zone
from tests.spark_sync.grants.fixtures import MemoryLedger, life, look_at, push_by


def test_in_a_zone_its_policies_decide_alone_until_it_goes(estate: Estate, finance: str) -> None:
    alice, bob = estate.name("alice"), estate.name("bob")
    with estate.plugin() as plugin:

        def readers(namespace: str) -> list[str]:
            return [user for user in (alice, bob) if estate.may(plugin, user, "read", namespace=namespace)]

        assert (readers("fin1"), readers("sales")) == ([alice], [bob])
        (there,) = [row for row in estate.listed("zones") if row["name"] == finance]
        estate.done("DELETE", f"{ZONES}/{there['id']}")
        assert (readers("fin1"), readers("sales")) == ([bob], [bob])


def test_files_of_policies_reach_into_a_zone(estate: Estate, finance: str) -> None:
    files = estate.directory / "policies"
    assert estate.run("policies", "export", "--directory", str(files)) == 0
    assert estate.run("policies", "apply", "--dry-run", str(files)) == 0
    inside = estate.policies()["in"]
    estate.done("DELETE", f"{POLICIES}/{inside['id']}")
    assert estate.run("policies", "apply", "--dry-run", str(files)) == 2
    assert estate.run("policies", "apply", str(files), "--yes") == 0
    again = estate.policies()["in"]
    assert (again["zoneName"], again["policyItems"]) == (finance, inside["policyItems"])
    versions = estate.versions()
    assert estate.run("policies", "apply", str(files), "--yes") == 0
    assert estate.versions() == versions


def test_a_second_set_up_changes_nothing_in_or_outside_a_zone(estate: Estate, finance: str) -> None:
    versions = estate.versions()
    assert estate.run("setup", "--yes") == 0
    assert estate.versions() == versions


def test_a_creators_grant_is_in_effect_wherever_its_zone_goes(estate: Estate) -> None:
    estate.set_up()
    nina, name, entity = estate.user("nina"), estate.name("finance"), EntityId("namespace", ("fin1",))
    planning, ledger = plan_settings(estate.settings), MemoryLedger([life(nina, entity)])

    def zoned(method: str, path: str, name: str = name, namespaces: str = "fin*") -> Json:
        rows = {estate.service: [{"instance": ["cdap"], "namespace": [namespaces]}]}
        return estate.done(method, f"{ZONES}{path}", zone(name, rows, adminUsers=[nina], auditUsers=[nina]))

    def granted() -> tuple[str, str, bool]:
        """A run; then the state, the zone, and whether the creator has the right."""
        ledger.record(look_at(ledger, estate.admin, planning).changed)
        assert push_by(estate.settings, ledger).error is None
        (found,) = ledger.lives_of(entity)
        with estate.plugin() as plugin:
            return found.state.value, found.zone, estate.may(plugin, nina, "admin", namespace="fin1")

    made = zoned("POST", "")
    there = f"/{made['id']}"
    assert granted() == ("applied", name, True)
    policy = ledger.lives_of(entity)[0].policy_id
    zoned("PUT", there, name=f"{name}2")
    assert granted() == ("applied", f"{name}2", True)
    assert ledger.lives_of(entity)[0].policy_id == policy
    zoned("PUT", there, name=f"{name}2", namespaces="money*")
    assert granted() == ("applied", "", True)
    zoned("PUT", there, name=f"{name}2")
    assert granted() == ("blocked", "", False)
    planning = replace(planning, follow_zones=True)
    assert granted() == ("applied", f"{name}2", True)
    estate.done("DELETE", f"{ZONES}{there}")
    assert granted() == ("applied", "", True)
