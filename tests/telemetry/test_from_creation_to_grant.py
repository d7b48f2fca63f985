"""One trace from CDAP's check to the grant in Ranger, by programs as they are installed, and by the page about it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.telemetry import ids_of_check
from tests.docs.markdown_pages import ROOT, blocks
from tests.service.serve_process import admin_of_creations, serve, until
from tests.telemetry.collector import Collector, collecting
from tests.telemetry.creation import STAMP, configured, creates, parsed, sync, take_baseline, until_decidable

PAGE = ROOT / "docs" / "how-to" / "trace-from-cdap-to-ranger.md"
ENFORCE, AUDIT = "POST /cdap/v1/enforce", "POST /cdap/v1/audit"
NAMES = ("alice", "purchases", "ns3", STAMP)

pytestmark = pytest.mark.slow


@dataclass
class Story:
    """What was recorded while a creation became a grant."""

    collector: Collector
    log: list[dict[str, Any]]
    run: dict[str, Any]
    found: str


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    directory = tmp_path_factory.mktemp("story")
    with admin_of_creations() as server, collecting() as collector, pytest.MonkeyPatch.context() as patch:
        config = configured(directory, server.url)
        for name, value in (exported_by_the_page() | collector.environment).items():
            patch.setenv(name, value)
        with serve(config, directory) as service:
            until(lambda: service.ask(None, "GET", "/health/live").status == 200)
            take_baseline(config, directory)
            creates(service, "purchases")
            until_decidable(directory / "events")
            run = parsed(sync(config, directory, "sync", "run", "--json"))
            found = shell(last_command_of_the_page(run["granted"][0]["trace_id"]), config, directory)
            service.process.terminate()
            assert service.ended() == 0
        yield Story(collector, [json.loads(line) for line in service.log], run, found)


def shell(typed: str, config: Path, directory: Path) -> str:
    """What a command of the page prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "RANGER_CDAP_CONFIG": str(config)}
    done = subprocess.run(
        ["sh", "-c", typed], cwd=directory, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def last_command_of_the_page(trace_id: str) -> str:
    """The search for names, with the id of a trace that there is."""
    (*_, block) = blocks(PAGE, "sh")
    typed, number = re.subn(r"\b[0-9a-f]{32}\b", trace_id, block.text)
    assert number == 1
    return typed


def exported_by_the_page() -> dict[str, str]:
    """The variables of the page's first block."""
    return dict(re.findall(r"^export (\w+)=(\S+)$", next(iter(blocks(PAGE, "sh"))).text, re.MULTILINE))


def test_the_run_is_linked_to_the_check(story: Story) -> None:
    ids = ids_of_check(STAMP)
    assert ids is not None
    (check,) = [span for span in story.collector.named(ENFORCE, 1) if span.trace_id == f"{ids.trace:032x}"]
    run = story.collector.span("sync run")
    assert (check.service, run.service) == ("ranger-cdap", "ranger-cdap-sync")
    assert run.links == [(check.trace_id, check.span_id)]
    assert check.start < check.end <= run.start <= run.end
    assert run.attributes["ranger_cdap.granted"] == 1


def test_logs_and_traces_have_the_same_ids(story: Story) -> None:
    (granted,) = story.run["granted"]
    run = story.collector.span("sync run")
    assert story.run["run_id"] == run.trace_id
    assert [granted["trace_id"]] == [trace for trace, _ in run.links]
    (line,) = [entry for entry in story.log if entry.get("trace_id") == granted["trace_id"]]
    assert (line["route"], line["status"]) == ("/cdap/v1/enforce", 200)
    of_log = {entry["trace_id"] for entry in story.log if "trace_id" in entry}
    of_service = {span.trace_id for span in story.collector.spans if span.service == "ranger-cdap"}
    assert of_log == of_service


def test_the_collector_learns_no_name(story: Story) -> None:
    for body in story.collector.raw:
        assert not [name for name in NAMES if name.encode() in body]


def test_an_operator_finds_the_names_by_the_trace(story: Story) -> None:
    assert '"entity": "dataset:ns3.purchases"' in story.found
    assert '"creator": "alice"' in story.found


def test_the_page_has_each_attribute_and_no_other(story: Story) -> None:
    sent = {name for span in story.collector.spans for name in span.attributes if name.startswith("ranger_cdap.")}
    assert set(re.findall(r"^\| `(ranger_cdap\.[a-z_.]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == sent
