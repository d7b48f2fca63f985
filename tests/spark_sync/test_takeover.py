"""Nobody takes over: each story of cdap-facts.md §4.6, told in whole runs, and what the engine allows after them.

Every story is told twice, each time in a namespace of its own: all at once, and with its second half in a later run;
and all of that without Spark, and on it.
The engine has the policies that the embedded Ranger Admin hands out: what counts is who may do what.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.config import Secret, Settings
from ranger_cdap.engine import ADMIN_ACCESS, ANY_ACCESS, AccessRequest, MatchingScope, PolicyEngine
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from spark_sync.ledger.life import State
from spark_sync.report import RunReport
from tests.spark_sync.conftest import WITHOUT_SPARK, Ranger, new_service, settings_of
from tests.spark_sync.grants.in_effect import download, engine_of
from tests.spark_sync.recorded_lines import CALLER, MARKER, TAKEN, Lines, write_watermark
from tests.spark_sync.takeovers import (
    EVERYTHING,
    LOCAL,
    OTHER,
    PREVIEW,
    STORIES,
    STREAM,
    WITHOUT_A_JOURNAL,
    Owners,
    Story,
)

if TYPE_CHECKING:
    from ranger_cdap.ranger.client.ranger_admin import RangerAdmin

NOW: Final = 1_900_000_000_000
PEOPLE: Final = ("alice", "bob", "svc", "cdap", "-", "", "*", "public")
DOUBTED: Final = (State.UNCONFIRMED, State.CONTESTED, State.SUSPENDED)
SOURCES: Final = {"audit": "audit", "data-plane": "data-plane", "router": "http-access"}


class Chapter(NamedTuple):
    """A story in a namespace of its own; `journal`: whether there is a decision service that journals checks."""

    title: str
    namespace: str
    story: Story
    later: bool
    journal: bool


def _chapters(stories: Mapping[str, Story], *, journal: bool) -> Iterator[Chapter]:
    for n, (title, story) in enumerate(stories.items()):
        if not story.only_later:
            yield Chapter(f"{title}, at once", f"once{n}", story, later=False, journal=journal)
        yield Chapter(f"{title}, in a later run", f"later{n}", story, later=True, journal=journal)


CHAPTERS: Final = [*_chapters(STORIES, journal=True), *_chapters(WITHOUT_A_JOURNAL, journal=False)]


def here(entity: EntityId, namespace: str) -> EntityId:
    return EntityId(entity.type, tuple(part.replace("NS0", namespace) for part in entity.parts))


def owners_in(chapter: Chapter) -> Owners:
    return {here(entity, chapter.namespace): user for entity, user in chapter.story.owners.items()}


def places(chapter: Chapter) -> list[EntityId]:
    """Everything a story is about, and what lies below it."""
    worker = EntityId("program", ("NS0", "Shop", "worker.Counter"))
    inner = (worker, EntityId("program", ("NS0", PREVIEW.parts[-1], "worker.Counter")))
    more = (
        EntityId("dataset", ("NS0", "by1")),
        EntityId("dataset", ("system", "NS0")),
        EntityId("namespace", ("system",)),
    )
    found = {*EVERYTHING, OTHER, STREAM, LOCAL, PREVIEW, *inner, *more, *chapter.story.owners}
    return sorted(here(entity, chapter.namespace) for entity in found)


@dataclass(frozen=True)
class Gained:
    """Somebody may do something."""

    user: str
    access: str
    entity: EntityId


def tried(chapter: Chapter) -> Iterator[Gained]:
    """Everything that anyone could do with anything in the story."""
    for entity in places(chapter):
        for user in PEOPLE:
            for access in (*ACCESS_TYPES, ADMIN_ACCESS, ANY_ACCESS):
                yield Gained(user, access, entity)


def may(engine: PolicyEngine, gained: Gained) -> bool:
    """Whether the engine allows that; `_any` counts what lies below, too."""
    below = gained.access == ANY_ACCESS
    request = AccessRequest(
        resource=to_resource(gained.entity, "cdap"),
        access_type=gained.access,
        user=gained.user,
        groups=frozenset({"public"}),
        owner=gained.user,
        matching_scope=MatchingScope.SELF_OR_DESCENDANTS if below else MatchingScope.SELF,
    )
    return engine.evaluate(request).allowed


def allowed(engine: PolicyEngine, chapter: Chapter) -> set[Gained]:
    """Who may do what with anything in the story."""
    return {gained for gained in tried(chapter) if may(engine, gained)}


def due(chapter: Chapter) -> set[Gained]:
    """What the owners get, and nobody else: their entity with an application's programs, and to see the way to it."""
    result = set()
    for owned, user in owners_in(chapter).items():
        for entity in places(chapter):
            program = entity.type == "program" and owned.type == "application" and entity.is_within(owned)
            if entity == owned or program:
                result |= {Gained(user, access, entity) for access in (*ACCESS_TYPES, ANY_ACCESS)}
            elif owned.is_within(entity):
                result.add(Gained(user, ANY_ACCESS, entity))
    return result


class World(NamedTuple):
    """What there is after the last run."""

    chapters: list[Chapter]
    reports: tuple[RunReport, ...]
    downloaded: bytes
    engine: PolicyEngine
    ranger: Ranger
    doubted: Mapping[EntityId, State]


def deliver(inbox: Path, name: str, told: Iterable[tuple[str, Lines]]) -> None:
    lines: dict[str, list[str]] = {source: [] for source in SOURCES}
    for namespace, one in told:
        lines[one.source].append(one.text.replace("NS0", namespace) + "\n")
    for source, found in lines.items():
        (inbox / source / name).write_text("".join(found), encoding="utf-8")


def write_inventory(path: Path, chapters: Iterable[Chapter]) -> None:
    known = (here(entity, one.namespace) for one in chapters for entity in one.story.known)
    header = {"v": 1, "instance": "cdap", "taken": datetime.fromtimestamp(TAKEN / 1000, UTC).isoformat()}
    lines = [header, *({"type": entity.type, "parts": list(entity.parts)} for entity in known)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def configured(ranger: Ranger, directory: Path) -> Settings:
    sources = {
        source.replace("-", "_"): {"kind": kind, "path": directory / source, "callers": (CALLER,)}
        for source, kind in SOURCES.items()
    }
    sources["router"]["marker"] = Secret(MARKER)
    return settings_of(ranger, directory, **sources)


@pytest.fixture(scope="module")
def worlds(
    embedded: tuple[str, RangerAdmin, RangerAdmin], tmp_path_factory: pytest.TempPathFactory
) -> dict[bool, World]:
    """The chapters with a journal, and those without one."""
    return {
        journal: played(
            new_service(embedded),
            tmp_path_factory.mktemp("takeover"),
            [one for one in CHAPTERS if one.journal is journal],
        )
        for journal in (True, False)
    }


def played(ranger: Ranger, directory: Path, chapters: list[Chapter]) -> World:
    from spark_sync.job import run_once
    from spark_sync.ledger.delta_ledger import DeltaLedger
    from spark_sync.reconcile.baseline import take_baseline

    for source in SOURCES:
        (directory / source).mkdir()
    if chapters[0].journal:
        write_watermark(directory / "data-plane", NOW)
    write_inventory(directory / "inventory.jsonl", chapters)
    settings = configured(ranger, directory)
    take_baseline(settings, directory / "inventory.jsonl", now=NOW)
    deliver(
        directory,
        "1.jsonl",
        (
            (one.namespace, told)
            for one in chapters
            for told in (one.story.before if one.later else chain(one.story.before, one.story.after))
        ),
    )
    first = run_once(settings, WITHOUT_SPARK.spark, now=NOW, ranger=ranger.sync)
    deliver(directory, "2.jsonl", ((one.namespace, told) for one in chapters if one.later for told in one.story.after))
    second = run_once(settings, WITHOUT_SPARK.spark, now=NOW, ranger=ranger.sync)
    found = download(ranger)
    lives = DeltaLedger(settings.sync.state_dir, "cdap").lives(DOUBTED)
    return World(
        chapters,
        (first, second),
        found,
        engine_of(found),
        ranger,
        {life.entity: life.state for life in lives if life.is_open},
    )


@pytest.mark.parametrize("chapter", CHAPTERS, ids=[one.title for one in CHAPTERS])
def test_nobody_may_do_more_than_the_story_says(worlds: dict[bool, World], chapter: Chapter) -> None:
    assert allowed(worlds[chapter.journal].engine, chapter) == due(chapter)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=[one.title for one in CHAPTERS])
def test_what_nobody_can_tell_is_doubted_and_nothing_else(worlds: dict[bool, World], chapter: Chapter) -> None:
    found = worlds[chapter.journal].doubted
    mine = {entity: state for entity, state in found.items() if chapter.namespace in entity.parts}
    assert mine == {here(entity, chapter.namespace): state for entity, state in chapter.story.doubted.items()}


@pytest.mark.parametrize("worlds", [False], ids=["without Spark"], indirect=True, scope="module")
@pytest.mark.parametrize("chapter", CHAPTERS, ids=[one.title for one in CHAPTERS])
def test_a_story_in_which_bob_took_over_would_be_noticed(worlds: dict[bool, World], chapter: Chapter) -> None:
    """The least he could get: to read one of the things."""
    world, steps = worlds[chapter.journal], set(tried(chapter))
    for entity in places(chapter):
        stolen = Policy(
            name="stolen",
            service=world.ranger.service,
            resources={level: PolicyResource(values=[value]) for level, value in to_resource(entity, "cdap").items()},
            policy_items=[PolicyItem(users=["bob"], accesses=[PolicyItemAccess(type="read")])],
        )
        assert Gained("bob", "read", entity) in steps
        assert may(engine_of(world.downloaded, stolen), Gained("bob", "read", entity))


@pytest.mark.parametrize("journal", [True, False])
def test_every_line_was_an_event_or_a_dead_letter(worlds: dict[bool, World], journal: bool) -> None:
    world = worlds[journal]
    told = [one.story for one in world.chapters]
    assert sum(source.lines for report in world.reports for source in report.sources) == sum(
        len(lines) for story in told for lines in (*story.before, *story.after)
    )
    assert sum(source.rejected for report in world.reports for source in report.sources) == sum(
        story.dead for story in told
    )


@pytest.mark.parametrize("journal", [True, False])
def test_both_runs_came_to_their_end_and_nothing_is_owed(worlds: dict[bool, World], journal: bool) -> None:
    world = worlds[journal]
    first, second = world.reports
    assert (first.trouble, second.trouble) == ("", "")
    assert {life.state for report in world.reports for life in report.waiting} <= {State.BLOCKED, *DOUBTED}
    assert (second.counts[State.PENDING], second.counts[State.CLOSING], second.counts[State.FAILED]) == (0, 0, 0)
    assert len(world.ranger.policies()) == sum(len(one.story.owners) for one in world.chapters)
