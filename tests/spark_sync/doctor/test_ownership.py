"""What the doctor says of the evidence for creators: corroboration, check journals, and asking CDAP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import responses

from ranger_cdap.config import (
    ConfirmSettings,
    NetworkSettings,
    Secret,
    Settings,
    SourceSettings,
    SyncSettings,
    location,
)
from ranger_cdap.doctor.finding import Finding, Health
from ranger_cdap.wire.event_names import event_name
from spark_sync.doctor.ownership import examine_ownership
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.notes import Notes
from spark_sync.sources.service_watermarks import horizons
from tests.net.scripted_server import answering

NOW = 1_800_000_000.0
CDAP = "https://cdap.example:11015"
DEFAULT = f"{CDAP}/v3/namespaces/default"
OFF = ConfirmSettings()
CONFIRM = ConfirmSettings(url=CDAP, user="reader", caller="sync", secret=Secret("sync-secret-0123456789"))


@pytest.fixture
def events(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    return tmp_path / "events"


def findings(
    *sources: SourceSettings,
    uncorroborated: Literal["hold", "grant"] = "hold",
    confirm: ConfirmSettings = OFF,
    ca_file: str | None = None,
) -> list[Finding]:
    sync = SyncSettings(sources=sources, uncorroborated=uncorroborated, confirm=confirm)
    return list(examine_ownership(Settings(sync=sync, network=NetworkSettings(ca_file=ca_file)), NOW))


def data_plane(path: Path | str, kind: str = "data-plane") -> SourceSettings:
    return SourceSettings(name="records", kind=kind, path=location(str(path)))


def watermark(events: Path, seconds_ago: float = 1.0, records: bool | None = True) -> None:
    mark = {"v": 1, "service": "a" * 32, "watermark": round((NOW - seconds_ago) * 1000), "records": records}
    (events / ".watermark").write_text(json.dumps(mark))


def of_journal(events: Path | str) -> Finding:
    return findings(data_plane(events))[1]


def test_without_sources_there_is_nothing_to_look_at() -> None:
    assert findings(confirm=CONFIRM, uncorroborated="grant") == []


def test_it_is_told_where_rights_that_creators_gave_outlive_the_entity(events: Path) -> None:
    def told(**sync: Any) -> list[str]:
        settings = Settings(sync=SyncSettings(sources=(data_plane(events),), **sync))
        found = examine_ownership(settings, NOW)
        return [each.health.name for each in found if each.check == "rights on deleted entities"]

    assert told() == told(on_deletion="report") == []
    assert told(delegate_admin=True) == told(delegate_admin=True, on_deletion="revoke-exact") == ["WELL"]
    assert told(delegate_admin=True, on_deletion="report") == ["NOTE"]


def test_uncorroborated_grants_are_told_with_their_risk(events: Path) -> None:
    watermark(events)
    held, granted = (findings(data_plane(events), uncorroborated=each)[0] for each in ("hold", "grant"))
    assert held.health is Health.WELL
    assert granted.health is Health.NOTE
    assert "with one stolen secret or one writable source, others can become creators" in granted.seen


WAITS: dict[str, tuple[tuple[str, ...], float, Literal["hold", "grant"], list[str]]] = {
    "records and checks": (("data-plane",), 120, "hold", []),
    "two services": (("data-plane", "data-plane"), 120, "hold", []),
    "and CDAP's messages": (("data-plane", "audit", "audit-kafka", "audit-messaging"), 120, "hold", []),
    "and lines of the router": (
        ("data-plane", "http-access"),
        120,
        "hold",
        [
            "uploads of jars, which CDAP runs as its master user, wait 120 s (`sync.hold_back`) for lines of "
            "`http-access`"
        ],
    ),
    "and lines of two sources": (
        ("data-plane", "audit", "http-access", "of-a-plugin"),
        7.5,
        "hold",
        [
            "uploads of jars, which CDAP runs as its master user, wait 7.5 s (`sync.hold_back`) for lines of "
            "`http-access` and `of-a-plugin`"
        ],
    ),
    "records without checks count": (
        ("data-plane",),
        120,
        "grant",
        ["creations whose record has no journalled check wait 120 s (`sync.hold_back`)"],
    ),
    "no decision service": (
        ("audit", "http-access"),
        60,
        "grant",
        [
            "every creation waits 60 s (`sync.hold_back`): only a decision service says that all events of `audit` and "
            "`http-access` have come"
        ],
    ),
    "no hold-back": (("audit",), 0, "grant", []),
}


@pytest.mark.parametrize("name", WAITS)
def test_the_cost_of_the_hold_back(name: str) -> None:
    kinds, hold_back, uncorroborated, expected = WAITS[name]
    sources = tuple(SourceSettings(name=kind, kind=kind) for kind in kinds)
    sync = SyncSettings(sources=sources, hold_back=hold_back, uncorroborated=uncorroborated)
    found = [each for each in examine_ownership(Settings(sync=sync), NOW) if each.check.startswith("creations that")]
    assert [each.seen for each in found] == expected
    assert all(each.health is Health.NOTE and each.advice for each in found)


@pytest.mark.parametrize(
    "kind", ["audit", "audit-kafka", "audit-messaging", "data-plane", "http-access", "of-a-plugin"]
)
def test_lines_are_waited_for_where_the_job_waits_for_them(kind: str) -> None:
    sources = (SourceSettings(name="records", kind="data-plane"), SourceSettings(name="b", kind=kind))
    reported = any(each.check == "creations that wait for lines" for each in findings(*sources))
    assert reported is horizons(sources, {}, now=0, hold_back=0, skew=0).named_elsewhere


@pytest.mark.parametrize(
    ("seconds_ago", "records", "health", "seen"),
    [
        (1, True, Health.WELL, "its watermark is 1 s old"),
        (1, None, Health.WELL, "its watermark is 1 s old"),
        (-5, True, Health.WELL, "its watermark is 0 s old"),
        (-900, True, Health.WELL, "its watermark is 0 s old"),
        (-901, True, Health.FAILED, "its watermark is 901 s ahead of this clock, so it decides nothing"),
        (121, True, Health.FAILED, "last renewed its watermark 121 s ago, so the hold-back applies"),
        (121, False, Health.FAILED, "121 s ago"),
        (1, False, Health.NOTE, "delivers no records, so lost requests are not detected"),
    ],
)
def test_a_check_journal(events: Path, seconds_ago: float, records: bool | None, health: Health, seen: str) -> None:
    watermark(events, seconds_ago, records)
    for path in (events, events / "*.jsonl"):
        found = of_journal(path)
        assert (found.check, found.health) == ("check journal of source `records`", health)
        assert seen in found.seen


@pytest.mark.parametrize(("read", "lost"), [(None, False), (1, True), (2, False), (3, False)])
def test_a_deleted_file_that_the_ledger_lacks_is_red(
    events: Path, tmp_path: Path, read: int | None, lost: bool
) -> None:
    watermark(events, 1, records=True)
    (events / event_name(3, 2)).touch()
    if read:
        Notes(LedgerTables(tmp_path / "state"), "cdap").add_files("records", [str(events / event_name(read, 0))])
    sync = SyncSettings(sources=(data_plane(events),), state_dir=tmp_path / "state")
    (found,) = (each for each in examine_ownership(Settings(sync=sync), NOW) if each.check.startswith("check journal"))
    assert (found.health is Health.FAILED) == lost
    assert (f"`{events}/{2:015d}-….jsonl` is gone and not in the ledger" in found.seen) == lost


def test_a_source_without_a_watermark(events: Path) -> None:
    found = of_journal(events)
    assert found.health is Health.FAILED
    assert "is not there, so its events are decided after the hold-back only" in found.seen


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"v":2,"service":"a","watermark":1,"records":null}'])
def test_a_watermark_that_cannot_be_read(events: Path, content: bytes) -> None:
    (events / ".watermark").write_bytes(content)
    found = of_journal(events)
    assert found.health is Health.FAILED
    assert "cannot be read" in found.seen


@pytest.mark.parametrize("path", ["/nowhere/events", "hdfs://namenode/events", "/*/events/*.jsonl"])
def test_what_is_not_on_this_machine_is_not_looked_at(path: str) -> None:
    assert of_journal(path).health is Health.SKIPPED


def test_other_sources_have_no_journal(events: Path) -> None:
    assert not [each for each in findings(data_plane(events, "audit")) if each.check.startswith("check journal")]


@pytest.fixture
def http() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


def confirming(
    http: responses.RequestsMock,
    confirm: ConfirmSettings = CONFIRM,
    *,
    decision: bool = True,
    service_status: int = 200,
    ca_file: str | None = None,
    **of_cdap: Any,
) -> list[Finding]:
    http.get(DEFAULT, **({"json": {"name": "default"}} | of_cdap))
    with answering(json.dumps({"evaluations": [{"decision": decision}]}).encode(), service_status) as url:
        confirm = msgspec.structs.replace(confirm, decision_service=url)
        return findings(SourceSettings(name="records", kind="data-plane"), confirm=confirm, ca_file=ca_file)[1:]


def test_cdap_and_the_decision_service_are_asked(http: responses.RequestsMock, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    confirm = ConfirmSettings(
        url=CDAP, user="reader", caller="sync", secret=CONFIRM.secret, token_file=tmp_path / "token"
    )
    found = confirming(http, confirm)
    assert [each.health for each in found] == [Health.WELL, Health.WELL]
    assert http.calls[0].request.headers["Authorization"] == "Bearer t0ken"
    assert not [each for each in found if "t0ken" in each.seen or "sync-secret" in each.seen]


def test_asking_cdap_is_off_by_default(http: responses.RequestsMock) -> None:
    (found,) = confirming(http, OFF)
    assert (found.health, "`sync.confirm.url` is not set" in found.seen) == (Health.NOTE, True)


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ({"status": 401}, "does not accept the token (401 to"),
        ({"status": 403}, "the account may not do `GET /v3/namespaces/default` in CDAP"),
        ({"status": 404}, "answers 404"),
        ({"status": 302}, "a redirect (302), which is not followed"),
        ({"status": 503}, "answers 503"),
        ({"json": {"name": "other"}}, "does not show the account the namespace `default`"),
        ({"json": []}, "does not show the account the namespace `default`"),
        ({"json": None, "body": b"<html>"}, "is not JSON; is"),
        ({"json": None, "body": ConnectionRefusedError()}, "cannot be reached: the connection was refused"),
    ],
)
def test_a_cdap_that_does_not_answer_as_one(http: responses.RequestsMock, answer: dict[str, Any], seen: str) -> None:
    found, _ = confirming(http, **answer)
    assert found.health is Health.FAILED
    assert seen in found.seen


@pytest.mark.parametrize(
    ("decision", "status", "seen"),
    [
        (False, 200, "`reader` may not get the namespace `default`, so it proves nothing where CDAP shows nothing"),
        (True, 401, "answered HTTP 401"),
        (True, 403, "answered HTTP 403"),
        (True, 503, "answered HTTP 503"),
    ],
)
def test_a_decision_service_that_does_not_allow_it(
    http: responses.RequestsMock, decision: bool, status: int, seen: str
) -> None:
    _, found = confirming(http, decision=decision, service_status=status)
    assert found.health is Health.FAILED
    assert seen in found.seen


@pytest.mark.parametrize("change", [{"url": "cdap"}, {"token_file": Path("nowhere")}])
def test_settings_that_cannot_be_used(http: responses.RequestsMock, change: dict[str, Any]) -> None:
    given = {"url": CDAP, "user": "reader", "caller": "sync", "secret": CONFIRM.secret} | change
    found, *_ = confirming(http, ConfirmSettings(**given))
    assert found.health is Health.FAILED
    assert found.advice.startswith("correct `[sync.confirm]` or `network.ca_file`")


def test_a_file_of_authorities_that_is_not_there(http: responses.RequestsMock) -> None:
    found, *_ = confirming(http, ca_file="nowhere")
    assert (found.health, "nowhere" in found.seen) == (Health.FAILED, True)
