"""Names of a real CDAP for Ranger Admin's policy form, by Ranger's own classes, for accounts with different rights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from servicedef import service_definition
from tests.cdap_master.authenticating_proxy import proxy_for
from tests.cdap_master.builder import KEY_VALUE, build
from tests.cdap_master.fixtures import World
from tests.lookup.ranger_service import RangerService, missing_tool
from tests.lookup.stub_cdap import Reply, serving

NS = "/v3/namespaces/looked"
PROFILE = {"label": "l", "description": "d", "provisioner": {"name": "native", "properties": []}}
KEY = {"description": "d", "data": "1234", "properties": {}}
CHOSEN = {"instance": ["cdap"], "namespace": ["looked"], "application": ["First"], "stream": ["s"]}
LEVELS = [row["name"] for row in service_definition()["resources"]]

PEOPLE = {
    "sees-all": [
        "READ instance:",
        "READ namespace:looked",
        "READ application:looked.First",
        "READ application:looked.Second",
    ],
    "sees-one": ["READ application:looked.First"],
    "sees-none": [],
}
PROGRAMS = ["service.Prices", "worker.Recorder"]
# Of a namespace, and not of the other one, which is there as well; what is left out here is empty in this CDAP.
OFFERED: dict[str, dict[str, list[str]]] = {
    "sees-all": {
        "instance": ["cdap"],
        "namespace": ["looked"],
        "artifact": ["shop-app"],
        "application": ["First", "Second"],
        "dataset": ["prices", "purchases"],
        "secure_key": ["till"],
        "profile": ["small"],
        "program": PROGRAMS,
    },
    "sees-one": {"instance": ["cdap"], "application": ["First"], "program": PROGRAMS},
    "sees-none": {"instance": ["cdap"]},
}


@dataclass(frozen=True)
class Seen:
    """The class, and the configuration of the service in Ranger for each account."""

    ranger: RangerService
    configs: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def seen(cdap_world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    builder = build(cdap_world, "looked", "First", "Second")
    builder.must(f"PUT {NS}/data/datasets/prices", KEY_VALUE)
    builder.must(f"PUT {NS}/securekeys/till", KEY)
    builder.must(f"PUT {NS}/profiles/small", PROFILE)
    build(cdap_world, "unseen", "Other")
    cdap_world.people(PEOPLE)
    folder = tmp_path_factory.mktemp("look-up")
    with RangerService(folder / "cdap") as ranger:
        configs = {}
        with ExitStack() as stack:
            for name in PEOPLE:
                (folder / name).mkdir()
                proxy = stack.enter_context(proxy_for(cdap_world.user(name), folder / name))
                configs[name] = {"cdap.instance.url": proxy.url, "password": proxy.token_file.read_text()}
            yield Seen(ranger, configs)


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "system_service"])
def test_an_account_is_offered_what_cdap_shows_it(seen: Seen, level: str) -> None:
    chosen = {at: values for at, values in CHOSEN.items() if at != level}

    offered = {name: seen.ranger.names(configs, level, "", chosen) for name, configs in seen.configs.items()}

    assert offered == {name: levels.get(level, []) for name, levels in OFFERED.items()}


def test_services_of_cdap_itself_are_offered_to_who_sees_the_instance(seen: Seen, cdap_world: World) -> None:
    """This CDAP asks those that do not run for seconds; what it says then is said here without the wait."""
    services = cdap_world.user("sees-all").must("GET /v3/system/services/status").json()

    direct = seen.ranger.look_up(seen.configs["sees-all"], "system_service")
    with serving(lambda asked: Reply(body=services)) as quicker:
        offered = seen.ranger.names({"cdap.instance.url": quicker.url}, "system_service")

    assert offered == sorted(services)
    assert "appfabric" in offered
    assert direct.names == offered or "gave no answer within" in direct.failure
    assert direct.ms < 1_000
    assert seen.ranger.names(seen.configs["sees-none"], "system_service") == []


@pytest.mark.parametrize(
    ("typed", "chosen", "offered"),
    [
        ("fi", {"namespace": ["looked"]}, ["First"]),
        ("", {"namespace": ["looked"], "application": ["Second"]}, ["First"]),
        ("", {"namespace": ["look*"]}, ["First", "Second"]),
        ("*cond", {"namespace": ["*"]}, ["Second"]),
        ("", {"namespace": ["unseen"]}, []),
        ("", {"namespace": ["nowhere"]}, []),
        ("", {"instance": ["other"], "namespace": ["looked"]}, []),
    ],
)
def test_what_was_typed_and_chosen_narrows_the_applications(
    seen: Seen, typed: str, chosen: dict[str, list[str]], offered: list[str]
) -> None:
    assert seen.ranger.names(seen.configs["sees-all"], "application", typed, chosen) == offered


def test_the_connection_is_described_with_the_version_and_what_the_account_sees(seen: Seen) -> None:
    answers = {name: seen.ranger.test_connection(configs) for name, configs in seen.configs.items()}

    assert answers["sees-all"]["connectivityStatus"]
    assert answers["sees-all"]["message"] == "CDAP 6.11.1 shows 1 namespace"
    assert not answers["sees-none"]["connectivityStatus"]
    assert "sees no namespace" in answers["sees-none"]["message"]


def test_a_wrong_token_is_said_by_the_name_of_its_field(seen: Seen) -> None:
    answer = seen.ranger.test_connection(seen.configs["sees-all"] | {"password": "x"})

    assert (answer["connectivityStatus"], answer["fieldName"]) == (False, "password")
