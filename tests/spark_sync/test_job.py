"""Whole runs on real recordings, each without Spark and on it: Delta tables and the embedded Ranger Admin."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError, InvalidInput, LeaseHeld
from ranger_cdap.testing.admin.api import download_api
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.manual import override
from spark_sync.report import RunReport
from tests.recording import RECORDING
from tests.spark_sync.conftest import WITHOUT_SPARK, Ranger, Way, on_spark, settings_of
from tests.spark_sync.grants.fixtures import Watched
from tests.spark_sync.killing import Killed, Step, kill_at, raise_killed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_sync.ledger.delta_ledger import DeltaLedger

NOW = 1_900_000_000_000
FIRST, SECOND = "1-until-the-deletions.jsonl", "2-from-the-deletions.jsonl"

# Read from the recordings by a person: who first created what, and what of it is gone before the recording's end
# (dataset ds1, key key1, profile p1, schedule sc2).
NS1 = {
    "ns1": "alice",
    "probeapp ns1": "alice",
    "probeapp2 ns1": "alice",
    "ProbeApp ns1 *": "alice",
    "ns1 probeapp.ProbeApp$CustomDs": "alice",
    "customds ns1": "alice",
    "kv ns1": "alice",
    "rt_ds ns1": "alice",
    "ds2 ns1": "alice",
}
OTHERS = {
    "ns2": "alice",
    "probeapp ns2": "alice",
    "ProbeApp ns2 *": "alice",
    "ns2 probeapp.ProbeApp$CustomDs": "svc",
    "customds ns2": "svc",
    "kv ns2": "svc",
    "rt_ds ns2": "alice",
    "nsimp": "alice",
    "probeapp nsimp": "alice",
    "ProbeApp nsimp *": "alice",
    "nsimp probeapp.ProbeApp$CustomDs": "svc",
    "customds nsimp": "svc",
    "kv nsimp": "svc",
    "rt_ds nsimp": "alice",
}


def by_values(grants: dict[str, str]) -> dict[frozenset[str], str]:
    return {frozenset(values.split(" ")): user for values, user in grants.items()}


@pytest.fixture
def inbox(tmp_path: Path) -> Callable[[str], Path]:
    """A directory of event files."""

    def make(name: str) -> Path:
        path = tmp_path / "inbox" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    return make


def deliver(path: Path, name: str, records: Sequence[Any]) -> None:
    """Write texts, records, and requests: a check and its record stay together."""
    lines = (record if isinstance(record, str) else json.dumps(record) for record in flat(records))
    (path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def flat(records: Sequence[Any]) -> Iterator[Any]:
    for record in records:
        yield from record if isinstance(record, list) else [record]


def recorded(uri: str, *, method: str, part: int = 0) -> list[dict[str, Any]]:
    """The `part`th recorded request with that method and URI, in its stored form: its journalled checks, its record."""
    lines = [
        json.loads(line)
        for name in (FIRST, SECOND)
        for line in (RECORDING / "events" / "data-plane" / name).read_text(encoding="utf-8").splitlines()
    ]
    records = [line for line in lines if "record" in line]
    found = [line for line in records if (line["record"]["uri"], line["record"]["method"]) == (uri, method)]
    chosen = sorted(found, key=lambda stored: stored["record"]["started"])[part]
    checks = {check["id"] for check in chosen["record"]["checks"]}
    return [*(line for line in lines if line["id"] in checks), chosen]


def again(request: list[dict[str, Any]], user: str, number: int, *, by: int = 10_000_000) -> list[dict[str, Any]]:
    """The same request again, by another user and so many milliseconds later."""
    ids = {line["id"]: f"{number:08x}{line['id'][8:]}" for line in request if "check" in line}
    text = json.dumps(request).replace('"alice"', json.dumps(user))
    for old, new in ids.items():
        text = text.replace(old, new)
    copied: list[dict[str, Any]] = json.loads(text)
    for line in copied:
        line["received"] += by
        said = line.get("record") or line["check"]
        for timed in (said, *said.get("checks", ())):
            for name in timed.keys() & {"started", "ended", "at"}:
                timed[name] += by
        if "record" in line:
            line["id"] = f"again-{number}"
    return copied


def source(path: Path, kind: str = "data-plane") -> dict[str, Any]:
    return {"kind": kind, "path": path, "callers": ("cdap-master",)}


def run(settings: Settings, way: Way = WITHOUT_SPARK, **given: Any) -> RunReport:
    from spark_sync.job import run_once

    return run_once(settings, way.spark, few=way.few, **{"now": NOW} | given)


def take_baseline(settings: Settings) -> None:
    from spark_sync.reconcile.baseline import take_baseline as take

    take(settings, RECORDING / "baseline.jsonl", now=NOW)


def ledger_of(settings: Settings) -> DeltaLedger:
    from spark_sync.ledger.delta_ledger import DeltaLedger

    return DeltaLedger(settings.sync.state_dir, settings.cdap.instance)


def all_lives(settings: Settings) -> list[Life]:
    return ledger_of(settings).lives(list(State))


def test_the_recordings_from_the_first_event_to_the_last(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Callable[[str], Path]
) -> None:
    settings = settings_for(audit=source(inbox("audit"), "audit"), data_plane=source(inbox("data-plane")))
    take_baseline(settings)
    for name in ("audit", "data-plane"):
        shutil.copy(RECORDING / "events" / name / FIRST, inbox(name))
    report = run(settings)
    assert by_values(ranger.grants()) == by_values(NS1 | OTHERS)
    assert len(report.granted) == len(NS1 | OTHERS)
    assert not report.waiting

    version = ranger.policy_version()
    again = run(settings)
    assert again.wrote_nothing
    assert again.unchanged == len(NS1 | OTHERS)
    assert ranger.policy_version() == version

    # What was read is not known any more: everything is read again and nothing changes.
    shutil.rmtree(settings.sync.state_dir / "files")
    again = run(settings)
    assert [(found.lines > 0, found.events) for found in again.sources] == [(True, 0), (True, 0)]
    assert again.wrote_nothing
    assert ranger.policy_version() == version

    for name in ("audit", "data-plane"):
        shutil.copy(RECORDING / "events" / name / SECOND, inbox(name))
    report = run(settings)
    assert by_values(ranger.grants()) == by_values(OTHERS)
    assert len(report.revoked) == len(NS1)
    assert not report.waiting


def test_a_grant_is_for_the_name_that_ranger_decides_by(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = {"ranger.plugins.conf.mapping.username.regex": "s/^alice$/bob/"}
    monkeypatch.setattr(download_api, "PLUGIN_CONFIGS", download_api.PLUGIN_CONFIGS | rule)
    settings = settings_for(data_plane=source(inbox("data-plane")))
    plugin = replace(settings.plugin, username="sync", password=settings.sync.password, transform_names=True)
    settings = replace(settings, plugin=plugin)
    take_baseline(settings)
    shutil.copy(RECORDING / "events" / "data-plane" / FIRST, inbox("data-plane"))
    assert not run(settings, WITHOUT_SPARK).trouble
    granted = set(ranger.grants().values())
    assert "bob" in granted
    assert "alice" not in granted
    with pytest.raises(InvalidInput, match="`bob` is the creator"):
        override(settings, entity_id("dataset", ["ns1", "ds2"]), "alice", now=NOW)


def test_a_run_lists_the_policies_of_ranger_once(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Callable[[str], Path]
) -> None:
    settings = settings_for(data_plane=source(inbox("data-plane")))
    take_baseline(settings)
    shutil.copy(RECORDING / "events" / "data-plane" / FIRST, inbox("data-plane"))
    assert run(settings).granted
    other = replace(settings, cdap=replace(settings.cdap, profile="001"), sync=replace(settings.sync, regrant="auto"))
    watched = Watched(ranger.sync)
    assert run(other, now=NOW + 120_000, ranger=watched).granted
    assert watched.names.count("list_policies") == 1


def rows_of(settings: Settings) -> dict[str, dict[Any, dict[str, Any]]]:
    """Lives and events, row by row, as the tables are to be read; without what counts the writes, and Ranger's ids."""
    tables, key = LedgerTables(settings.sync.state_dir), itemgetter("instance", "entity", "number")
    lives = {key(row): dict(row) for row in tables.query("SELECT * FROM ledger")}
    for row in sorted(tables.query("SELECT * FROM changes"), key=itemgetter("sequence")):
        lives.pop(key(row), None)
        if not row["dropped"]:
            lives[key(row)] = {name: value for name, value in row.items() if name not in ("dropped", "sequence")}
    numbers = sorted({row["policy_id"] for row in lives.values()})
    for row in lives.values():
        row["policy_id"] = numbers.index(row["policy_id"])
    events = {(row["source"], row["id"]): dict(row) | {"round": 0} for row in tables.query("SELECT * FROM events")}
    return {"lives": lives, "events": events}


def played(ranger: Ranger, directory: Path, ways: Sequence[Way]) -> dict[str, dict[Any, dict[str, Any]]]:
    """The recordings, each part in its way; then all lines once more, in the first way, which changes nothing."""
    inboxes = {name: directory / name for name in ("audit", "data-plane")}
    for path in inboxes.values():
        path.mkdir(parents=True)
    sources = {name.replace("-", "_"): source(path, name) for name, path in inboxes.items()}
    settings = settings_of(ranger, directory, **sources)
    take_baseline(settings)
    for part, way in zip((FIRST, SECOND), ways, strict=True):
        for name, path in inboxes.items():
            shutil.copy(RECORDING / "events" / name / part, path)
        assert not run(settings, way).trouble
    rows = rows_of(settings)
    shutil.rmtree(settings.sync.state_dir / "files")
    again = run(settings, ways[0])
    assert [(found.lines > 0, found.events) for found in again.sources] == [(True, 0), (True, 0)]
    assert rows_of(settings) == rows
    return rows


IN_TURN = {"on Spark": "SS", "without Spark, then on it": "WS", "on Spark, then without": "SW"}


@pytest.mark.spark
@pytest.mark.parametrize("turns", IN_TURN.values(), ids=IN_TURN)
def test_the_ledger_is_the_same_whoever_wrote_it(
    spark: SparkSession, ranger: Ranger, tmp_path: Path, turns: str
) -> None:
    ways = {"S": on_spark(spark), "W": WITHOUT_SPARK}
    wanted = played(ranger, tmp_path / "without", [WITHOUT_SPARK, WITHOUT_SPARK])
    for policy in ranger.policies():
        ranger.admin.delete_policy(policy.id or -1)
    assert (len(wanted["lives"]) > 30, len(wanted["events"]) > 100) == (True, True)
    found = played(ranger, tmp_path / "found", [ways[turn] for turn in turns])
    for name, rows in wanted.items():
        assert found[name].keys() == rows.keys()
        assert {key: (found[name][key], row) for key, row in rows.items() if found[name][key] != row} == {}


def test_what_creates_and_deletes_nothing_changes_nothing_and_gives_nobody_anything(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Callable[[str], Path]
) -> None:
    ns1 = "/v3/namespaces/ns1"
    settings = settings_for(data_plane=source(inbox("d")))
    take_baseline(settings)
    created = [
        recorded(ns1, method="PUT"),
        recorded(f"{ns1}/artifacts/probeapp", method="POST"),
        recorded(f"{ns1}/apps/ProbeApp", method="PUT"),
        recorded(f"{ns1}/data/datasets/ds1", method="PUT"),
    ]
    deliver(inbox("d"), "1.jsonl", created)
    run(settings)
    before, version = all_lives(settings), ranger.policy_version()
    assert {life.creator for life in before if life.state is State.APPLIED} == {"alice"}

    harmless = [
        recorded(f"{ns1}/data/datasets/ds1/admin/truncate", method="POST"),
        recorded(f"{ns1}/apps/ProbeApp/metadata", method="DELETE"),
        recorded(f"{ns1}/apps/ProbeApp", method="PUT", part=1),
        recorded(ns1, method="PUT", part=1),
    ]
    bobs = [again(request, "bob", n) for n, request in enumerate(harmless + created)]
    deliver(inbox("d"), "2.jsonl", harmless + bobs)
    report = run(settings)
    assert report.wrote_nothing
    assert all_lives(settings) == before
    assert ranger.policy_version() == version


def test_ambiguous_creations_are_granted_only_after_a_baseline(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Callable[[str], Path]
) -> None:
    settings = settings_for(data_plane=source(inbox("d")))
    first, late = recorded("/v3/namespaces/ns1", method="PUT"), recorded("/v3/namespaces/ns2", method="PUT")
    # The example's inventory was taken at 04:00; this namespace was made more than the clock skew before.
    early = again(first, "alice", 1, by=1_795_233_597_000 - first[-1]["record"]["ended"])
    deliver(inbox("d"), "1.jsonl", [early, late])
    report = run(settings)
    assert report.wrote_nothing
    assert ranger.policies() == []
    assert [(str(life.entity), life.state) for life in all_lives(settings)] == [
        ("namespace:ns1", State.UNCONFIRMED),
        ("namespace:ns2", State.UNCONFIRMED),
    ]
    take_baseline(settings)
    run(settings)
    assert ranger.grants() == {"ns2": "alice"}
    assert "namespace:ns1" not in {str(life.entity) for life in all_lives(settings)}


def test_garbage_goes_to_the_dead_letters_and_the_run_goes_on(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Callable[[str], Path]
) -> None:
    settings = settings_for(data_plane=source(inbox("d")))
    take_baseline(settings)
    *_, forged = recorded("/v3/namespaces/nsimp", method="PUT")
    namespace = recorded("/v3/namespaces/ns2", method="PUT")
    unsafe = [
        json.dumps(line).replace("ns2", f"other{n}")
        for n, user in enumerate(["{USER}", "public", "*", "a,b"])
        for line in again(namespace, user, n)
    ]
    good = recorded("/v3/namespaces/ns1", method="PUT")
    deliver(inbox("d"), "1.jsonl", ["garbage", good, forged | {"caller": "mallory"}])
    deliver(inbox("d"), "2.jsonl", unsafe)
    report = run(settings)
    assert ranger.grants() == {"ns1": "alice"}
    assert [(found.lines, found.rejected) for found in report.sources] == [(12, 2)]
    assert sorted(life.creator for life in report.waiting) == ["*", "a,b", "public", "{USER}"]
    assert {life.state for life in report.waiting} == {State.BLOCKED}
    again_waiting = run(settings).waiting
    assert [*again_waiting] == [*report.waiting], "the next run counts them, so it lists them too"
    letters = (settings.sync.state_dir / "dead-letters.jsonl").read_text(encoding="utf-8").splitlines()
    assert [
        (letter["source"], Path(letter["file"]).name, letter["line_number"], letter["reason"])
        for letter in map(json.loads, letters)
    ] == [
        ("data-plane", "1.jsonl", 1, "not one JSON object"),
        ("data-plane", "1.jsonl", 4, "caller `mallory` is not one of the source's `callers`"),
    ]


def test_lines_rejected_for_a_missing_setting_count_once_the_source_is_read_again(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Callable[[str], Path]
) -> None:
    without, settings = (settings_for(d=source(inbox("d")) | callers) for callers in ({"callers": ()}, {}))
    take_baseline(settings)
    deliver(inbox("d"), "1.jsonl", [recorded("/v3/namespaces/ns1", method="PUT")])
    report = run(without)
    assert [(found.lines, found.rejected) for found in report.sources] == [(2, 1)]
    assert ranger.grants() == {}

    # docs/how-to/operate-the-sync.md, "Rejected lines".
    shutil.rmtree(settings.sync.state_dir / "files")
    report = run(settings)
    assert [(found.lines, found.rejected) for found in report.sources] == [(2, 0)]
    assert ranger.grants() == {"ns1": "alice"}


@pytest.mark.parametrize(
    ("step", "written"),
    [
        (Step("spark_sync.job", "fold_new"), 0),
        (Step("spark_sync.ledger.delta_ledger", "DeltaLedger.mark_folded"), 0),
        (Step("spark_sync.job", "push"), 0),
        (Step("spark_sync.grants.push", "_Push._record"), 1),
    ],
    ids=["before the fold", "before the fold is noted", "before the push", "between the push and its record"],
)
def test_a_killed_run_heals(
    ranger: Ranger,
    settings_for: Callable[..., Settings],
    inbox: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    step: Step,
    written: int,
) -> None:
    settings = settings_for(data_plane=source(inbox("d")))
    take_baseline(settings)
    deliver(inbox("d"), "1.jsonl", [recorded("/v3/namespaces/ns1", method="PUT")])
    with monkeypatch.context() as patch:
        kill_at(step, raise_killed, patch)
        with pytest.raises(Killed):
            run(settings)
    assert len(ranger.policies()) == written
    version = ranger.policy_version()
    run(settings)
    assert ranger.grants() == {"ns1": "alice"}
    assert ranger.policy_version() == version + (1 - written)
    assert [life.state for life in all_lives(settings) if life.creator] == [State.APPLIED]


def test_with_ranger_away_nothing_is_lost(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Callable[[str], Path]
) -> None:
    settings = settings_for(data_plane=source(inbox("d")))
    take_baseline(settings)
    deliver(inbox("d"), "1.jsonl", [recorded("/v3/namespaces/ns1", method="PUT")])
    away = replace(settings, ranger=replace(settings.ranger, url="http://127.0.0.1:9", attempts=1))
    report = run(away)
    assert report.trouble
    assert report.counts[State.PENDING] == 1
    assert not run(settings).trouble
    assert ranger.grants() == {"ns1": "alice"}


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"a": {"kind": "kafka", "path": Path()}}, "known are audit, audit-kafka"),
        ({"a": {"kind": "audit", "path": Path("nowhere")}}, "does not exist"),
    ],
)
def test_a_source_that_is_not_usable(
    settings_for: Callable[..., Settings], sources: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        run(settings_for(**sources))


def test_one_run_at_a_time(settings_for: Callable[..., Settings]) -> None:
    from spark_sync.ledger.lease import lease

    settings = settings_for()
    with lease(settings.sync.state_dir), pytest.raises(LeaseHeld):
        run(settings)
