"""What a download tells Ranger Admin about who asks: what the plugin can do, and since when it uses what it has."""

from __future__ import annotations

import msgspec
import pytest
import responses

from ranger_cdap.config import Secret, Settings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.downloader import NOT_OURS, Activations, Capability, Downloader, capabilities
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from tests.ranger.documents import SERVICE
from tests.ranger.fixtures import URL, Clock, FakeRanger


def test_what_the_plugin_can_do_is_told_bit_by_bit() -> None:
    told = int(capabilities(), 16)
    assert {one for one in Capability if told >> one & 1} == set(Capability) - NOT_OURS
    assert told < 1 << len(Capability)


NOON, LATER = 1_800_000_000.0, 1_800_000_060.5
OF_NOON = Activations(policies=1_800_000_000_000, roles=1_800_000_000_000)

# versions before, versions now, when, then since when each is in force
CHANGES = [
    ("the first set", Activations(), Versions(), Versions(7, 1), NOON, OF_NOON),
    ("nothing changed", OF_NOON, Versions(7, 1), Versions(7, 1), LATER, OF_NOON),
    (
        "policies alone",
        OF_NOON,
        Versions(7, 1),
        Versions(8, 1),
        LATER,
        Activations(policies=1_800_000_060_500, roles=1_800_000_000_000),
    ),
    (
        "tags come in",
        OF_NOON,
        Versions(7, 1),
        Versions(7, 1, 3),
        LATER,
        Activations(policies=1_800_000_000_000, roles=1_800_000_000_000, tags=1_800_000_060_500),
    ),
    ("the service is gone", OF_NOON, Versions(7, 1), Versions(), LATER, Activations()),
]


@pytest.mark.parametrize(
    ("held", "before", "now", "at", "then"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_a_document_is_in_force_since_its_version_changed(
    held: Activations, before: Versions, now: Versions, at: float, then: Activations
) -> None:
    assert held.after(before, now, at) == then


def test_the_name_is_the_application_the_machine_and_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "h1.example")
    assert Downloader.here("cdap", "cdapdev").plugin_id == "cdap@h1.example-cdapdev"
    assert len(Downloader.here("cdap", "s" * 300).plugin_id) == 255


@responses.activate
def test_a_keeper_tells_who_it_is_and_since_when_it_uses_what_it_has(settings: Settings, clock: Clock) -> None:
    FakeRanger()
    plugin = msgspec.structs.replace(settings.plugin, cluster_name="c1")
    admin = RangerAdmin(AdminConnection(URL, username="cdapsvc", password=Secret("x")))
    with PolicyRefresher(admin, msgspec.structs.replace(settings, plugin=plugin), clock=clock) as refresher:
        refresher.refresh()
        in_force_since = str(int(clock.wall * 1000))
        clock.goes_on(30)
        refresher.refresh()
    told = [call.request.params for call in responses.calls]  # type: ignore[union-attr]
    assert [sent["lastActivationTime"] for sent in told] == ["0"] * 3 + [in_force_since] * 3
    same = {"pluginId", "clusterName", "pluginCapabilities"}
    who = Downloader.here("cdap", SERVICE, "c1").query(0)
    assert all({name: sent[name] for name in same} == {name: who[name] for name in same} for sent in told)
