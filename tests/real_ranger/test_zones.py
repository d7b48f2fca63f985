"""Security zones: what is decided in one, and that our files and `apply` reach into it."""

from __future__ import annotations

import pytest

from tests.real_ranger.estate import Estate
from tests.real_ranger.ui_forms import POLICIES, ZONES, item, new_policy, zone

FIN = {"instance": ["cdap"], "namespace": ["fin*"]}


@pytest.fixture
def finance(estate: Estate) -> str:
    """A zone with the namespaces `fin*`; alice may read them by a policy in it, bob all by one outside."""
    estate.set_up()
    name, alice, bob = estate.name("finance"), estate.user("alice"), estate.user("bob")
    estate.done("POST", ZONES, zone(name, {estate.service: [FIN]}, adminUsers=[alice], auditUsers=[alice]))
    inside = new_policy(estate.service, "in", FIN, zone=name, policyItems=[item("read", users=[alice])])
    everywhere = {"instance": ["cdap"], "namespace": ["*"]}
    outside = new_policy(estate.service, "out", everywhere, policyItems=[item("read", users=[bob])])
    for policy in (inside, outside):
        estate.done("POST", POLICIES, policy)
    return name


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
