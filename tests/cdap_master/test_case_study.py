"""The case study of the predecessor's README, step by step on a real CDAP: under profile `cdap-6`, and by the old rule.

Alice creates the namespaces `clicks` and `finance`, whose programs run as `svcclicks` and `svcfinance`, deploys
applications there, runs, stops and schedules them. Bob, of the group `finance`, does the same in `finance` alone, by
policies of his group. Before each step CDAP denies what the README says, and nothing is changed; after it, it is done.

Statuses are those of CDAP 6.11.1. An application that may not be deployed is a 500, because CDAP wraps what its
pipeline of deployment throws, but a 403 where the principal of the namespace lacks a dataset, which it creates
outside of that. A start without EXECUTE is a 403; the README has 404, as CDAP 4 looked first whether the user sees the
program. What CDAP does not find is a 404, whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from ranger_cdap.config import EnforceSettings
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing import embedded_ranger
from tests.cdap_master.builder import ARTIFACT, FROM_ARTIFACT
from tests.cdap_master.cdap_apps import WORKFLOW, schedule, workflow_jar
from tests.cdap_master.fixtures import SYNC, World, wait_until, world
from tests.cdap_master.in_memory_cdap import APP_JAR, MASTER, missing_part
from tests.docs.case_study import CASE_STUDY, StudyPolicy, levels
from tests.testing.admin.caller import Caller

CLICKS, FINANCE = (f"/v3/namespaces/{name}" for name in ("clicks", "finance"))
APP, FLOW, BOBS = f"{CLICKS}/apps/words-ingest", f"{CLICKS}/apps/flow", f"{FINANCE}/apps/words-ingest"
NIGHTLY = f"{FLOW}/schedules/nightly"
FROM_FLOW = {"artifact": {"name": "flow", "version": "1.0.0", "scope": "USER"}}
# The README deploys a pipeline, whose artifact is one of CDAP's own. There is none here, so a colleague adds one, on
# which Alice and Bob need some privilege. The colleague starts what Alice may not stop; an observer sees what changed.
ARTIFACTS = {"clicks": (ARTIFACT, "flow"), "finance": (ARTIFACT,)}
# CDAP 6.11 makes what is deployed there the principal's, and asks that principal whether it may own it.
PEOPLE = {
    "colleague": [
        *(f"ADMIN artifact:{namespace}.{name}" for namespace, names in ARTIFACTS.items() for name in names),
        "EXECUTE program:clicks.words-ingest.service.Prices",
    ],
    "alice": [f"READ artifact:clicks.{ARTIFACT}", "READ artifact:clicks.flow"],
    **{name: [f"ADMIN principal:{name}/host@EXAMPLE.COM"] for name in ("svcclicks", "svcfinance")},
}


ENFORCED = {
    "cdap-6": EnforceSettings(),
    # The same answers before anything is enforced, whatever the profile says.
    "default": EnforceSettings(operations=(), outside="predecessor"),
}


@pytest.fixture(scope="module", params=list(ENFORCED))
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    profile = request.param
    if sentence := missing_part():
        pytest.skip(sentence)
    with (
        embedded_ranger(sync_account=SYNC, master_user=MASTER, profile="cdap-6") as ranger,
        world(
            ranger,
            tmp_path_factory.mktemp("study"),
            "ranger-cdap-extension-6.11.jar",
            profile=profile,
            enforce=ENFORCED[profile],
        ) as made,
    ):
        ranger.create_users("alice", "bob", "svcclicks", "svcfinance")
        call = Caller(ranger.url, password=ranger.password.reveal())
        assert call("POST", "/service/xusers/secure/groups", {"name": "finance"})[0] == 200
        bob = call("GET", "/service/xusers/users/userName/bob")[1]["id"]
        assert call("POST", "/service/xusers/groupusers", {"name": "finance", "userId": bob})[0] == 200
        ranger.give_everywhere("observer", "read", ["namespace", "application", "program"])
        made.refresh()
        yield made


def of_finance(policy: StudyPolicy) -> StudyPolicy:
    """The README's sixth step: the same policy for `finance` alone; what Alice has, the group of Bob has."""
    scope = policy.effective.replace("clicks,finance", "finance").replace("clicks", "finance")
    scope = scope.replace("svc*", "svcfinance*")
    user = "svcfinance" if policy.user == "svcclicks" else "group finance"
    return replace(policy, name=f"{policy.name} (finance)", user=user, resource=scope, meaning="")


# In the README the data of a namespace is its principal's; the artifact of Bob's applications is the colleague's.
POLICIES = {one.name: one for one in (*CASE_STUDY, *map(of_finance, CASE_STUDY))}
BOBS_ARTIFACT = StudyPolicy("Bob's artifact", "group finance", "namespace=finance artifact=?*", "read")


def adopt(study: World, policy: StudyPolicy) -> None:
    """Write a policy of the study, as the README means it."""
    resources = msgspec.convert(levels(policy.effective), dict[str, PolicyResource])
    accesses = [PolicyItemAccess(type=access) for access in policy.accesses.split()]
    kind, _, group = policy.user.partition(" ")
    item = PolicyItem(users=[] if group else [kind], groups=[group] if group else [], accesses=accesses)
    study.ranger.admin.create_policy(
        Policy(service=study.ranger.service, name=policy.name, resources=resources, policy_items=[item])
    )
    study.refresh()


@dataclass(frozen=True)
class Step:
    """Who asks for what, the status, words of a denial, and what the observer sees at a path afterwards."""

    who: str
    request: str
    status: int
    says: str = ""
    body: Any = None
    at: str = ""
    seen: Any = None


def with_owner(namespace: str) -> dict[str, object]:
    principal, keytab = f"svc{namespace}/host@EXAMPLE.COM", f"file:///etc/security/{namespace}.keytab"
    return {"config": {"principal": principal, "keytabURI": keytab}}


def create(namespace: str, status: int, says: str = "", *, seen: set[str]) -> Step:
    path = f"/v3/namespaces/{namespace}"
    return Step("alice", f"PUT {path}", status, says, with_owner(namespace), "/v3/namespaces", seen)


def deploy(who: str, app: str, status: int, says: str = "", *, seen: set[str]) -> Step:
    body = FROM_FLOW if app == FLOW else FROM_ARTIFACT
    return Step(who, f"PUT {app}", status, says, body, app.rpartition("/")[0], seen)


def run(who: str, what: str, app: str, status: int, says: str = "", *, seen: str) -> Step:
    """Start or stop the service of an application."""
    return Step(who, f"POST {app}/services/Prices/{what}", status, says, {}, f"{app}/services/Prices/status", seen)


def at_night(request: str, status: int, says: str = "", *, seen: Any) -> Step:
    body = schedule("nightly") if request.startswith("PUT") else {}
    at = f"{NIGHTLY}/status" if isinstance(seen, str) else f"{FLOW}/schedules"
    return Step("alice", request, status, says, body, at, seen)


def sees(who: str, *namespaces: str) -> Step:
    return Step(who, "GET /v3/namespaces", 200, body=set(namespaces))


NEEDS_ADMIN, NEEDS_EXECUTE = "alice needs ADMIN on", "alice needs EXECUTE on"
OF_CLICKS: list[Step | str] = [
    sees("alice"),
    create("clicks", 403, f"{NEEDS_ADMIN} namespace:clicks", seen=set()),
    "Alice the Name Spacer",
    create("clicks", 403, f"{NEEDS_ADMIN} principal:svcclicks/host@EXAMPLE.COM", seen=set()),
    sees("alice"),
    "Alice the Impersonator",
    create("clicks", 200, seen={"clicks"}),
    create("finance", 200, seen={"clicks", "finance"}),
    sees("alice", "clicks", "finance"),
    create("other", 403, f"{NEEDS_ADMIN} namespace:other", seen={"clicks", "finance"}),
]
OF_APPLICATIONS: list[Step | str] = [
    deploy("alice", APP, 500, f"{NEEDS_ADMIN} application:clicks.words-ingest", seen=set()),
    "Alice the Deployer",
    deploy("alice", APP, 403, "svcclicks needs READ", seen=set()),
    "Clicks Datasets",
    deploy("alice", APP, 200, seen={"words-ingest"}),
    deploy("alice", FLOW, 200, seen={"words-ingest", "flow"}),
    run("alice", "start", APP, 403, f"{NEEDS_EXECUTE} program:clicks.words-ingest.service.Prices", seen="STOPPED"),
    run("colleague", "start", APP, 200, seen="RUNNING"),
    run("alice", "stop", APP, 403, f"{NEEDS_EXECUTE} program:clicks.words-ingest.service.Prices", seen="RUNNING"),
    # CDAP asks first whether she sees the program that is to be scheduled.
    at_night(f"PUT {NIGHTLY}", 403, f"on program:clicks.flow.workflow.{WORKFLOW}", seen=set()),
    "Alice the Runner",
    run("alice", "stop", APP, 200, seen="STOPPED"),
    run("alice", "stop", APP, 400, "is not running", seen="STOPPED"),
    run("alice", "start", APP, 200, seen="RUNNING"),
    at_night(f"PUT {NIGHTLY}", 200, seen={"nightly"}),
    at_night(f"POST {NIGHTLY}/resume", 200, seen="SCHEDULED"),
    at_night(f"POST {NIGHTLY}/suspend", 200, seen="SUSPENDED"),
    at_night(f"DELETE {NIGHTLY}", 200, seen=set()),
]
OF_BOB: list[Step | str] = [
    sees("bob"),
    deploy("bob", BOBS, 403, "namespace:finance", seen=set()),
    run("bob", "start", BOBS, 404, "was not found", seen=None),
    *("Alice the Name Spacer (finance)", "Alice the Impersonator (finance)"),
    sees("bob", "finance"),
    deploy("bob", BOBS, 500, "bob needs ADMIN on application:finance.words-ingest", seen=set()),
    "Alice the Deployer (finance)",
    # CDAP finds only artifacts that he sees.
    deploy("bob", BOBS, 404, f"'finance:{ARTIFACT} 1.0.0' was not found", seen=set()),
    BOBS_ARTIFACT.name,
    deploy("bob", BOBS, 403, "svcfinance needs READ", seen=set()),
    "Clicks Datasets (finance)",
    deploy("bob", BOBS, 200, seen={"words-ingest"}),
    run("bob", "start", BOBS, 403, "bob needs EXECUTE on program:finance.words-ingest.service.Prices", seen="STOPPED"),
    "Alice the Runner (finance)",
    run("bob", "start", BOBS, 200, seen="RUNNING"),
    run("bob", "stop", BOBS, 200, seen="STOPPED"),
    # Nothing of `clicks` is his: neither to see, nor to change, nor to stop what Alice runs.
    sees("bob", "finance"),
    deploy("bob", APP, 403, "namespace:clicks", seen={"words-ingest", "flow"}),
    run("bob", "stop", APP, 403, "bob needs EXECUTE on program:clicks.words-ingest.service.Prices", seen="RUNNING"),
]


def play(study: World, steps: list[Step | str]) -> None:
    for step in steps:
        if isinstance(step, str):
            adopt(study, {**POLICIES, BOBS_ARTIFACT.name: BOBS_ARTIFACT}[step])
        elif step.at:
            answer = study.user(step.who).ask(step.request, step.body)
            assert (answer.status_code, step.says in answer.text) == (step.status, True), (step, answer.text)
            if step.seen is not None:
                wait_until(lambda step=step: seen_at(study, step) == step.seen, str(step), seconds=60)  # type: ignore[misc]
        else:
            answer = study.user(step.who).must(step.request)
            assert {one["name"] for one in answer.json()} == step.body, step


def seen_at(study: World, step: Step) -> Any:
    """The names of a list, or a status."""
    found = study.user("observer").must(f"GET {step.at}").json()
    names = {one["name"] for one in found} if isinstance(found, list) else found["status"]
    return names - {"default", "system"} if isinstance(names, set) else names


def test_each_step_is_denied_before_its_policy_and_allowed_by_it(study: World) -> None:
    play(study, OF_CLICKS)
    study.people(PEOPLE)
    colleague = study.user("colleague")
    for namespace, names in ARTIFACTS.items():
        for name in names:
            jar = workflow_jar() if name == "flow" else APP_JAR.read_bytes()
            colleague.must(f"POST /v3/namespaces/{namespace}/artifacts/{name}", jar, Artifact_Version="1.0.0")
    play(study, OF_APPLICATIONS)

    # CDAP asks about a reference to the program, a type that the predecessor did not know.
    knows_references = study.settings.enforce.outside is None
    runs = study.user("alice").ask(f"GET {APP}/services/Prices/runs")
    assert runs.status_code == (200 if knows_references else 403)

    play(study, OF_BOB)
