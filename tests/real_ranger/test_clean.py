"""What interrupted flows left is removed by one command, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tests.real_ranger.clean import remove_leftovers
from tests.real_ranger.estate import V2, Address, Estate
from tests.real_ranger.ui_forms import POLICIES, ZONES, item, new_policy, zone


def interrupted(address: Address, directory: Path) -> Estate:
    """A flow that made one of each kind, and did not come to its end."""
    directory.mkdir()
    estate = Estate(address, directory)
    estate.set_up()
    alice = estate.user("alice", "ops")
    levels = {"instance": ["cdap"], "namespace": ["ns1"]}
    row = item("read", users=[alice])
    estate.done("POST", POLICIES, new_policy(estate.service, "ns1", levels, policyItems=[row]))
    assert estate.admin.roles.create(estate.service, estate.name("inner"))
    assert estate.admin.roles.create(estate.service, estate.name("outer"), roles=[estate.name("inner")])
    zoned = zone(
        estate.name("zone"),
        {estate.service: [{"instance": ["cdap"], "namespace": ["ns2"]}]},
        adminUsers=[alice],
        auditUsers=[alice],
    )
    estate.done("POST", ZONES, zoned)
    estate.admin.close()
    return estate


def test_leftovers_of_all_flows_are_removed_and_nothing_else(estate: Estate, tmp_path: Path) -> None:
    estate.set_up()
    other = {"name": "other-rcdap0123abcd-service", "type": "cdap", "isEnabled": True, "configs": {}}
    service = estate.done("POST", f"{V2}/service", other)
    assert remove_leftovers(estate.address) == [estate.token]
    before = estate.state()  # with the definition, which stays

    flows = [interrupted(estate.address, tmp_path / name) for name in ("one", "two")]
    assert estate.state() != before

    assert remove_leftovers(estate.address) == sorted(flow.token for flow in flows)
    assert estate.state() == before
    assert remove_leftovers(estate.address) == []

    estate.done("DELETE", f"{V2}/service/{service['id']}")
