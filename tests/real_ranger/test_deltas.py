"""A plugin that follows change by change decides as one that downloads everything, whichever way Ranger answers."""

from __future__ import annotations

import random

import pytest

from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger.refresh.documents import holds_deltas
from tests.real_ranger.conftest import REAL
from tests.real_ranger.estate import Address, Estate, Json, allows
from tests.real_ranger.ui_forms import POLICIES, item, new_policy, saved_policy

NAMES, PEOPLE = ("ns1", "ns2", "ns3"), ("alice", "bob")
SERVERS = pytest.mark.parametrize("address", ["embedded", "embedded with deltas", REAL], indirect=True, scope="module")


def edit(estate: Estate, draw: random.Random) -> None:
    """Create, change, switch off or delete a policy of one namespace, in its form."""
    name = draw.choice(NAMES)
    row = item(draw.choice(("read", "write")), users=[estate.name(draw.choice(PEOPLE))])
    rows: Json = {"denyPolicyItems": [row]} if draw.random() < 0.3 else {"policyItems": [row]}
    there = estate.policies().get(name)
    if there is None:
        levels = {"instance": ["cdap"], "namespace": [name]}
        estate.done("POST", POLICIES, new_policy(estate.service, name, levels, **rows))
    elif draw.random() < 0.3:
        estate.done("DELETE", f"{POLICIES}/{there['id']}")
    else:
        cleared: Json = {"policyItems": [], "denyPolicyItems": []}
        typed = cleared | rows | {"isEnabled": draw.random() < 0.8}
        estate.done("PUT", f"{POLICIES}/{there['id']}", saved_policy(there, **typed))


@SERVERS
@pytest.mark.parametrize("seed", range(2))
def test_change_by_change_decides_like_a_whole_download(address: Address, estate: Estate, seed: int) -> None:
    estate.set_up()
    for name in PEOPLE:
        estate.user(name)
    draw, seen = random.Random(seed), set[tuple[bool, ...]]()
    with estate.plugin() as kept:
        for step in range(10):
            for _ in range(draw.randrange(1, 3)):
                edit(estate, draw)
            asked = [(user, access, name) for user in PEOPLE for access in ("read", "write") for name in NAMES]

            with estate.plugin(f"fresh {step}") as fresh:
                answers = [
                    tuple(allows(now, estate.name(user), access, namespace=name) for user, access, name in asked)
                    for now in (kept.refresh(), fresh.refresh())
                ]
                assert answers[0] == answers[1], step
                assert kept.snapshot.versions.policies == fresh.snapshot.versions.policies
            seen.add(answers[0])
    assert len(seen) > 3


@SERVERS
def test_one_change_is_sent_alone_only_where_both_sides_support_it(
    address: Address, estate: Estate, request: pytest.FixtureRequest
) -> None:
    """A real server has its switch `ranger.admin.supports.policy.deltas` as it has it: either answer is right."""
    estate.set_up()
    estate.user("alice")
    version = estate.versions()["policies"]
    row = item("read", users=[estate.name("alice")])
    form = new_policy(estate.service, "p", {"instance": ["cdap"], "namespace": ["ns1"]}, policyItems=[row])
    estate.done("POST", POLICIES, form)
    with estate.client(estate.name("plugin")) as plugin:
        alone = {
            asked: holds_deltas(
                plugin.download_policies(
                    estate.service, last_known_version=version, by=Downloader("cdap@test"), deltas=asked
                )
                or b"{}"
            )
            for asked in (False, True)
        }
    assert not alone[False]
    server = request.node.callspec.params["address"]
    assert server == "real" or alone[True] == (server == "embedded with deltas")
