"""What a refused check spares: in the lines that the service and CDAP 6.11.1 write when nina deletes her namespace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from spark_sync.ledger.event import EntityEvent, Position
from spark_sync.ledger.fold import fold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.life import Life, State
from spark_sync.ledger.matching import concerns
from spark_sync.sources.data_plane import read

SOURCE = SourceSettings(name="cdap", kind="data-plane", callers=("auditor",))
PROCESS, LATER = "1" * 32, 10_000
SETTINGS = FoldSettings(baseline=100, skew=2, unfinished_after=600, journals={"cdap": LATER}, horizons={"cdap": LATER})

# Entities in the order of their deletion; `another` of its type is not nina's, and may be refused to her.
TYPES = {
    "application": ("APPLICATION", ["lab", "Flow", "1"], ["lab", "Other", "1"]),
    "dataset": ("DATASET", ["lab", "mine"], ["lab", "theirs"]),
    "dataset_module": ("DATASET_MODULE", ["lab", "module"], ["lab", "another"]),
    "artifact": ("ARTIFACT", ["lab", "lib", "1.0"], ["lab", "other", "1.0"]),
}
ENTITIES = {
    "namespace": EntityId("namespace", ("lab",)),
    "application": EntityId("application", ("lab", "Flow")),
    "another application": EntityId("application", ("lab", "Other")),
    "schedule": EntityId("schedule", ("lab", "Flow", "daily")),
    "dataset": EntityId("dataset", ("lab", "mine")),
    "another dataset": EntityId("dataset", ("lab", "theirs")),
    "dataset_module": EntityId("dataset_module", ("lab", "module")),
    "artifact": EntityId("artifact", ("lab", "lib")),
    "another artifact": EntityId("artifact", ("lab", "other")),
    "profile": EntityId("profile", ("lab", "p")),
    "secure_key": EntityId("secure_key", ("lab", "k")),
    "stream": EntityId("stream", ("lab", "old")),
}
Json = dict[str, Any]


def ninas(entity: EntityId) -> Life:
    begun = Position(110, False, "cdap", "1")
    return Life(entity, 1, "nina", begun, State.APPLIED, source="cdap", event="1", certain=115)


@dataclass
class Lines:
    """The lines of one deletion of `lab`, which CDAP answers at 290; `records` by their path."""

    journal: list[Json] = field(default_factory=list)
    records: dict[str, Json] = field(default_factory=dict)

    def check(
        self, path: str, at: int, kind: str, parts: list[str], *, allowed: bool = True, user: str = "nina"
    ) -> None:
        stamp = {"id": f"{at:032x}", "process": PROCESS, "at": at}
        asked = {"principal": "nina", "type": kind, "parts": parts, "permissions": ["STANDARD.DELETE"]}
        said = {"v": 1, "instance": "cdap", "process": PROCESS, "at": at, **asked, "frame": ""}
        said |= {} if allowed else {"allowed": False}
        self.journal.append({"id": stamp["id"], "caller": "enforcer", "received": at + 1, "check": said})
        self.records[path]["record"]["checks"].append({**asked, "allowed": allowed, **stamp})

    def request(self, path: str, started: int, ended: int, code: int) -> str:
        record = {"v": 2, "instance": "cdap", "method": "DELETE", "uri": path, "code": code, "checks": []}
        line = {"id": path, "caller": "auditor", "received": ended + 5}
        self.records[path] = line | {"record": record | {"started": started, "ended": ended}}
        return path

    def events(self) -> list[EntityEvent]:
        found = [read(json.dumps(line), SOURCE, "cdap") for line in [*self.journal, *self.records.values()]]
        assert [each.rejected for each in found] == [None] * len(found)
        return [event for each in found for event in each.events]

    def states(self) -> dict[str, State]:
        return {name: self.state_of(entity) for name, entity in ENTITIES.items()}

    def state_of(self, entity: EntityId, settings: FoldSettings = SETTINGS) -> State:
        events = [event for event in self.events() if concerns(entity, event)]
        return fold(entity, events, [ninas(entity)], settings)[-1].state


WHOLE = "/v3/unrecoverable/namespaces/lab"
SEPARATE = {"dataset": "/v3/namespaces/lab/data/datasets", "dataset_module": "/v3/namespaces/lab/data/modules"}


def refused_at(refused: str, *, first: bool = False) -> Lines:
    """CDAP checks nina's entity of each type, then `another`, until that is refused; `first`: another comes first."""
    lines = Lines()
    lines.request(WHOLE, 200, 290, 409)
    lines.check(WHOLE, 201, "NAMESPACE", ["lab"])
    for n, (name, (kind, mine, another)) in enumerate(TYPES.items(), start=1):
        at = 200 + 20 * n
        path = WHOLE
        if name in SEPARATE:
            path = lines.request(SEPARATE[name], at, at + 9, 403 if name == refused else 200)
        if name == refused and first:
            lines.check(path, at + 1, kind, another, allowed=False)
            return lines
        lines.check(path, at + 1, kind, mine)
        if name == refused:
            lines.check(path, at + 2, kind, another, allowed=False)
            return lines
    raise AssertionError(refused)


# The type that is refused, whether before nina's entity of that type was checked, and what is suspended.
APPS = {"application", "schedule"}
REFUSED: dict[str, tuple[str, bool, set[str]]] = {
    "an application, before hers": ("application", True, set()),
    "an application, after hers": ("application", False, APPS),
    "a dataset, before hers": ("dataset", True, {*APPS, "another application"}),
    "a dataset, after hers: none was deleted": ("dataset", False, {*APPS, "another application"}),
    "a module": ("dataset_module", False, {*APPS, "another application", "another dataset"}),
    "an artifact, after hers": ("artifact", False, {*APPS, "another application", "another dataset", "dataset_module"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_comes_after_the_refused_entity_stays_as_it_was(case: str) -> None:
    refused, first, suspended = REFUSED[case]
    # Those of a record of their own with 200 are gone, and of a stream nobody knows when it is deleted.
    done = {"dataset": {"dataset_module", "artifact"}, "dataset_module": {"artifact"}}
    gone = {name for name, before in done.items() if refused in before}
    found = refused_at(refused, first=first).states()
    wanted = dict.fromkeys(ENTITIES, State.APPLIED)
    wanted |= dict.fromkeys((*suspended, "stream"), State.SUSPENDED) | dict.fromkeys(gone, State.CLOSING)
    assert found == wanted


def _of_record(path: str, **changes: Any) -> Callable[[Lines], None]:
    return lambda lines: lines.records[path]["record"].update(changes)


def _of_refusal(**changes: Any) -> Callable[[Lines], None]:
    """Change what the journal says of the refused check, which is its last line."""
    return lambda lines: lines.journal[-1]["check"].update(changes)


def _of_line(**changes: Any) -> Callable[[Lines], None]:
    return lambda lines: lines.journal[-1].update(changes)


def _a_second_deletion(lines: Lines) -> None:
    """The same user asks for the same deletion at the same time, and nobody knows how that ends."""
    path = lines.request("second", 230, 280, 409)
    lines.check(path, 231, "NAMESPACE", ["lab"])
    del lines.records[path]


def _two_refusals(lines: Lines) -> None:
    path = lines.request(SEPARATE["dataset_module"], 250, 259, 403)
    lines.check(path, 252, "DATASET_MODULE", ["lab", "x"], allowed=False)


def _a_second_record(lines: Lines) -> None:
    second = json.loads(json.dumps(lines.records[WHOLE]))
    second["record"]["code"] = 200
    lines.records["second"] = second | {"id": "second"}


DATASETS = SEPARATE["dataset"]
FAULTS: dict[str, Callable[[Lines], None]] = {
    "the service did not journal it": lambda lines: lines.journal.pop(),
    "only the journal has it": lambda lines: lines.records[DATASETS]["record"]["checks"].pop(),
    "the journal has it as allowed": _of_refusal(allowed=True),
    "the journal has another id": _of_line(id="f" * 32),
    "the journal names another user": _of_refusal(principal="mallory"),
    "the journal names another process": _of_refusal(process="2" * 32),
    "the journal names another type": _of_refusal(type="ARTIFACT", parts=["lab", "a", "1"]),
    "the journal names another namespace": _of_refusal(parts=["other", "theirs"]),
    "both were sent with one secret": _of_line(caller="auditor"),
    "a user sent the request, not CDAP": _of_record(DATASETS, user_ip="10.1.2.3"),
    "its request began before the deletion": _of_record(DATASETS, started=199),
    "its request ended after the deletion": _of_record(DATASETS, ended=291),
    "it was a request for something else": _of_record(DATASETS, uri="/v3/namespaces/lab/data/datasets/theirs"),
    "CDAP does not say how the deletion ended": _of_record(WHOLE, code=500),
    "two records of the deletion disagree": _a_second_record,
    "another deletion may have been refused": _a_second_deletion,
    "two checks were refused": _two_refusals,
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_refusal_that_is_not_certain_spares_nothing(case: str) -> None:
    lines = refused_at("dataset")
    assert lines.states()["namespace"] is State.APPLIED
    FAULTS[case](lines)
    found = lines.states()
    assert {name: state for name, state in found.items() if name != "dataset"} == {
        name: State.SUSPENDED for name in found if name != "dataset"
    }
    assert found["dataset"] in (State.SUSPENDED, State.CLOSING)


def test_what_was_checked_at_the_same_time_may_be_gone() -> None:
    lines = refused_at("dataset", first=True)
    lines.check(lines.request("/v3/namespaces/lab/data/datasets/mine", 202, 300, 500), 230, "DATASET", ["lab", "mine"])
    assert lines.states()["dataset"] is State.SUSPENDED


def test_a_refusal_undoes_no_deletion_that_succeeded() -> None:
    lines = refused_at("dataset")
    _of_record(WHOLE, code=200)(lines)
    assert set(lines.states().values()) == {State.CLOSING}


def test_what_is_not_yet_known_to_be_complete_is_not_decided() -> None:
    """A check of the entity may still come from another service."""
    early = replace(SETTINGS, journals={"cdap": 290}, horizons={"cdap": 290})
    assert refused_at("dataset").state_of(ENTITIES["artifact"], early) is State.APPLIED
