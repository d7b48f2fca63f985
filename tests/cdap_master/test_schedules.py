"""Who owns a schedule, on a real CDAP: it checks EXECUTE on the application, for whatever becomes of its schedules."""

from __future__ import annotations

from collections import Counter

import pytest
import requests

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.wire.event_wire import JournalledCheck
from spark_sync.ledger.life import State
from tests.cdap_master.cdap_apps import WORKFLOW, schedule, workflow_jar
from tests.cdap_master.fixtures import ENFORCE, World, wait_until
from tests.cdap_master.in_memory_cdap import CdapUser
from tests.cdap_master.slow_request import slow_put
from tests.cdap_master.stored_events import checks, records
from tests.cdap_master.sync_job import Job

NAMESPACE = "/v3/namespaces/rota"
APP = f"{NAMESPACE}/apps/Flow"
RUNS = f"{APP}/workflows/{WORKFLOW}"
DEPLOYED = {"artifact": {"name": "flow", "version": "1.0.0", "scope": "USER"}}
MAY_SCHEDULE = [
    "READ namespace:rota",
    "READ application:rota.Flow",
    "EXECUTE application:rota.Flow",
    f"READ program:rota.Flow.workflow.{WORKFLOW}",
]
MAY_RUN = [f"EXECUTE program:rota.Flow.workflow.{WORKFLOW}", "READ artifact:rota.flow"]


@pytest.fixture(scope="module")
def flow(cdap_world: World) -> World:
    """An application with a workflow, and two users who may schedule and start it."""
    builds = ["WRITE instance:", "WRITE namespace:rota", "READ namespace:rota", "READ artifact:rota.flow"]
    colleagues = [*MAY_SCHEDULE, *MAY_RUN]
    cdap_world.people({"rota-builder": builds, "rota-alice": colleagues, "rota-mallory": colleagues})
    builder = cdap_world.user("rota-builder")
    builder.must(f"PUT {NAMESPACE}", {})
    builder.must(f"POST {NAMESPACE}/artifacts/flow", workflow_jar(), Artifact_Version="1.0.0")
    builder.must(f"PUT {APP}", DEPLOYED)
    return cdap_world


@pytest.fixture(scope="module")
def job(flow: World, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(flow, tmp_path_factory.mktemp("job"))


@pytest.fixture
def alice(flow: World) -> CdapUser:
    return flow.user("rota-alice")


@pytest.fixture
def mallory(flow: World) -> CdapUser:
    return flow.user("rota-mallory")


def test_the_creator_of_a_schedule_is_the_user_whose_request_added_it(job: Job, alice: CdapUser) -> None:
    path = f"{APP}/schedules/nightly"
    alice.must(f"PUT {path}", schedule("nightly"))

    life = job.run(("PUT", path))["schedule:rota.Flow.nightly"]

    (check,) = checks_of(job.world, "rota-alice")
    assert (check.type, *check.parts[:2], *check.permissions) == ("APPLICATION", "rota", "Flow", "APPLICATION.EXECUTE")
    assert check.frame in load_creations().frames.schedule
    assert (life.creator, life.state) == ("rota-alice", State.APPLIED)
    assert job.granted("schedule:rota.Flow.nightly") == {"rota-alice": life.accesses}
    assert decided(job.world, "rota-alice", "nightly")
    assert not decided(job.world, "rota-mallory", "nightly")


def test_no_one_gains_a_schedule_that_another_user_adds_first(job: Job, alice: CdapUser, mallory: CdapUser) -> None:
    path = f"{APP}/schedules/weekly"
    body = b'{"program": {"programName": "%s", "programType": "WORKFLOW"}, ' % WORKFLOW.encode()
    body += b'"trigger": {"type": "TIME", "cronExpression": "0 5 * * *"}}'
    with slow_put(job.world, "rota-mallory", path, body) as finish:
        alice.must(f"PUT {path}", schedule("weekly"))
        assert b" 409 " in finish().split(b"\r\n", 1)[0]
    assert mallory.ask(f"PUT {path}", schedule("weekly")).status_code == 409

    life = job.run(*[("PUT", path)] * 3)["schedule:rota.Flow.weekly"]

    assert (life.creator, life.state, life.candidates) == ("rota-alice", State.APPLIED, ())
    assert job.granted("schedule:rota.Flow.weekly") == {"rota-alice": life.accesses}
    assert not decided(job.world, "rota-mallory", "weekly")


def test_whatever_else_needs_execute_contests_no_schedule(job: Job, alice: CdapUser, mallory: CdapUser) -> None:
    path = f"{APP}/schedules/hourly"
    alice.must(f"PUT {path}", schedule("hourly"))
    earlier = len(checks_of(job.world, "rota-mallory"))

    mallory.must(f"POST {path}/update", {"description": "of mallory"})
    mallory.must(f"POST {path}/resume")
    mallory.must(f"POST {path}/suspend")
    mallory.must(f"GET {APP}/schedules")
    mallory.must(f"POST {RUNS}/start", {})
    mallory.must(f"GET {RUNS}/runs")
    mallory.ask(f"POST {RUNS}/stop", {})  # the run may be over
    lives = job.run(("PUT", path), ("POST", f"{path}/update"), ("POST", f"{RUNS}/start"), ("POST", f"{RUNS}/stop"))

    frames = [check.frame for check in checks_of(job.world, "rota-mallory")[earlier:]]
    assert frames == ["ProgramScheduleService.update"]  # a check of the program is about none of its schedules
    assert load_creations().frames.schedule.isdisjoint(frames)
    assert lives["schedule:rota.Flow.hourly"].creator == "rota-alice"
    assert not [str(life.entity) for life in lives.values() if life.state is State.CONTESTED]


def test_a_deleted_schedule_is_its_next_creators(job: Job, alice: CdapUser, mallory: CdapUser) -> None:
    path = f"{APP}/schedules/yearly"
    mallory.must(f"PUT {path}", schedule("yearly"))
    assert job.run(("PUT", path))["schedule:rota.Flow.yearly"].creator == "rota-mallory"

    mallory.must(f"DELETE {path}")
    alice.must(f"PUT {path}", schedule("yearly"))
    lives = job.run(("DELETE", path), *[("PUT", path)] * 2)

    assert lives["schedule:rota.Flow.yearly"].creator == "rota-alice"
    assert list(job.granted("schedule:rota.Flow.yearly")) == ["rota-alice"]


BY_VERSION = f"{APP}/versions/-SNAPSHOT/schedules/squat"
OTHER_DELETIONS = {
    "by its application's version": ("rota-mallory", f"DELETE {BY_VERSION}", None),
    "by a deployment of its application": ("rota-builder", f"PUT {APP}", DEPLOYED),
    "by an update of its application": ("rota-builder", f"POST {APP}/update", {"artifact": DEPLOYED["artifact"]}),
}


@pytest.mark.parametrize("deletion", OTHER_DELETIONS)
def test_a_schedule_that_cdap_deletes_otherwise_is_not_its_former_creators(
    job: Job, alice: CdapUser, mallory: CdapUser, deletion: str
) -> None:
    user, request, body = OTHER_DELETIONS[deletion]
    path = f"{APP}/schedules/squat"
    put, delete = ("PUT", path), ("DELETE", path)
    # Earlier cases made these requests too: to have seen one of them is not to have seen this one.
    earlier = Counter((record.method, record.uri.rstrip("/")) for record in records(job.world))
    mallory.must(f"PUT {path}", schedule("squat"))
    job.run(*[put] * (earlier[put] + 1))

    job.world.user(user).must(request, body)
    method, uri = request.split(" ")
    other = (method, uri)
    assert alice.ask(f"GET {path}").status_code == 404
    alice.must(f"PUT {path}", schedule("squat"))
    life = job.run(*[other] * (earlier[other] + 1), *[put] * (earlier[put] + 2))["schedule:rota.Flow.squat"]

    alice.must(f"DELETE {path}")
    wait_until(lambda: records_of(job.world, delete) > earlier[delete], "the record of the deletion")
    assert life.creator != "rota-mallory"
    assert not decided(job.world, "rota-mallory", "squat")


def records_of(world: World, request: tuple[str, str]) -> int:
    return sum((record.method, record.uri) == request for record in records(world))


def checks_of(world: World, user: str) -> list[JournalledCheck]:
    return [check for check in checks(world).values() if check.principal == user]


def decided(world: World, user: str, name: str) -> bool:
    """Whether the decision service lets the user change the schedule; CDAP's own API never asks that."""
    question = {
        "principal": {"name": user},
        "entity": {"type": "SCHEDULE", "parts": ["rota", "Flow", name]},
        "permissions": ["STANDARD.UPDATE"],
    }
    secret = next(caller.secret for caller in world.settings.service.callers if caller.name == ENFORCE)
    assert secret is not None
    url = f"{world.service.url}/cdap/v1/enforce"
    answer = requests.post(url, json=question, auth=(ENFORCE, secret.reveal()), timeout=10)
    assert answer.ok, answer.text
    return bool(answer.json()["allowed"])
