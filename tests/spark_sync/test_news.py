"""`News`: a run is due if it would find something, and after it none is; told by files alone, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError, SyncError
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.news import News
from spark_sync.report import RunReport
from spark_sync.sources.regular_files import list_files
from tests.spark_sync.conftest import WITHOUT_SPARK, Ranger
from tests.spark_sync.recorded_lines import JOURNAL, write_watermark
from tests.spark_sync.test_job import NOW, deliver, recorded, run, source, take_baseline

EARLIER, LATER = NOW - 1_000_000, NOW


@dataclass
class Scene:
    """A job with a source of files and a watermark; what happens to it is done here."""

    settings: Settings
    inbox: Path
    news: News

    def arrives(self, name: str = "1.jsonl") -> None:
        (self.inbox / name).write_text("garbage\n", encoding="utf-8")

    def is_read(self) -> None:
        """Another run read all files."""
        (configured,) = self.settings.sync.sources
        ledger = DeltaLedger(self.settings.sync.state_dir, "cdap")
        ledger.notes.add_files(configured.name, [file.path for file in list_files(configured)])

    def moves(self, to: int = LATER) -> None:
        write_watermark(self.inbox, to)

    def runs(self, *, undecided: bool, during: Callable[[], None] = lambda: None) -> None:
        self.news.run_begins()
        during()
        self.is_read()
        self.news.run_ended(RunReport(sources=(), undecided=undecided))


@pytest.fixture
def scene(tmp_path: Path, settings_for: Callable[..., Settings]) -> Scene:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    settings = settings_for(d=source(inbox))
    settings.sync.state_dir.mkdir(mode=0o700)
    write_watermark(inbox, EARLIER)
    return Scene(settings, inbox, News(settings.sync, DeltaLedger(settings.sync.state_dir, "cdap")))


def a_journal_is_another_one(scene: Scene) -> None:
    path = scene.inbox / ".watermark"
    mark = json.loads(path.read_text())
    path.write_text(json.dumps(mark | {"service": JOURNAL[::-1]}))


HAPPENS: dict[str, tuple[Callable[[Scene], object], bool]] = {
    "nothing": (lambda s: None, False),
    "a file arrives": (lambda s: s.arrives(), True),
    "a file arrives and is read by another run": (lambda s: (s.arrives(), s.is_read()), False),
    "one file is read and another one arrives": (lambda s: (s.arrives(), s.is_read(), s.arrives("2.jsonl")), True),
    "a hidden file arrives": (lambda s: s.arrives(".part"), False),
    "a file is read and deleted": (lambda s: (s.arrives(), s.is_read(), (s.inbox / "1.jsonl").unlink()), False),
    "a file arrives and is deleted": (lambda s: (s.arrives(), (s.inbox / "1.jsonl").unlink()), False),
    "a run, and nothing since": (lambda s: (s.arrives(), s.runs(undecided=False)), False),
    "a run, and a file": (lambda s: (s.runs(undecided=False), s.arrives()), True),
    "the watermark moves, and nothing waits": (lambda s: (s.runs(undecided=False), s.moves()), False),
    "something waits, and the watermark stays": (lambda s: s.runs(undecided=True), False),
    "something waits, and the watermark moves": (lambda s: (s.runs(undecided=True), s.moves()), True),
    "it moves while a run decides": (lambda s: s.runs(undecided=True, during=s.moves), True),
    "it moves, and the run that decides is over": (
        lambda s: (s.runs(undecided=True), s.moves(), s.runs(undecided=False)),
        False,
    ),
    "it moves, and not all waits for it": (
        lambda s: (s.runs(undecided=True), s.moves(), s.runs(undecided=True)),
        False,
    ),
    "the watermark is gone while something waits": (
        lambda s: (s.runs(undecided=True), (s.inbox / ".watermark").unlink()),
        True,
    ),
    "the journal is replaced while something waits": (
        lambda s: (s.runs(undecided=True), a_journal_is_another_one(s)),
        True,
    ),
}


@pytest.mark.parametrize(("happens", "expected"), HAPPENS.values(), ids=HAPPENS)
def test_what_is_news(scene: Scene, happens: Callable[[Scene], object], expected: bool) -> None:
    happens(scene)
    assert scene.news() is expected
    assert scene.news() is expected, "to look changes nothing"


def the_log_is_damaged(scene: Scene) -> None:
    scene.arrives()
    scene.is_read()
    commit = max((scene.settings.sync.state_dir / "files" / "_delta_log").glob("*.json"))
    commit.with_name(f"{int(commit.stem) + 1:020}.json").write_text("{\n")


def a_file_is_a_link(scene: Scene) -> None:
    (scene.inbox / "link.jsonl").symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (the_log_is_damaged, SyncError, "`.*/files/_delta_log/.*json` is spoiled"),
        (a_file_is_a_link, ConfigError, "link.jsonl`"),
    ],
    ids=["the log is damaged", "a file is a link"],
)
def test_what_a_run_would_refuse_is_refused_by_a_look(
    scene: Scene, fault: Callable[[Scene], None], error: type[Exception], message: str
) -> None:
    fault(scene)
    with pytest.raises(error, match=message):
        scene.news()


def test_a_source_that_is_no_file_is_no_news(settings_for: Callable[..., Settings]) -> None:
    settings = settings_for(m={"kind": "audit-messaging", "url": "http://127.0.0.1:9"})
    news = News(settings.sync, DeltaLedger(settings.sync.state_dir, "cdap"))
    assert news() is False


def test_real_runs_until_nothing_is_left(scene: Scene, ranger: Ranger) -> None:
    """Each time there is news a run follows; between the last one and the next event there is none."""
    request = recorded("/v3/namespaces/ns1", method="PUT")
    started, ended = request[-1]["record"]["started"], request[-1]["record"]["ended"]

    def runs() -> RunReport:
        scene.news.run_begins()
        report = run(scene.settings, WITHOUT_SPARK, now=ended + 20_000)
        scene.news.run_ended(report)
        return report

    take_baseline(scene.settings)
    scene.moves(started - 1)
    deliver(scene.inbox, "1.jsonl", [request])
    assert scene.news()
    report = runs()
    assert ([*report.granted], report.undecided, scene.news()) == ([], True, False)
    scene.moves(ended + 19_000)
    assert scene.news()
    report = runs()
    assert (len(report.granted), report.undecided, scene.news()) == (1, False, False)
    assert ranger.grants() == {"ns1": "alice"}
    deliver(scene.inbox, "2.jsonl", ["garbage"])
    assert scene.news()
    assert (runs().sources[0].rejected, scene.news()) == (1, False)
