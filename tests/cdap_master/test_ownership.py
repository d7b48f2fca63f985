"""Attacks on the ownership of what others create, on a real CDAP, with the real extension, service and sync job.

What stands in: CDAP in memory writes no access log, so the line of an upload is written here, in the format of CDAP.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from ranger_cdap.config import Secret, SourceSettings
from ranger_cdap.testing import EmbeddedRanger
from tests.cdap_master.builder import FROM_ARTIFACT, KEY_VALUE
from tests.cdap_master.fixtures import World, world
from tests.cdap_master.in_memory_cdap import APP_JAR, CdapUser
from tests.cdap_master.slow_request import slow_put
from tests.cdap_master.stored_events import checks, records
from tests.cdap_master.sync_job import Job

MARKER = "Kd83hfPq0Zm5Lw2x"
_DENIED = 403


@pytest.fixture
def job(cdap_world: World, tmp_path: Path) -> Job:
    return Job(cdap_world, tmp_path)


def test_a_slow_body_wins_nothing(job: Job) -> None:
    job.world.people({"alice1": ["WRITE instance:"], "mallory1": ["WRITE instance:"]})
    alice, mallory = job.world.user("alice1"), job.world.user("mallory1")
    path = "/v3/namespaces/payments"
    with slow_put(job.world, "mallory1", path, b'{"description": "mine"}') as finish:
        alice.must(f"PUT {path}", {})
        answer = finish()
    assert b" 200 " in answer.split(b"\r\n", 1)[0]
    assert b"already exists" in answer

    lives = job.run(("PUT", path), ("PUT", path))

    assert lives["namespace:payments"].creator == "alice1"
    assert alice.ask(f"PUT {path}/properties", {"description": "mine"}).status_code == 200
    assert mallory.ask(f"PUT {path}/properties", {"description": "mine"}).status_code == _DENIED


def test_a_creation_over_a_deletion_is_nobodys_and_not_the_next_callers(job: Job) -> None:
    world, path = job.world, "/v3/namespaces/ledgers"
    world.people({"alice2": ["WRITE instance:"], "mallory2": ["WRITE instance:"]})
    alice, mallory = world.user("alice2"), world.user("mallory2")
    mallory.must(f"PUT {path}", {})
    assert job.run(("PUT", path))["namespace:ledgers"].creator == "mallory2"
    mallory.must(f"PUT {path}/data/datasets/big", KEY_VALUE)
    job.run(("PUT", f"{path}/data/datasets/big"))

    deleting = threading.Thread(target=mallory.ask, args=(f"DELETE /v3/unrecoverable{path[3:]}",))
    deleting.start()
    of_alice = until_created(alice, path)
    deleting.join()
    mallory.must(f"PUT {path}", {})

    puts = [("PUT", path)] * (1 + of_alice + 1)
    life = job.run(("DELETE", f"/v3/unrecoverable{path[3:]}"), *puts)["namespace:ledgers"]

    assert life.creator in (None, "alice2")
    assert life.creator == "alice2" or "alice2" in life.candidates
    assert mallory.ask(f"PUT {path}/properties", {"description": "mine"}).status_code == _DENIED


def test_whoever_had_an_artifacts_name_before_has_nothing_of_the_next_one(job: Job) -> None:
    world, namespace = job.world, "/v3/namespaces/squat"
    path = f"{namespace}/artifacts/ledgercore"
    seen = ["WRITE instance:", "WRITE namespace:squat", "READ namespace:squat"]
    world.people({"mallory3": seen, "alice3": seen[1:]})
    mallory, alice = world.user("mallory3"), world.user("alice3")
    mallory.must(f"PUT {namespace}", {})
    mallory.must(f"POST {path}", APP_JAR.read_bytes(), Artifact_Version="1.0.0")
    assert job.run(("POST", path))["artifact:squat.ledgercore"].creator == "mallory3"

    mallory.must(f"DELETE {path}/versions/1.0.0")
    alice.must(f"POST {path}", APP_JAR.read_bytes(), Artifact_Version="2.0.0")
    lives = job.run(("DELETE", f"{path}/versions/1.0.0"), ("POST", path), ("POST", path))

    assert lives["artifact:squat.ledgercore"].creator == "alice3"
    assert mallory.ask(f"DELETE {path}/versions/2.0.0").status_code == _DENIED
    assert alice.ask(f"DELETE {path}/versions/2.0.0").status_code == 200


def test_what_cdap_checks_early_is_not_left_open(job: Job) -> None:
    world, namespace = job.world, "/v3/namespaces/early"
    path = f"{namespace}/artifacts/core"
    world.people(
        {
            "dave4": [
                "WRITE instance:",
                "WRITE namespace:early",
                "READ namespace:early",
                "READ artifact:early.core",
                "READ dataset:early.purchases",
            ]
        }
    )
    dave = world.user("dave4")
    dave.must(f"PUT {namespace}", {})
    dave.must(f"POST {path}", APP_JAR.read_bytes(), Artifact_Version="1.0.0")
    artifact = {"artifact": FROM_ARTIFACT["artifact"] | {"name": "core"}}
    dave.must(f"PUT {namespace}/apps/Shop", artifact)

    lives = job.run(("POST", path), ("PUT", f"{namespace}/apps/Shop"))

    assert {lives[name].creator for name in ("artifact:early.core", "application:early.Shop")} == {"dave4"}
    checked = {id_ for id_, check in checks(world).items() if check.principal == "dave4"}
    assert checked <= {check.id for record in records(world) for check in record.checks}


def test_a_jar_that_cdap_uploads_as_its_master_user_is_the_uploaders(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    (tmp_path / "world").mkdir()
    log = tmp_path / "router"
    log.mkdir()
    as_by_default = {"security.authentication.propagate.user.credentials": "false"}
    jar = "ranger-cdap-extension-6.11.jar"
    with world(ranger, tmp_path / "world", jar, as_by_default, master_create="allow") as its_world:
        router = SourceSettings(name="router", kind="http-access", path=log, marker=Secret(MARKER))
        job = Job(its_world, tmp_path, router, hold_back=3.0)
        its_world.people({"alice5": ["WRITE instance:", "WRITE namespace:jars", "READ namespace:jars"]})
        alice = its_world.user("alice5")
        alice.must("PUT /v3/namespaces/jars", {})
        at = datetime.now(UTC)
        uploaded = alice.must(
            "POST /v3/namespaces/jars/apps", APP_JAR.read_bytes(), X_Archive_Name="shop-app-1.0.0.jar"
        )
        write_router_line(log, at, "alice5", "/v3/namespaces/jars/apps", uploaded.text)
        job.pass_hold_back()

        lives = job.run(("POST", "/v3/namespaces/jars/apps"))

        (upload,) = (record for record in records(its_world) if record.uri == "/v3/namespaces/jars/apps")
        users = {check.principal for check in upload.checks if "STANDARD.CREATE" in check.permissions}

        named = {name: life.creator for name, life in lives.items() if life.entity.parts[0] == "jars"}
        assert named["artifact:jars.shop-app"] == "alice5", users
        assert named["application:jars.Purchases"] == "alice5", users


def write_router_line(directory: Path, at: datetime, user: str, path: str, response: str) -> None:
    time_ = at.strftime("%d/%b/%Y:%H:%M:%S +0000")
    line = f'127.0.0.1 - {user} [{time_}] "POST {path} HTTP/1.1" - - 200 {len(response)} {response}'
    (directory / "access.log").write_text(f"{MARKER} {line} {MARKER}\n", "utf-8")


def until_created(user: CdapUser, path: str) -> int:
    """Put it again and again, until it was there no more and CDAP has made it; the number of requests."""
    end = time.monotonic() + 30
    for number in count(1):
        answer = user.ask(f"PUT {path}", {})
        if "created successfully" in answer.text:
            return number
        assert time.monotonic() < end, answer.text
    raise AssertionError("not reached")
