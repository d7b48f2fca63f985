"""What a real Ranger Admin must do for us: asked of the embedded one always, of a real one where RANGER_URL is set.

The real one is asked as the administrator RANGER_USER (default `admin`) with RANGER_PASSWORD; nobody signs in with a
wrong password, because five would lock an account. `make ranger-up` starts one. The service that a test makes is
deleted; the definition and two users stay.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import pytest
from apache_ranger.client.ranger_client import RangerClient

from ranger_cdap.config import Secret
from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.errors import AccessForbidden, RequestRejected, ServiceNotFound
from ranger_cdap.policies.client.connection import AdminConnection
from ranger_cdap.policies.client.downloader import Downloader
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.service_setup import DesiredState, SetupAction, carry_out, plan, read_state
from ranger_cdap.policies.manage.setup_rights import recorded
from ranger_cdap.ranger_model.decode import decode_policy, decode_service_policies, decode_service_tags
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource

PASSWORD = Secret("Correct-horse-7")
PEOPLE = ("rcdap-alice", "rcdap-bob")
ALICE, BOB = PEOPLE


@dataclass(frozen=True)
class Address:
    """Where a Ranger Admin is, and who administers it."""

    url: str
    user: str
    password: Secret


def real() -> Address:
    if "RANGER_URL" not in os.environ:
        pytest.skip("needs a real Ranger Admin: set RANGER_URL")
    password = Secret(os.environ["RANGER_PASSWORD"])
    return Address(os.environ["RANGER_URL"], os.environ.get("RANGER_USER", "admin"), password)


@pytest.fixture(scope="module", params=["embedded", pytest.param("real", marks=pytest.mark.real_ranger)])
def address(request: pytest.FixtureRequest) -> Iterator[Address]:
    if request.param == "real":
        yield real()
        return
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        yield Address(server.url, "admin", PASSWORD)


@pytest.fixture(scope="module")
def admin(address: Address) -> Iterator[RangerAdmin]:
    with RangerAdmin(AdminConnection(address.url, username=address.user, password=address.password)) as admin:
        for name in PEOPLE:
            if not admin.user_exists(name):
                admin.create_user(name, PASSWORD)
        yield admin


@pytest.fixture
def service(address: Address, admin: RangerAdmin) -> Iterator[str]:
    """A service of our own, set up as `ranger-cdap setup` does it; alice is the plugin's account."""
    wanted = DesiredState(f"rcdap-{secrets.token_hex(4)}", "cdap", plugin_account=ALICE, admin_users=(BOB,))
    carry_out(plan(wanted, read_state(admin, wanted.service)), admin)
    yield wanted.service
    client = RangerClient(address.url, (address.user, address.password.reveal()))
    client.session.trust_env = False
    client.delete_service(wanted.service)


def reading(service: str, name: str, namespace: str) -> Policy:
    values = {"instance": "cdap", "namespace": namespace}
    return Policy(
        name=name,
        service=service,
        resources={level: PolicyResource(values=[value]) for level, value in values.items()},
        policy_items=[PolicyItem(users=[ALICE], accesses=[PolicyItemAccess(type="read")])],
    )


def download(address: Address, service: str, known: int = -1, *, user: str = ALICE) -> bytes | None:
    with RangerAdmin(AdminConnection(address.url, username=user, password=PASSWORD, attempts=1)) as plugin:
        return plugin.download_policies(service, last_known_version=known, by=Downloader(f"cdap@test-{service}"))


def readers(admin: RangerAdmin, answer: bytes | None, namespace: str) -> set[str]:
    """Who may read it by the downloaded policies; without the tags no engine judges tag policies."""
    assert answer is not None
    policies = decode_service_policies(answer)
    tags = admin.download_tags(policies.service_name, last_known_version=-1, by=Downloader("cdap@test"))
    assert tags is not None
    engine = PolicyEngine.build(policies, tags=decode_service_tags(tags))
    resource = {"instance": "cdap", "namespace": namespace}
    asked = [AccessRequest(resource=resource, access_type="read", user=name) for name in PEOPLE]
    return {request.user for request in asked if engine.evaluate(request).allowed}


def test_a_second_set_up_changes_nothing(admin: RangerAdmin, service: str) -> None:
    steps = plan(DesiredState(service, "cdap", plugin_account=ALICE, admin_users=(BOB,)), read_state(admin, service))
    assert [str(step) for step in steps if step.change is not SetupAction.KEEP] == []


def test_another_administrator_replaces_the_first_and_a_download_shows_the_record(
    address: Address, admin: RangerAdmin, service: str
) -> None:
    """The doctor knows by the labels of a download who was given rights by `setup`."""

    def recorded_there() -> set[str]:
        raws = decode_service_policies(download(address, service) or b"").policies or ()
        return {holder.name for raw in raws for holder in recorded(decode_policy(raw))}

    assert recorded_there() == {BOB}
    wanted = DesiredState(service, "cdap", plugin_account=ALICE, admin_users=(ALICE,))
    carry_out(plan(wanted, read_state(admin, service)), admin)
    assert recorded_there() == {ALICE}
    assert (admin.get_service(service) or {})["configs"]["service.admin.users"] == ALICE
    assert [str(step) for step in plan(wanted, read_state(admin, service)) if step.change is not SetupAction.KEEP] == []


def test_a_policy_is_downloaded_and_decides_until_it_is_deleted(
    address: Address, admin: RangerAdmin, service: str
) -> None:
    made = admin.create_policy(reading(service, "p1", "ns1"))
    answer = download(address, service)
    assert (readers(admin, answer, "ns1"), readers(admin, answer, "ns2")) == ({ALICE}, set())
    version = decode_service_policies(answer or b"").policy_version
    assert version is not None
    assert download(address, service, version) is None
    assert made.id is not None
    admin.delete_policy(made.id)
    assert readers(admin, download(address, service, version), "ns1") == set()


def test_the_same_resource_or_name_is_refused_a_second_time(admin: RangerAdmin, service: str) -> None:
    admin.create_policy(reading(service, "p1", "ns1"))
    for second, code in ((reading(service, "p2", "ns1"), "3010"), (reading(service, "p1", "ns2"), "3006")):
        with pytest.raises(RequestRejected, match=code):
            admin.create_policy(second)


def test_an_unknown_user_is_refused(admin: RangerAdmin, service: str) -> None:
    item = PolicyItem(users=["rcdap-nobody"], accesses=[PolicyItemAccess(type="read")])
    stranger = msgspec.structs.replace(reading(service, "p1", "ns1"), policy_items=[item])
    with pytest.raises(RequestRejected, match="rcdap-nobody"):
        admin.create_policy(stranger)


def test_a_download_is_for_the_account_that_has_the_right(address: Address, admin: RangerAdmin, service: str) -> None:
    assert download(address, service) is not None
    with pytest.raises(AccessForbidden):
        download(address, service, user=BOB)
    with pytest.raises(ServiceNotFound):
        admin.download_policies("rcdap-no-such-service", last_known_version=-1, by=Downloader("cdap@test-none"))
