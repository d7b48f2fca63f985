"""The jar for CDAP 6.5 and later in the same CDAP, which this time loses a user's name while he uploads, as by default.

At the end its decision service goes away for a while.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.testing import EmbeddedRanger
from tests.cdap_master.fixtures import World, wait_until, world
from tests.cdap_master.in_memory_cdap import APP_JAR, MASTER

NAMESPACE = "/v3/namespaces/older"


@pytest.fixture(scope="module")
def older(ranger: EmbeddedRanger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("older")
    as_by_default = {"security.authentication.propagate.user.credentials": "false"}
    with world(ranger, directory, "ranger-cdap-extension-6.5.jar", as_by_default) as made:
        made.people(
            {
                "older-maker": ["WRITE instance:"],
                "older-reader": ["READ namespace:older", "READ instance:"],
                "older-uploader": ["WRITE namespace:older", "READ namespace:older"],
                "older-nobody": [],
            }
        )
        made.user("older-maker").must(f"PUT {NAMESPACE}", {})
        yield made


def test_who_may_does_and_who_may_not_is_told_what_is_missing(older: World) -> None:
    allowed = older.user("older-reader").ask(f"GET {NAMESPACE}")
    denied = older.user("older-nobody").ask(f"GET {NAMESPACE}")

    assert (allowed.status_code, denied.status_code) == (200, 403)
    assert " older-nobody needs READ on namespace:older" in denied.text


def test_lists_hold_what_one_sees(older: World) -> None:
    names = [
        [namespace["name"] for namespace in older.user(person).must("GET /v3/namespaces").json()]
        for person in ("older-reader", "older-nobody")
    ]

    assert names == [["older"], []]


@pytest.mark.parametrize(
    ("request_line", "headers"),
    [
        (f"POST {NAMESPACE}/artifacts/shop-app", {"Artifact_Version": "1.0.0"}),
        (f"POST {NAMESPACE}/apps", {"X_Archive_Name": "shop-app-1.0.0.jar"}),
    ],
)
def test_an_upload_is_not_made_in_the_name_of_the_master_user(
    older: World, request_line: str, headers: dict[str, str]
) -> None:
    answer = older.user("older-uploader").ask(request_line, APP_JAR.read_bytes(), **headers)

    assert answer.status_code == 403, f"{answer.status_code} {answer.text}"
    assert f"'{MASTER}'" in answer.text
    assert older.user("older-reader").must(f"GET {NAMESPACE}/artifacts").json() == []


def test_without_its_decision_service_nothing_is_allowed_until_it_returns(older: World) -> None:
    reader = older.user("older-reader")
    port = int(older.service.url.rsplit(":", 1)[1])
    question = f"GET {NAMESPACE}/preferences"
    assert reader.ask(question).status_code == 200

    older.service.close()
    # What it allowed is kept for five seconds at most.
    lasted = wait_until(lambda: reader.ask(question).status_code != 200, "it is denied", seconds=7)
    denied, listed = reader.ask(question), reader.ask("GET /v3/namespaces")

    assert lasted < 6
    assert denied.status_code == 403, f"{denied.status_code} {denied.text}"
    assert "the authorization service of CDAP does not answer" in denied.text
    assert listed.status_code != 200 or listed.json() == []

    settings = msgspec.structs.replace(
        older.settings, service=msgspec.structs.replace(older.settings.service, port=port)
    )
    with DecisionService(settings):
        # One call a second asks whether the service is there again; the others are denied at once.
        lasted = wait_until(lambda: reader.ask(question).status_code == 200, "it is allowed again", seconds=7)
    assert lasted < 6
