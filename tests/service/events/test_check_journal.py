"""A check that may begin a life, or end one or a deletion, is on the disk before it is answered, and no other is."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.service.events.check_journal import Entry, entry_of
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.wire.cdap_wire import EnforceRequest
from tests.disk_faults import full_disk
from tests.service.event_samples import AT, ID, PROCESS, Json, stamp, stamped, stored_in
from tests.service.fixtures import CALLERS, World, caller, serving
from tests.service.journal_fixtures import (
    APP,
    CREATE,
    CREATES_KV,
    DELETE,
    EVERYTHING,
    EXECUTE,
    GET,
    PREVIEW,
    UPDATE,
    ask,
    figure,
    on_disk,
    question,
)


def entry(asked: Json) -> Entry | None:
    return entry_of(msgspec.convert(asked, EnforceRequest), "cdap")


KEY = ("SECUREKEY", "ns1", "key")

# --- which checks are journalled, and whether they may begin a life -----------------------------------------------

JOURNALLED: dict[str, tuple[Json, bool]] = {
    "a dataset is created": (question(), True),
    "a dataset is dropped": (question(permissions=[DELETE]), False),
    "both at once": (question(permissions=[DELETE, CREATE]), True),
    "with another permission": (question(permissions=[GET, CREATE]), True),
    "a namespace": (question(of=("NAMESPACE", "ns1")), True),
    "an artifact, by its version": (question(of=("ARTIFACT", "ns1", "jar", "1.0.0")), True),
    "an artifact's version is deleted": (question(of=("ARTIFACT", "ns1", "jar", "1.0.0"), permissions=[DELETE]), False),
    "an application": (question(of=APP, hint="LocalArtifactLoaderStage.process"), True),
    "a secure key, made by an update": (question(of=KEY, permissions=[UPDATE]), True),
    "a secure key is deleted": (question(of=KEY, permissions=[DELETE]), False),
    "a schedule is added": (question(of=APP, permissions=[EXECUTE], hint="ProgramScheduleService.add X.y"), True),
    "a schedule is deleted": (question(of=APP, permissions=[EXECUTE], hint="ProgramScheduleService.delete"), False),
    "a program runs, which is no creation": (question(of=APP, permissions=[EXECUTE], hint="X.run"), False),
    "an early frame that is not the nearest": (question(hint="X.y ArtifactHttpHandler.addArtifact"), True),
    "without a hint": (question(hint=...), True),
    "without a Kerberos name and with an address": (question(client_ip="10.1.2.3"), True),
}


@pytest.mark.parametrize("case", JOURNALLED)
def test_what_may_begin_or_end_a_life_is_journalled(case: str) -> None:
    asked, creates = JOURNALLED[case]
    found = entry(asked)
    assert found is not None
    assert (found.id, found.creates) == (ID, creates)
    check = found.check
    assert (check.v, check.instance, check.process, check.at, check.principal) == (1, "cdap", PROCESS, AT, "alice")
    assert {"type": check.type, "parts": check.parts} == asked["entity"]
    assert check.permissions == asked["permissions"]
    assert check.frame == asked.get("hint", "").partition(" ")[0]


SKIPPED: dict[str, Json] = {
    "without a stamp": question(check=...),
    "on children": question(of=("NAMESPACE", "ns1"), child_type="DATASET"),
    "of a running program": question(from_container=True),
    "another permission": question(permissions=[GET]),
    "no permission": question(permissions=[]),
    "an update of what is no secure key": question(permissions=[UPDATE]),
    "a type nobody gets a grant for": question(of=("PROGRAM", "ns1", "shop", "-SNAPSHOT", "worker", "W")),
    "a type nobody knows": question(of=("NONSENSE", "ns1", "x")),
    "in the namespace system": question(of=("DATASET", "system", "kv")),
    "the namespace system": question(of=("NAMESPACE", "system")),
    "a local dataset": question(of=("DATASET", "ns1", f"kv.{PREVIEW}")),
    "an application of a preview": question(of=("APPLICATION", "ns1", PREVIEW, "-SNAPSHOT")),
    "no entity": question(of=("DATASET", "ns1")),
    "a name CDAP does not allow": question(of=("DATASET", "ns1", "*")),
    "the first check of an upload": question(
        of=("ARTIFACT", "ns1", "jar", "1.0.0"), hint="ArtifactHttpHandler.addArtifact"
    ),
    "the first check of a deployment": question(
        of=APP, hint="AppLifecycleHttpHandler.deployAppFromArtifact AppLifecycleHttpHandler.create"
    ),
    "with the class's package": question(hint="io.cdap.cdap.gateway.handlers.ArtifactHttpHandler.addArtifact"),
    "behind a class that only passes on": question(hint="AuthEnforceUtil.enforce ArtifactHttpHandler.addArtifact"),
    "below a preview": question(of=APP, hint="X.y PreviewApplicationManager.deploy Z.run"),
    "directly below a preview": question(of=("NAMESPACE", "ns1"), hint="DefaultPreviewRunner.startPreview"),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_nothing_else_is_journalled(case: str) -> None:
    assert entry(SKIPPED[case]) is None


def test_of_cdaps_real_checks_the_last_of_each_creation_is_journalled() -> None:
    """681 calls of a real CDAP: each entity that was created has one entry, except what previews make."""
    found: Counter[tuple[str, str]] = Counter()
    path = Path(__file__).parents[2] / "data" / "cdap-enforce-calls.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        request = json.loads(line)
        for call in request["calls"]:
            if "entity" not in call:
                continue
            kind, parts = call["entity"]
            more = {"child_type": call["child"]} if "child" in call else {}
            asked = question(
                user=call["by"], of=(kind, *parts), permissions=call["permissions"], hint=call.get("hint", ""), **more
            )
            if (one := entry(asked)) and one.creates:
                found[request["operation"], kind] += 1
    single = {
        ("namespace.create", "NAMESPACE"): 1,
        ("artifact.add", "ARTIFACT"): 1,
        ("application.deploy(from artifact)", "APPLICATION"): 1,
        ("application.deploy(jar upload)", "ARTIFACT"): 1,
        ("application.deploy(jar upload)", "APPLICATION"): 1,
        ("schedule.create", "APPLICATION"): 1,
        ("schedule.update", "APPLICATION"): 0,
        ("dataset.create", "DATASET"): 1,
        ("securekey.create", "SECUREKEY"): 1,
        ("profile.create(ns)", "PROFILE"): 1,
        ("preview.run", "NAMESPACE"): 0,
        ("preview.run", "APPLICATION"): 0,
    }
    assert {operation: found[operation] for operation in single} == single


MAY_END_A_DELETION: dict[str, Json] = {
    "a dataset": question(permissions=[DELETE]),
    "an application": question(of=APP, permissions=[DELETE]),
    "a module": question(of=("DATASET_MODULE", "ns1", "m"), permissions=[DELETE]),
    "an artifact": question(of=("ARTIFACT", "ns1", "jar", "1.0.0"), permissions=[GET, DELETE]),
}
REFUSED_ALONE: dict[str, Json] = {
    "a creation": question(),
    "a creation and a deletion": question(permissions=[DELETE, CREATE]),
    "a secure key, which CDAP leaves where it is": question(of=KEY, permissions=[DELETE]),
    "a profile, which CDAP does not check": question(of=("PROFILE", "ns1", "p"), permissions=[DELETE]),
    "the namespace itself": question(of=("NAMESPACE", "ns1"), permissions=[DELETE]),
    "a schedule": question(of=APP, permissions=[EXECUTE], hint="ProgramScheduleService.delete"),
    "a read": question(permissions=[GET]),
    "without a stamp": question(permissions=[DELETE], check=...),
    "in the namespace system": question(of=("DATASET", "system", "kv"), permissions=[DELETE]),
}


@pytest.mark.parametrize("case", MAY_END_A_DELETION)
def test_a_refused_check_in_the_deletion_of_a_namespace_is_journalled(case: str) -> None:
    asked = msgspec.convert(MAY_END_A_DELETION[case], EnforceRequest)
    found = entry_of(asked, "cdap", allowed=False)
    assert found is not None
    assert (found.check.allowed, found.creates) == (False, False)
    assert found.check == msgspec.structs.replace(entry_of(asked, "cdap").check, allowed=False)  # type: ignore[union-attr]


@pytest.mark.parametrize("case", REFUSED_ALONE)
def test_no_other_refused_check_is_journalled(case: str) -> None:
    assert entry_of(msgspec.convert(REFUSED_ALONE[case], EnforceRequest), "cdap", allowed=False) is None


NAMES = st.text(max_size=8) | st.sampled_from(["ns1", "kv", "system", "*"])


@given(
    kind=st.sampled_from(["NAMESPACE", "DATASET", "APPLICATION", "ARTIFACT", "SECUREKEY", "PROGRAM"]) | NAMES,
    parts=st.lists(NAMES, max_size=6),
    permissions=st.lists(st.sampled_from([CREATE, DELETE, GET, UPDATE, EXECUTE, "nonsense"]), max_size=3),
    hint=st.none() | st.text(max_size=30) | st.sampled_from([" ", ".", "...", "a.b.c d"]),
)
def test_whatever_is_asked_it_is_journalled_by_a_row_of_the_table_or_not_at_all(
    kind: str, parts: list[str], permissions: list[str], hint: str | None
) -> None:
    found = entry(question(of=(kind, *parts), permissions=permissions, hint=hint))
    if found is not None:
        assert load_creations().journal_row(kind, permissions) is not None
        assert (found.check.parts, found.check.permissions) == (parts, permissions)


# --- through the service ------------------------------------------------------------------------------------------


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A service over `EVERYTHING`, for one test."""
    with serving(EVERYTHING, tmp_path) as running:
        yield running


def test_the_entry_is_on_the_disk_when_the_answer_comes(world: World, events: Path) -> None:
    for number in range(5):
        answer = ask(world, question(check=stamp(number)))
        assert (answer["allowed"], answer["cacheable"]) == (True, False)
        # The very moment before may have moved the file from one directory to the other.
        assert stamp(number)["id"] in {line["id"] for line in (*on_disk(events), *on_disk(events))}
    assert figure(world, "checks_journalled_total") == 5


def test_an_entry_says_who_asked_and_what(tmp_path: Path, events: Path) -> None:
    callers = (*CALLERS, caller("cdap-master", CallerRole.ENFORCE, CallerRole.GRANT))
    with serving(EVERYTHING, tmp_path, callers=callers) as world:
        ask(world, question(of=("ARTIFACT", "ns1", "a.b", "1.0.0")), who="cdap-master")
    (line,) = stored_in(events)
    received = line.pop("received")
    assert received > AT / 10
    assert line == {
        "id": ID,
        "caller": "cdap-master",
        "check": {
            "v": 1,
            "instance": "cdap",
            "process": PROCESS,
            "at": AT,
            "principal": "alice",
            "type": "ARTIFACT",
            "parts": ["ns1", "a.b", "1.0.0"],
            "permissions": [CREATE],
            "frame": "DatasetInstanceService.create",
        },
    }


def test_a_refusal_is_on_the_disk_when_the_answer_comes(world: World, events: Path) -> None:
    answer = ask(world, question(user="bob", permissions=[DELETE]))
    assert not answer["allowed"]
    (line,) = on_disk(events)
    assert (line["id"], line["caller"], line["check"]["principal"], line["check"]["allowed"]) == (
        ID, "enforce", "bob", False,
    )  # fmt: skip
    assert figure(world, "checks_open") == 0


def test_a_disk_that_refuses_a_refusal_allows_nothing(world: World, events: Path) -> None:
    with full_disk(10):
        refused = ask(world, question(user="bob", permissions=[DELETE]))
    assert (refused["allowed"], refused["cacheable"]) == (False, False)
    assert "journalled" not in refused["reason"]
    assert figure(world, "checks_not_journalled_total") == 1
    assert on_disk(events) == []


def test_nothing_is_journalled_for_what_is_denied_or_only_asked(world: World, events: Path) -> None:
    assert not ask(world, question(user="bob"))["allowed"], "a creation"
    assert not ask(world, question(principal={"name": "alice", "type": "GROUP"}))["allowed"]
    assert ask(world, question(permissions=[GET]))["cacheable"]
    assert ask(world, question(check=...))["cacheable"], "an extension that sends no stamp"
    kv = CREATES_KV["entity"]
    world.ask("enforce", "POST", "/cdap/v1/visible", {"principal": {"name": "alice"}, "entities": [kv]})
    pdp = {
        "requestId": "1",
        "user": {"name": "alice"},
        "access": {"resource": {"name": "dataset:ns1/kv"}, "permissions": ["write", "admin"]},
        "context": {"serviceName": "cdapdev"},
    }
    assert world.ask("delegate", "POST", "/authz/v1/authorize", pdp).status in (200, 400)
    authzen = {
        "subject": {"type": "user", "id": "alice"},
        "resource": {"type": "dataset", "id": "dataset:ns1/kv"},
        "action": {"name": "write"},
    }
    assert world.ask("delegate", "POST", "/access/v1/evaluation", authzen).status in (200, 400)
    assert on_disk(events) == []
    assert figure(world, "checks_journalled_total") == 0


@pytest.mark.parametrize("case", [name for name in SKIPPED if name not in ("no entity", "a name CDAP does not allow")])
def test_what_is_not_journalled_is_answered_all_the_same(case: str, world: World, events: Path) -> None:
    world.ask("enforce", "POST", "/cdap/v1/enforce", SKIPPED[case])
    assert on_disk(events) == []


def test_what_is_not_enforced_is_not_journalled(tmp_path: Path, events: Path) -> None:
    reporting = Enforcement(operations=frozenset({"dataset.get"}), outside=UnenforcedMode.REPORT)
    with serving(EVERYTHING, tmp_path, enforcement=reporting) as world:
        answer = ask(world, question())
    assert (answer["allowed"], answer["enforced"]) == (True, False)
    assert stored_in(events) == []


def test_a_caller_that_brings_records_does_not_witness_its_own(tmp_path: Path, events: Path) -> None:
    callers = (*CALLERS, caller("both", CallerRole.ENFORCE, CallerRole.AUDIT))
    with serving(EVERYTHING, tmp_path, callers=callers) as world:
        assert ask(world, question(), who="both")["cacheable"]
    assert stored_in(events) == []


def test_without_a_caller_that_brings_records_there_is_no_journal(tmp_path: Path, events: Path) -> None:
    with serving(EVERYTHING, tmp_path, callers=(caller("enforce", CallerRole.ENFORCE),)) as world:
        assert ask(world, question())["cacheable"]
    assert not events.exists()


def test_a_disk_that_refuses_the_entry_denies_the_check(world: World, events: Path) -> None:
    with full_disk(10):
        refused = ask(world, question())
        read = ask(world, question(permissions=[GET]))
    assert (refused["allowed"], refused["enforced"], refused["cacheable"]) == (False, True, False)
    assert "are denied while they cannot be journalled (File too large)" in refused["reason"]
    assert read["allowed"]
    assert figure(world, "checks_not_journalled_total") == 1
    assert on_disk(events) == []
    assert figure(world, "checks_open") == 0
    assert ask(world, question())["allowed"]
    assert [line["id"] for line in on_disk(events)] == [ID]


@pytest.mark.parametrize(
    "stamp",
    [
        {"id": "x" * 32},
        {"id": "A" * 32},
        {"id": "a" * 31},
        {"id": "a" * 32 + "\n"},
        {"process": ""},
        {"at": 0},
        {"at": 1.5},
        {"at": "1"},
        {"more": 1},
    ],
)
def test_a_stamp_that_is_none_is_refused(world: World, stamp: Json) -> None:
    body = question(check=CREATES_KV["check"] | stamp)
    assert world.ask("enforce", "POST", "/cdap/v1/enforce", body).status == 400


def test_records_and_checks_are_one_stream(world: World, events: Path) -> None:
    for number in range(6):
        ask(world, question(check=stamp(number)))
        world.ask("audit", "POST", "/cdap/v1/audit", {"records": [stamped(number)]})
    world.state.events.store.close()  # type: ignore[union-attr]
    lines = stored_in(events)
    assert ["check" if "check" in line else "record" for line in lines] == ["check", "record"] * 6
    times = [line["received"] for line in lines]
    assert times == sorted(times)


def test_many_at_once_are_all_journalled(world: World, events: Path) -> None:
    threads = [threading.Thread(target=ask, args=(world, question(check=stamp(n)))) for n in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world.state.events.store.close()  # type: ignore[union-attr]
    assert {line["id"] for line in stored_in(events)} == {stamp(n)["id"] for n in range(60)}
