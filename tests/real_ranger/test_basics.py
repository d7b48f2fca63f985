"""What every flow relies on: a second set-up, downloads and who may have them, and what Ranger refuses."""

from __future__ import annotations

import msgspec
import pytest

from ranger_cdap.errors import AccessForbidden, RequestRejected, ServiceNotFound
from ranger_cdap.ranger.changes.carry_out import carry_out
from ranger_cdap.ranger.changes.setup_rights import recorded
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger.setup.service_setup import plan, read_state
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.decode import decode_policy, decode_service_policies
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from tests.real_ranger.estate import Estate


@pytest.fixture(autouse=True)
def _service(estate: Estate) -> None:
    """A service whose instance bob administers."""
    list(carry_out(steps(estate, estate.user("bob")), estate.admin, estate.service))


def steps(estate: Estate, admin_user: str) -> tuple[Step, ...]:
    wanted = DesiredState(estate.service, "cdap", plugin_account=estate.user("plugin"), admin_users=(admin_user,))
    return plan(wanted, read_state(estate.admin, estate.service))


def reading(estate: Estate, name: str, namespace: str, user: str = "alice") -> Policy:
    values = {"instance": "cdap", "namespace": namespace}
    return Policy(
        name=name,
        service=estate.service,
        resources={level: PolicyResource(values=[value]) for level, value in values.items()},
        policy_items=[PolicyItem(users=[estate.name(user)], accesses=[PolicyItemAccess(type="read")])],
    )


def download(estate: Estate, known: int = -1, *, user: str = "plugin", service: str = "") -> bytes | None:
    name = service or estate.service
    with estate.client(estate.user(user)) as client:
        return client.download_policies(name, last_known_version=known, by=Downloader(f"cdap@test-{name}"))


def test_a_second_set_up_changes_nothing(estate: Estate) -> None:
    again = steps(estate, estate.name("bob"))
    assert [str(step) for step in again if step.change is not StepChange.KEEP] == []


def test_another_administrator_replaces_the_first_and_a_download_shows_the_record(estate: Estate) -> None:
    """The doctor knows by the labels of a download who was given rights by `setup`."""

    def recorded_there() -> set[str]:
        raws = decode_service_policies(download(estate) or b"").policies or ()
        return {holder.name for raw in raws for holder in recorded(decode_policy(raw))}

    assert recorded_there() == {estate.name("bob")}
    carol = estate.user("carol")
    list(carry_out(steps(estate, carol), estate.admin, estate.service))
    assert recorded_there() == {carol}
    assert (estate.admin.get_service(estate.service) or {})["configs"]["service.admin.users"] == carol
    assert [str(step) for step in steps(estate, carol) if step.change is not StepChange.KEEP] == []


def test_a_policy_is_downloaded_and_decides_until_it_is_deleted(estate: Estate) -> None:
    alice = estate.user("alice")
    made = estate.admin.create_policy(reading(estate, "p1", "ns1"))
    with estate.plugin() as plugin:
        asked = [(user, name) for user in (alice, estate.name("bob")) for name in ("ns1", "ns2")]
        allowed = [(user, name) for user, name in asked if estate.may(plugin, user, "read", namespace=name)]
        assert allowed == [(alice, "ns1")]
        version = decode_service_policies(download(estate) or b"").policy_version
        assert version is not None
        assert download(estate, version) is None
        assert made.id is not None
        estate.admin.delete_policy(made.id)
        assert download(estate, version) is not None
        assert not estate.may(plugin, alice, "read", namespace="ns1")


@pytest.mark.parametrize(("name", "namespace", "code"), [("p2", "ns1", "3010"), ("p1", "ns2", "3006")])
def test_the_same_resource_or_name_is_refused_a_second_time(
    estate: Estate, name: str, namespace: str, code: str
) -> None:
    estate.user("alice")
    estate.admin.create_policy(reading(estate, "p1", "ns1"))
    with pytest.raises(RequestRejected, match=code):
        estate.admin.create_policy(reading(estate, name, namespace))


def test_an_unknown_user_is_refused(estate: Estate) -> None:
    with pytest.raises(RequestRejected, match=estate.name("nobody")):
        estate.admin.create_policy(reading(estate, "p1", "ns1", user="nobody"))


def test_a_download_is_for_the_account_that_has_the_right(estate: Estate) -> None:
    assert download(estate) is not None
    with pytest.raises(AccessForbidden):
        download(estate, user="alice")
    administrator = Downloader("cdap@test-none")
    with pytest.raises(ServiceNotFound):
        estate.admin.download_policies(estate.name("none"), last_known_version=-1, by=administrator)


def test_a_policy_is_read_as_it_was_written(estate: Estate) -> None:
    estate.user("alice")
    wanted = reading(estate, "p1", "ns1")
    written = estate.admin.create_policy(wanted)
    for field in ("name", "resources", "policy_items", "is_enabled"):
        assert msgspec.to_builtins(getattr(written, field)) == msgspec.to_builtins(getattr(wanted, field)), field
