"""`/cdap/v1/policies` and `/cdap/v1/refresh`: who may ask, what is refused, and a grant that is in effect once read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.config import read_configuration
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.service.http.callers import CallerRole
from tests.authz.fixtures import engine
from tests.service.fixtures import READ_AND_WRITE, World, serving
from tests.service.serve_process import ENFORCE_KV, ask, configuration, ranger_admin, read, until

POLICIES, REFRESH = "/cdap/v1/policies", "/cdap/v1/refresh"
IN_EFFECT = 7


@pytest.fixture
def at_seven(tmp_path: Path) -> Iterator[World]:
    """A service with policies of version 7."""
    with serving(READ_AND_WRITE, tmp_path) as world:
        world.becomes(Snapshot(engine(READ_AND_WRITE), PolicyState.FRESH, "", versions=Versions(policies=IN_EFFECT)))
        yield world


@pytest.mark.parametrize("role", CallerRole)
def test_only_who_asks_about_people_or_wrote_policies_may_ask(world: World, role: CallerRole) -> None:
    asks = {CallerRole.EVALUATE, CallerRole.DELEGATE, CallerRole.REFRESH}
    assert world.ask(role, "GET", POLICIES).status == (200 if role in asks else 403)
    assert world.ask(role, "POST", REFRESH, {"at_least": 1}).status == (200 if role is CallerRole.REFRESH else 403)
    assert world.ask(None, "GET", POLICIES).status == 401


ASKED = [
    # query, status, what the answer says
    ("", 200, '"version":7'),
    ("?at_least=6", 200, '"version":7'),
    ("?at_least=7&timeout=0", 200, '"version":7'),
    ("?at_least=8&timeout=0", 503, "version `8` is not in effect"),
    ("?at_least=8&timeout=31", 400, "`timeout` is more than 30 seconds"),
    ("?at_least=-1", 400, "`at_least` is not a whole number"),
    ("?at_least=7.0", 400, "`at_least` is not a whole number"),
    ("?at_least=" + "9" * 19, 400, "`at_least` is not a whole number"),
    ("?at_least=%D9%A7", 400, "`at_least` is not a whole number"),  # an Arabic seven
    ("?at_leats=8", 400, "there is no parameter `at_leats`"),
]


@pytest.mark.parametrize(("query", "status", "says"), ASKED)
def test_what_is_asked_and_answered(at_seven: World, query: str, status: int, says: str) -> None:
    answer = at_seven.ask("evaluate", "GET", POLICIES + query)
    assert (answer.status, says in answer.body.decode()) == (status, True), answer.body


@pytest.mark.parametrize(
    "body", [{}, {"at_least": 0}, {"at_least": "8"}, {"at_least": 8, "allow": True}, {"at_least": 10**19}]
)
def test_a_hint_that_is_none_is_refused(at_seven: World, body: dict[str, object]) -> None:
    assert at_seven.ask("refresh", "POST", REFRESH, body).status == 400


def test_a_hint_changes_no_answer_of_its_own(at_seven: World) -> None:
    before = at_seven.ask("enforce", "POST", "/cdap/v1/enforce", ENFORCE_KV).json
    for version in (1, IN_EFFECT, 10**18):
        assert at_seven.ask("refresh", "POST", REFRESH, {"at_least": version}).json["version"] == IN_EFFECT
    assert at_seven.ask("enforce", "POST", "/cdap/v1/enforce", ENFORCE_KV).json == before


def test_a_grant_is_in_effect_for_who_waits_for_its_version(tmp_path: Path) -> None:
    """The service polls once an hour, so nothing else brings the policies."""
    with ranger_admin() as (server, admin):
        config = configuration(tmp_path, server.url, plugin__poll_interval="3600")
        with DecisionService(read_configuration(config, {}).settings) as service:
            port = int(service.url.rpartition(":")[2])

            def bob_reads() -> bool:
                question = {**ENFORCE_KV, "principal": {"name": "bob"}}
                return bool(ask(port, "enforce", "POST", "/cdap/v1/enforce", question).json["allowed"])

            version = ask(port, "evaluate", "GET", POLICIES).json["version"]
            assert not bob_reads()
            read(admin, "bob", namespace="*")
            read(admin, "bob", namespace="*", dataset="*")
            assert not bob_reads()
            assert ask(port, "evaluate", "GET", f"{POLICIES}?at_least={version + 2}").json["version"] >= version + 2
            assert bob_reads()


@pytest.mark.parametrize("named", [True, False])
def test_a_hint_brings_a_grant_nobody_waits_for(tmp_path: Path, named: bool) -> None:
    with ranger_admin() as (server, admin):
        config = configuration(tmp_path, server.url, plugin__poll_interval="3600")
        with DecisionService(read_configuration(config, {}).settings) as service:
            port = int(service.url.rpartition(":")[2])
            version = ask(port, "evaluate", "GET", POLICIES).json["version"]
            read(admin, "bob", namespace="*")
            hint = {"at_least": version + 1 if named else None}
            assert ask(port, "refresh", "POST", REFRESH, hint).status == 200
            until(lambda: ask(port, "evaluate", "GET", POLICIES).json["version"] > version)


def test_a_failed_download_names_no_address(tmp_path: Path) -> None:
    with ranger_admin() as (server, _):
        config = configuration(tmp_path, server.url, plugin__poll_interval="3600")
        with DecisionService(read_configuration(config, {}).settings) as service:
            server.stop()
            answer = ask(int(service.url.rpartition(":")[2]), "evaluate", "GET", f"{POLICIES}?at_least=99")
    assert answer.status == 503
    assert answer.json["message"] == (
        "policies of version `99` are not in effect: the download failed (ranger-admin-unreachable)"
    )
