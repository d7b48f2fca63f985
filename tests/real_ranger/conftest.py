"""The Ranger Admin of the flows: the embedded one always, a real one too where RANGER_URL is set.

The real one is asked as the administrator RANGER_USER (default `admin`) with RANGER_PASSWORD; nobody signs in with a
wrong password, because five would lock an account. `make ranger-up` starts one. Nobody else may change it meanwhile:
each flow is held to leave it as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest
from filelock import FileLock

from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.real_ranger.estate import PASSWORD, Address, Estate, address_of_environment
from tests.real_ranger.ui_forms import POLICIES, ZONES, item, new_policy, zone

FIN = {"instance": ["cdap"], "namespace": ["fin*"]}
REAL = pytest.param("real", marks=pytest.mark.real_ranger)


@pytest.fixture(scope="module", params=["embedded", REAL])
def address(request: pytest.FixtureRequest) -> Iterator[Address]:
    """A server for all flows of a file; `embedded with deltas` sends changes of policies only."""
    if request.param == "real":
        if "RANGER_URL" not in os.environ:
            pytest.skip("needs a real Ranger Admin: set RANGER_URL")
        # One file at a time, whatever the number of workers: another one's policies would be taken for this one's.
        with FileLock(Path(gettempdir()) / "ranger-cdap-real-ranger.lock"):
            yield address_of_environment()
        return
    with EmbeddedAdmin(
        admin_password=PASSWORD.reveal(), policy_deltas=request.param == "embedded with deltas"
    ) as server:
        yield Address(server.url, "admin", PASSWORD)


@pytest.fixture
def estate(address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Estate]:
    """A part of the server, removed afterwards; whatever a flow did, the server is then as it was."""
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", address.password.reveal())
    estate = Estate(address, tmp_path)
    before = estate.state()
    try:
        yield estate
    finally:
        estate.clean()
    assert estate.state() == before


@pytest.fixture
def finance(estate: Estate) -> str:
    """A zone with the namespaces `fin*`; alice may read them by a policy in it, bob all by one outside."""
    return make_finance(estate)


def make_finance(estate: Estate) -> str:
    """Make the zone of the fixture `finance` and return its name."""
    estate.set_up()
    name, alice, bob = estate.name("finance"), estate.user("alice"), estate.user("bob")
    estate.done("POST", ZONES, zone(name, {estate.service: [FIN]}, adminUsers=[alice], auditUsers=[alice]))
    inside = new_policy(estate.service, "in", FIN, zone=name, policyItems=[item("read", users=[alice])])
    everywhere = {"instance": ["cdap"], "namespace": ["*"]}
    outside = new_policy(estate.service, "out", everywhere, policyItems=[item("read", users=[bob])])
    for policy in (inside, outside):
        estate.done("POST", POLICIES, policy)
    return name
