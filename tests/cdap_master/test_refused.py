"""A deletion that our service refused on the way: what CDAP left, its owners keep, without asking CDAP."""

from __future__ import annotations

from pathlib import Path

from spark_sync.ledger.life import State
from tests.cdap_master.builder import KEY_VALUE
from tests.cdap_master.cdap_apps import workflow_jar
from tests.cdap_master.fixtures import World
from tests.cdap_master.stored_events import checks
from tests.cdap_master.sync_job import Job

DEPLOYED = {"artifact": {"name": "flow", "version": "1.0.0", "scope": "USER"}}
PATH = "/v3/namespaces/lab"
WHOLE = "/v3/unrecoverable/namespaces/lab"
LEFT = ("namespace:lab", "dataset:lab.theirs", "artifact:lab.flow")


def test_a_namespace_in_use_stays_its_owners_when_its_deletion_is_refused(cdap_world: World, tmp_path: Path) -> None:
    world, job = cdap_world, Job(cdap_world, tmp_path)
    world.people({"nina": ["WRITE instance:"], "dev": ["READ namespace:lab", "WRITE namespace:lab"]})
    nina, dev = world.user("nina"), world.user("dev")
    nina.must(f"PUT {PATH}", {})
    job.run(("PUT", PATH))
    nina.must(f"POST {PATH}/artifacts/flow", workflow_jar(), Artifact_Version="1.0.0")
    job.run(("POST", f"{PATH}/artifacts/flow"))
    nina.must(f"PUT {PATH}/apps/Flow", DEPLOYED)
    dev.must(f"PUT {PATH}/data/datasets/theirs", KEY_VALUE)
    before = job.run(("PUT", f"{PATH}/apps/Flow"), ("PUT", f"{PATH}/data/datasets/theirs"))
    assert [before[name].creator for name in (*LEFT, "application:lab.Flow")] == ["nina", "dev", "nina", "nina"]

    answer = nina.ask(f"DELETE {WHOLE}")
    assert answer.status_code == 409
    assert "insufficient privileges to perform action 'STANDARD.DELETE' on dataset:lab.theirs" in answer.text
    after = job.run(("DELETE", f"{PATH}/data/datasets"), ("DELETE", WHOLE))

    refused = [check for check in checks(world).values() if not check.allowed]
    assert [(check.principal, check.parts) for check in refused] == [("nina", ["lab", "theirs"])]

    assert {name: after[name] for name in LEFT} == {name: before[name] for name in LEFT}
    assert {after[name].state for name in LEFT} == {State.APPLIED}
    assert nina.ask(f"PUT {PATH}/properties", {"description": "mine"}).status_code == 200
    assert nina.ask(f"DELETE {PATH}/artifacts/flow/versions/1.0.0").status_code == 200
    assert dev.ask(f"GET {PATH}/data/datasets/theirs").status_code == 200
    # CDAP had deleted it before it was refused the dataset; only its answer could say so.
    assert after["application:lab.Flow"].state is State.SUSPENDED
    assert nina.ask(f"GET {PATH}/apps").json() == []
