"""What a record, a journalled check, a message or a line of the log says of an entity, in all columns, or rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ranger_cdap.config import Secret
from spark_sync.ledger.event import NEVER, EntityEvent
from tests.spark_sync.sources.reading import NOW, read_line
from tests.spark_sync.sources.test_http_access import MARKER, SECOND, entry, marked
from tests.spark_sync.sources.test_sources import audit, stored
from tests.spark_sync.sources.test_strict import CALLERS, CHECK, PROCESS, journalled, stamped

ARTIFACT = {"check_type": "ARTIFACT", "check_parts": ["ns1", "lib", "1.0.0"]}
UPLOAD = ARTIFACT | {"record_method": "POST", "record_uri": "/v3/namespaces/ns1/artifacts/lib"}
DELETE = {"record_method": "DELETE", "check_permissions": ["STANDARD.DELETE"]}
DELETE_VERSION = ARTIFACT | DELETE | {"record_uri": "/v3/namespaces/ns1/artifacts/lib/versions/1.0.0"}
DELETE_ALL = DELETE | {"record_uri": "/v3/namespaces/ns1/data/datasets"}
APPLICATION = {"check_type": "APPLICATION", "check_parts": ["ns1", "App", "v1"]}
UPDATE_APP = APPLICATION | {"record_method": "POST", "check_permissions": ["STANDARD.UPDATE"]}
EXECUTE = APPLICATION | {"check_permissions": ["APPLICATION.EXECUTE"]}


def read(line: dict[str, Any] | str, *, now: int = NOW) -> tuple[str | None, list[EntityEvent]]:
    reading = read_line("data-plane", line if isinstance(line, str) else json.dumps(line), now=now, callers=CALLERS)
    return reading.rejected, list(reading.events)


def told(events: list[EntityEvent]) -> list[tuple[str, str, str, str]]:
    return [(event.stage.value, event.outcome.value, event.kind.value, str(event.entity)) for event in events]


def test_all_columns_of_a_record_with_stamps() -> None:
    rejected, (event,) = read(stamped())
    assert rejected is None
    assert (event.stage, event.outcome, event.kind, str(event.entity)) == (
        "request",
        "done",
        "CREATE",
        "dataset:ns1.kv",
    )
    assert event.id == f"1#CREATE#dataset:ns1.kv#{CHECK}"
    assert (event.started, event.ended, event.requested, event.clock, event.check) == (1003, 1010, 1000, PROCESS, CHECK)
    assert event.request == "PUT /v3/namespaces/ns1/data/datasets/kv 200"
    assert (event.user, event.requester, event.version, event.child) == ("alice", "", "", "")
    assert (event.received, event.caller, event.source) == (2000, "cdap-master", "s")


def test_all_columns_of_a_record_without_stamps() -> None:
    _, (event,) = read(stored())
    assert event.id == "1#CREATE#dataset:ns1.kv"
    assert (event.started, event.ended, event.requested, event.clock, event.check) == (1000, 1010, 1000, "", "")


@pytest.mark.parametrize("changes", [{"check_at": 1011}, {"record_ended": 999}, {"check_at": 990, "record_ended": 989}])
def test_where_the_clock_was_set_back_since_the_check_the_end_is_unknown(changes: dict[str, Any]) -> None:
    rejected, (event,) = read(stamped(**changes))
    assert (rejected, event.started, event.ended) == (None, changes.get("check_at", event.started), NEVER)


@pytest.mark.parametrize(
    ("code", "one", "several"),
    [
        (200, "done", "done"),
        (201, "unclear", "unclear"),
        (304, "nothing", "unclear"),
        (403, "nothing", "unclear"),
        (409, "nothing", "unclear"),
        (500, "unclear", "unclear"),
        (503, "unclear", "unclear"),
        (0, "unclear", "unclear"),
        (-1, "unclear", "unclear"),
    ],
)
def test_the_outcome_is_told_by_the_status(code: int, one: str, several: str) -> None:
    for changes, outcome in ((DELETE, one), ({}, one), (DELETE_ALL, several)):
        _, (event,) = read(stamped(record_code=code, **changes))
        assert event.outcome == outcome


VERSIONS: dict[str, tuple[dict[str, Any], str, str]] = {
    "the one that came": (UPLOAD, "CREATE", "1.0.0"),
    "the only one that went": (DELETE_VERSION, "DELETE", "1.0.0"),
    "the only one that went, by the URI": (DELETE_VERSION | {"check_parts": ["ns1", "lib"]}, "DELETE", "1.0.0"),
    "all went": (
        APPLICATION | DELETE | {"record_uri": "/v3/namespaces/ns1/apps/App"},
        "DELETE",
        "",
    ),
    "all went, with all others": (APPLICATION | DELETE | {"record_uri": "/v3/namespaces/ns1/apps"}, "DELETE", ""),
    "of an entity without versions": ({}, "CREATE", ""),
}


@pytest.mark.parametrize(("changes", "kind", "version"), VERSIONS.values(), ids=VERSIONS)
def test_versions(changes: dict[str, Any], kind: str, version: str) -> None:
    _, (event,) = read(stamped(**changes))
    assert (event.kind, event.version, event.outcome) == (kind, version, "done")
    assert event.id == f"1#{kind}#{event.entity}{'@' * bool(version)}{version}#{CHECK}"


def test_the_deletion_of_another_version_than_was_checked_is_none() -> None:
    changes = DELETE_VERSION | {"record_uri": "/v3/namespaces/ns1/artifacts/lib/versions/2.0.0"}
    assert told(read(stamped(**changes))[1]) == [("request", "nothing", "DELETE", "artifact:ns1.lib")]


CLOSES: dict[str, tuple[dict[str, Any], list[tuple[str, str, str, str]]]] = {
    "a creation under a path that no row has": (
        {"record_uri": "/v3/namespaces/ns1/data/datasets/kv/again"},
        [("request", "unclear", "CREATE", "dataset:ns1.kv")],
    ),
    "and it was refused": (
        {"record_uri": "/v3/namespaces/ns1/data/datasets/kv/again", "record_code": 409},
        [("request", "nothing", "CREATE", "dataset:ns1.kv")],
    ),
    "and it reads only": (
        {"record_uri": "/v3/namespaces/ns1/data/datasets/kv/again", "record_method": "GET"},
        [("request", "nothing", "CREATE", "dataset:ns1.kv")],
    ),
    "an application that is made anew": (
        UPDATE_APP | {"record_uri": "/v3/namespaces/ns1/apps/App/update"},
        [("request", "done", "DELETE", "application:ns1.App")],
    ),
    "and this failed": (
        UPDATE_APP | {"record_uri": "/v3/namespaces/ns1/apps/App/update", "record_code": 500},
        [("request", "unclear", "DELETE", "application:ns1.App")],
    ),
    "preferences of an application": (
        UPDATE_APP | {"record_uri": "/v3/namespaces/ns1/apps/App/preferences"},
        [("request", "nothing", "DELETE", "application:ns1.App")],
    ),
    "truncating": (
        DELETE | {"record_method": "POST", "record_uri": "/v3/namespaces/ns1/data/datasets/kv/admin/truncate"},
        [("request", "nothing", "DELETE", "dataset:ns1.kv")],
    ),
    "a check of an application that runs": (
        EXECUTE | {"record_method": "POST", "record_uri": "/v3/namespaces/ns1/apps/App/workflows/W/start"},
        [("request", "nothing", "CREATE", "application:ns1.App")],
    ),
    "a schedule": (
        EXECUTE | {"record_uri": "/v3/namespaces/ns1/apps/App/schedules/daily"},
        [
            ("request", "done", "CREATE", "schedule:ns1.App.daily"),
            ("request", "nothing", "CREATE", "application:ns1.App"),
        ],
    ),
    "a denied check": ({"check_allowed": False}, []),
    "a check of children": ({"check_child_type": "DATASET"}, []),
    "a check that nothing is about": ({"check_permissions": ["STANDARD.GET"]}, []),
    "a name that CDAP cannot have": ({"check_parts": ["ns1", "a*"], "record_code": 400}, []),
    "a preview's": (
        {
            "check_type": "APPLICATION",
            "check_parts": ["ns1", "da6edb9c-e562-11f1-a244-02fc00000001", "v"],
            "record_uri": "/v3/namespaces/ns1/previews",
        },
        [],
    ),
}


@pytest.mark.parametrize(("changes", "wanted"), CLOSES.values(), ids=CLOSES)
def test_a_record_closes_its_checks(changes: dict[str, Any], wanted: list[tuple[str, str, str, str]]) -> None:
    rejected, events = read(stamped(**changes))
    assert (rejected, told(events)) == (None, wanted)
    if wanted and wanted[0][3].startswith("application:"):
        assert events[0].child == "schedule"


def test_without_stamps_there_is_no_check_to_close() -> None:
    assert read(stored(record_uri="/v3/namespaces/ns1/data/datasets/kv/properties")) == (None, [])


def test_each_check_of_a_request_has_an_event_of_its_own() -> None:
    line = stamped(**UPLOAD)
    (check,) = line["record"]["checks"]
    line["record"]["checks"] = [check, check | {"id": "f" * 32}, check]
    assert [event.check for event in read(line)[1]] == [CHECK, "f" * 32]


JOURNAL: dict[str, tuple[dict[str, Any], list[tuple[str, str, str, str]]]] = {
    "a creation": ({}, [("check", "unclear", "CREATE", "dataset:ns1.kv")]),
    "a deletion": ({"check_permissions": ["STANDARD.DELETE"]}, [("check", "unclear", "DELETE", "dataset:ns1.kv")]),
    "with a version": (ARTIFACT, [("check", "unclear", "CREATE", "artifact:ns1.lib")]),
    "a program runs": (EXECUTE, [("check", "nothing", "CREATE", "application:ns1.App")]),
    "a schedule is added": (
        EXECUTE | {"check_frame": "ProgramScheduleService.add"},
        [("check", "unclear", "CREATE", "application:ns1.App")],
    ),
    "a row that we do not know": ({"check_permissions": ["STANDARD.GET"]}, []),
    "a skipped entity": ({"check_parts": ["system", "kv"]}, []),
}


@pytest.mark.parametrize(("changes", "wanted"), JOURNAL.values(), ids=JOURNAL)
def test_journalled_checks(changes: dict[str, Any], wanted: list[tuple[str, str, str, str]]) -> None:
    rejected, events = read(journalled(**changes))
    assert (rejected, told(events)) == (None, wanted)
    for event in events:
        assert (event.started, event.ended, event.clock, event.check) == (1003, NEVER, PROCESS, CHECK)
        assert (event.user, event.caller, event.received) == ("alice", "cdap-enforce", 1004)
        assert event.child == ("schedule" if "EXECUTE" in str(changes) else "")
        assert event.version == (changes.get("check_parts", ["", "", ""])[2] if "check_type" in changes else "")


BAD_CHECKS: dict[str, tuple[dict[str, Any], str]] = {
    "of another version": ({"check_v": 2}, "unknown version `2`"),
    "of another instance": ({"check_instance": "prod"}, "is of instance `prod`"),
    "an id that is none": ({"line_id": "x"}, "expected `str` matching regex '^[0-9a-f]{32}$' - at `id`"),
    "a process that is none": (
        {"check_process": PROCESS + "\n"},
        "expected `str` of length <= 32 - at `check.process`",
    ),
    "no frame": ({"check_frame": ...}, "object missing required field `frame` - at `check`"),
    "more than a check": ({"check_x": 1}, "object contains unknown field `x` - at `check`"),
    "a user that is a number": ({"check_principal": 7}, "expected `str`, got `int` - at `check.principal`"),
    "a star": ({"check_parts": ["ns1", "*"]}, "`dataset:ns1.*` is not a valid CDAP name"),
    "a part too many": ({"check_parts": ["ns1", "a", "b"]}, "`dataset:ns1.a.b` is not a valid CDAP name"),
}


@pytest.mark.parametrize(("changes", "reason"), BAD_CHECKS.values(), ids=BAD_CHECKS)
def test_bad_checks(changes: dict[str, Any], reason: str) -> None:
    rejected, events = read(journalled(**changes))
    assert rejected == reason
    assert {event.stage for event in events} <= {"rejected"}


def test_a_line_is_a_record_or_a_check() -> None:
    rejected, events = read(stamped() | {"check": journalled()["check"]})
    assert rejected == "object contains unknown field `check`"
    assert {event.stage for event in events} == {"rejected"}


# What is left of a rejected line: an event, or nothing where something that can be read rules out a success.
LEFT: dict[str, tuple[dict[str, Any], int]] = {
    "of a caller that is not believed": ({"stored_caller": "mallory"}, 1),
    "of a later version": ({"record_v": 3}, 1),
    "with a field more": ({"record_x": 1}, 1),
    "without its id": ({"stored_id": ...}, 1),
    "without stamps": ({"check_process": ...}, 1),
    "without its status": ({"record_code": ...}, 1),
    "a status that is a text": ({"record_code": "403"}, 1),
    "nobody can tell: 500": ({"record_code": 500, "record_x": 1}, 1),
    "a user that is a number": ({"check_principal": 5}, 1),
    "allowed as a text": ({"check_allowed": "no"}, 1),
    "ruled out: 403": ({"record_code": 403, "record_x": 1}, 0),
    "not ruled out: 403 of several": ({"record_code": 403, "record_x": 1} | DELETE_ALL, 1),
    "ruled out: denied": ({"check_allowed": False, "record_x": 1}, 0),
    "ruled out: no user": ({"check_principal": ...}, 0),
    "ruled out: an empty user": ({"check_principal": "", "record_x": 1}, 0),
    "ruled out: another method": ({"record_method": "GET", "record_x": 1}, 0),
    "not ruled out: another path": ({"record_uri": "/v3/namespaces/ns1/apps", "record_x": 1}, 1),
    "ruled out: another instance": ({"record_instance": "prod"}, 0),
    "ruled out: a name that CDAP cannot have": ({"check_parts": ["ns1", "a*"], "record_x": 1}, 0),
    "ruled out: skipped": (
        {"check_parts": ["system", "kv"], "record_uri": "/v3/namespaces/system/data/datasets/kv", "record_x": 1},
        0,
    ),
}


@pytest.mark.parametrize(("changes", "count"), LEFT.values(), ids=LEFT)
def test_what_is_left_of_a_rejected_record(changes: dict[str, Any], count: int) -> None:
    rejected, events = read(stamped(**changes))
    assert rejected is not None
    kind = "DELETE" if "record_method" in changes else "CREATE"
    assert told(events) == [("rejected", "unclear", kind, "dataset:ns1.kv")] * count
    for event in events:
        assert event.id.startswith("rejected-")
        assert (event.clock, event.check) == ("", CHECK)


def test_a_rejected_line_never_takes_the_place_of_one_that_is_believed() -> None:
    ids = [{event.id for event in read(line)[1]} for line in (stamped(), stamped(stored_caller="mallory"))]
    assert all(ids)
    assert not ids[0] & ids[1]


def test_of_a_line_that_names_bad_and_good_entities_the_good_ones_are_left() -> None:
    line = stamped(record_method="POST", record_uri="/v3/namespaces/ns1/apps", **ARTIFACT)
    line["record"]["checks"].append(line["record"]["checks"][0] | {"parts": ["ns1", "*", "1"]})
    rejected, events = read(line)
    assert rejected == "`artifact:ns1.*` is not a valid CDAP name"
    assert told(events) == [("rejected", "unclear", "CREATE", "artifact:ns1.lib")]


AHEAD = 900_000


@pytest.mark.parametrize("line", [stamped(), stored(), journalled()], ids=["stamped", "not stamped", "check"])
def test_fifteen_minutes_ahead_are_taken_and_more_is_rejected(line: dict[str, Any]) -> None:
    last = line["record"]["ended"] if "record" in line else line["check"]["at"]
    rejected, events = read(line, now=last - AHEAD)
    assert rejected is None
    assert len(events) == 1
    rejected, (event,) = read(line, now=last - AHEAD - 1)
    assert rejected == "its time is more than 15 minutes in the future; is a clock wrong?"
    assert (event.stage, event.ended) == ("rejected", NEVER)
    rejected, (event,) = read(line, now=1)
    assert rejected is None or event.started == 0 or event.started <= 1 + AHEAD


@pytest.mark.parametrize("time", [2**62, 2**62 + 1, 2**63 - 1])
def test_no_time_is_taken_for_an_end_that_is_not_known(time: int) -> None:
    rejected, (event,) = read(stamped(record_ended=time))
    assert rejected == "its time is more than 15 minutes in the future; is a clock wrong?"
    assert (event.started, event.ended) == (1003, NEVER)
    rejected, (event,) = read(journalled(check_at=time))
    assert rejected is not None
    assert (event.started, event.ended) == (0, NEVER)


def of_message(message: dict[str, Any]) -> tuple[str | None, list[EntityEvent]]:
    reading = read_line("audit", json.dumps(message))
    return reading.rejected, list(reading.events)


def test_all_columns_of_a_message() -> None:
    rejected, (event,) = of_message(audit())
    assert rejected is None
    assert told([event]) == [("message", "done", "CREATE", "dataset:ns1.kv")]
    assert (event.started, event.ended, event.received, event.requested) == (1000, 1000, 1000, 0)
    assert (event.user, event.clock, event.check, event.request, event.caller) == ("alice", "", "", "", "")


MESSAGES_LEFT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a user that is a number": ({"user": 5}, ["?"]),
    "a later version": ({"version": 3}, ["alice"]),
    "a time that is a text": ({"time": "1000"}, ["alice"]),
    "far ahead": ({"time": NOW + AHEAD + 1}, ["alice"]),
    "no user": ({"user": ...}, []),
    "an empty user": ({"user": "", "time": 0}, []),
    "another type": ({"type": "TRUNCATE", "time": 0}, []),
    "another entity": ({"metadataEntity": {"details": {"namespace": "ns1"}, "type": "namespace"}, "time": 0}, []),
    "no name": ({"metadataEntity": {"details": {"namespace": "ns1"}, "type": "dataset"}}, []),
}


@pytest.mark.parametrize(("changes", "users"), MESSAGES_LEFT.values(), ids=MESSAGES_LEFT)
def test_what_is_left_of_a_rejected_message(changes: dict[str, Any], users: list[str]) -> None:
    rejected, events = of_message(audit(**changes))
    assert rejected is not None
    assert told(events) == [("rejected", "unclear", "CREATE", "dataset:ns1.kv")] * len(users)
    assert [event.user for event in events] == users


LOGGED: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "created": (entry("PUT /v3/namespaces/a", "- - 200 46 -"), [("done", "namespace:a", "PUT /v3/namespaces/a 200")]),
    "with a query": (
        entry("PUT /v3/namespaces/a?x=1", "- - 200 46 -"),
        [("done", "namespace:a", "PUT /v3/namespaces/a 200")],
    ),
    "denied": (entry("PUT /v3/namespaces/a", "- - 403 46 -"), [("nothing", "namespace:a", "PUT /v3/namespaces/a 403")]),
    "failed": (entry("PUT /v3/namespaces/a", "- - 500 46 -"), [("unclear", "namespace:a", "PUT /v3/namespaces/a 500")]),
    "broken off": (entry("PUT /v3/namespaces/a", "- - - - -"), [("unclear", "namespace:a", "")]),
    "denied, without a user": (entry("PUT /v3/namespaces/a", "- - 401 46 -", user="-"), []),
    "broken off, without a user": (entry("PUT /v3/namespaces/a", "- - - - -", user="-"), []),
    # Who may not delete the namespace must not be able to suspend what is in it.
    "the deletion of several, denied": (
        entry("DELETE /v3/unrecoverable/namespaces/a", "- - 403 46 -"),
        [("nothing", "namespace:a", "DELETE /v3/unrecoverable/namespaces/a 403")],
    ),
    "denied, with a name that CDAP cannot have": (entry("PUT /v3/namespaces/a*", "- - 400 46 -"), []),
}


@pytest.mark.parametrize(("line", "wanted"), LOGGED.values(), ids=LOGGED)
def test_all_columns_of_a_line_of_the_log(line: str, wanted: list[tuple[str, str, str]]) -> None:
    reading = read_line("http-access", marked(line), marker=Secret(MARKER))
    assert reading.rejected is None
    assert [(event.outcome.value, str(event.entity), event.request) for event in reading.events] == wanted
    for event in reading.events:
        assert (event.stage, event.user, event.clock) == ("request", "alice", "")
        assert (event.started, event.ended, event.received) == (SECOND, NEVER, SECOND)


def test_the_version_that_a_line_of_the_log_names() -> None:
    line = marked(entry("DELETE /v3/namespaces/n/artifacts/lib/versions/1.0", "- - 200 46 -"))
    (event,) = read_line("http-access", line, marker=Secret(MARKER)).events
    assert (event.kind, str(event.entity), event.version) == ("DELETE", "artifact:n.lib", "1.0")


def test_what_is_left_of_a_rejected_line_of_the_log() -> None:
    late = marked(entry("PUT /v3/namespaces/a", "- - 200 46 -", time="21/Nov/2126:04:17:53 +0000"))
    odd = marked(entry("PUT /v3/namespaces/a", "- - 200 46 -", time="yesterday"))
    forged = entry("PUT /v3/namespaces/a", "- - 200 46 -")
    for line, count in ((late, 1), (odd, 1), (forged, 0), (f"{MARKER} {forged}", 0)):
        reading = read_line("http-access", line, marker=Secret(MARKER))
        assert reading.rejected is not None
        assert told(list(reading.events)) == [("rejected", "unclear", "CREATE", "namespace:a")] * count
        assert all((event.started, event.ended) == (0, NEVER) for event in reading.events)
        assert reading.shown is not None
        assert MARKER not in reading.shown


@pytest.mark.parametrize(
    "time",
    [
        "1/Nov/2026:04:17:53 +0000",
        "31/Feb/2026:04:17:53 +0000",
        "21/Nov/2026:24:17:53 +0000",
        "21/nov/2026:04:17:53 +0000",
        "21/Nov/2026:04:17:53 +00:00",
        "21/Nov/2026:04:17:53",
        "01/Jan/0001:00:00:00 +2359",
        "01/Jan/1970:00:00:00 +0000",
    ],
)
def test_times_that_are_none(time: str) -> None:
    line = marked(entry("PUT /v3/namespaces/a", "- - 200 46 -", time=time))
    assert read_line("http-access", line, marker=Secret(MARKER)).rejected == "its time cannot be read"
