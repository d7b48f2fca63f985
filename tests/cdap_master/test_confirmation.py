"""What the sync job makes of CDAP's answers: a real CDAP is asked about grants that were suspended.

What stands in: a proxy that authenticates the account of `sync.confirm`, as one stands before a CDAP in mode `PROXY`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import pytest
import requests

from ranger_cdap.config import ConfirmSettings, Secret
from spark_sync.ledger.life import State
from tests.cdap_master.authenticating_proxy import proxy_for
from tests.cdap_master.cdap_apps import workflow_jar
from tests.cdap_master.fixtures import AUDIT, CONFIRM, World, wait_until
from tests.cdap_master.in_memory_cdap import CdapUser
from tests.cdap_master.sync_job import Job

READER = "confirm-reader"
DEPLOYED = {"artifact": {"name": "flow", "version": "1.0.0", "scope": "USER"}}


@pytest.fixture(scope="module")
def account(cdap_world: World) -> CdapUser:
    """The account of `sync.confirm`: it may read everything and nothing else."""
    cdap_world.people({READER: ["READ instance:"]})
    cdap_world.ranger.give_everywhere(READER, "READ", ("namespace", "application", "artifact"))
    cdap_world.refresh()
    return cdap_world.user(READER)


@pytest.fixture(scope="module")
def job(cdap_world: World, account: CdapUser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    directory = tmp_path_factory.mktemp("job")
    with proxy_for(account, directory) as proxy:
        confirm = ConfirmSettings(
            url=proxy.url,
            token_file=proxy.token_file,
            user=READER,
            decision_service=cdap_world.service.url,
            caller=CONFIRM,
            secret=secret_of(cdap_world, CONFIRM),
        )
        yield Job(cdap_world, directory, confirm=confirm)


def test_a_forged_deletion_suspends_a_grant_until_cdap_says_it_exists(job: Job) -> None:
    world, path, entity = job.world, "/v3/namespaces/vault", "namespace:vault"
    world.people({"alice8": ["WRITE instance:"]})
    alice = world.user("alice8")
    alice.must(f"PUT {path}", {})
    granted = job.run(("PUT", path))[entity]
    assert (granted.creator, may_change(alice, path)) == ("alice8", True)

    job.pass_skew()
    deletion = ("DELETE", "/v3/unrecoverable/namespaces/vault")
    forge(world, *deletion, user="alice8", parts=["vault"])
    suspended = job.run(deletion)[entity]
    assert (suspended.number, suspended.creator, suspended.state) == (1, "alice8", State.SUSPENDED)
    assert job.granted(entity) == {}
    # What was allowed a moment ago the extension may still remember, for five seconds at most.
    wait_until(lambda: not may_change(alice, path), "the grant has no effect any more", seconds=6.0)

    restored = job.run()[entity]
    assert (restored.number, restored.creator, restored.state) == (1, "alice8", State.APPLIED)
    assert job.granted(entity) == {"alice8": granted.accesses}
    assert may_change(alice, path)


def test_what_cdap_left_of_a_deletion_is_kept_and_what_is_gone_ends(job: Job) -> None:
    world, path = job.world, "/v3/namespaces/half"
    world.people({"alice9": ["WRITE instance:"], "bob9": []})
    for user, action, kind in (
        ("alice9", "READ", "namespace"),
        ("alice9", "WRITE", "namespace"),
        ("alice9", "READ", "artifact"),
        ("bob9", "WRITE", "namespace"),
    ):
        world.ranger.give_everywhere(user, action, (kind,))
    world.refresh()
    alice, bob = world.user("alice9"), world.user("bob9")
    alice.must(f"PUT {path}", {})
    bob.must(f"POST {path}/artifacts/flow", workflow_jar(), Artifact_Version="1.0.0")
    alice.must(f"PUT {path}/apps/Flow", DEPLOYED)
    lives = job.run(("POST", f"{path}/artifacts/flow"), ("PUT", f"{path}/apps/Flow"))
    kept, lost = "artifact:half.flow", "application:half.Flow"
    created = {name: lives[name].creator for name in ("namespace:half", kept, lost)}
    assert created == {"namespace:half": "alice9", kept: "bob9", lost: "alice9"}

    # CDAP deletes the application, and then asks for the artifact, which is bob's.
    assert alice.ask("DELETE /v3/unrecoverable/namespaces/half").status_code == 409
    lives = job.run(("DELETE", "/v3/unrecoverable/namespaces/half"))
    states = {name: lives[name].state for name in ("namespace:half", kept, lost)}
    assert states == {"namespace:half": State.APPLIED, kept: State.APPLIED, lost: State.SUSPENDED}
    assert (list(job.granted(kept)), job.granted(lost)) == (["bob9"], {})

    lives = job.run()
    assert (lives["namespace:half"].creator, lives[kept].creator) == ("alice9", "bob9")
    assert {lives["namespace:half"].state, lives[kept].state} == {State.APPLIED}
    assert list(job.granted(kept)) == ["bob9"]
    assert [life.state for life in job.lives_of(lost)] == [State.CLOSED]
    assert job.granted(lost) == {}


def may_change(user: CdapUser, namespace: str) -> bool:
    status = user.ask(f"PUT {namespace}/properties", {"description": "changed"}).status_code
    assert status in (200, 403)
    return status == 200


def forge(world: World, method: str, uri: str, *, user: str, parts: list[str]) -> None:
    """Store what anyone can who has the `audit` secret: a record of a request that CDAP has never had."""
    now = time.time_ns() // 1_000_000
    check = {
        "principal": user,
        "type": "NAMESPACE",
        "parts": parts,
        "permissions": ["STANDARD.DELETE"],
        "allowed": True,
        "id": secrets.token_hex(16),
        "process": secrets.token_hex(16),
        "at": now - 5,
    }
    record = {
        "v": 2,
        "instance": world.settings.cdap.instance,
        "method": method,
        "uri": uri,
        "code": 200,
        "started": now - 10,
        "ended": now,
        "checks": [check],
    }
    audit = (AUDIT, secret_of(world, AUDIT).reveal())
    answer = requests.post(f"{world.service.url}/cdap/v1/audit", json={"records": [record]}, auth=audit, timeout=10)
    assert answer.json() == {"stored": 1, "refused": []}, answer.text


def secret_of(world: World, name: str) -> Secret:
    return next(caller.secret for caller in world.settings.service.callers if caller.name == name and caller.secret)
