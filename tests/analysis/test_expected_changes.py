"""Laws of expected changes: no request is let through that no entry names, and what was found can be expected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from ranger_cdap.analysis.expected_changes import ChangedRow, ExpectedChange, covers, matched
from ranger_cdap.analysis.impact import Impact, SearchBudget, impact
from ranger_cdap.analysis.report import ImpactRow, gained_rows, lost_rows
from ranger_cdap.analysis.row_search import RowSearch
from ranger_cdap.analysis.symbols.space import PolicySpace
from ranger_cdap.analysis.wording import LevelText
from ranger_cdap.cli.impact_allow_file import read_expected_changes, written_entries
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.engine.compiled.matcher import compile_element
from ranger_cdap.engine.decide.query import tokens_of
from tests.analysis.guards import contains
from tests.analysis.small_sets import ACCESSES, MACROS, PATTERNS, Features, requests
from tests.analysis.test_impact_laws import EVERYTHING, SETS, drawn, engines, features_of, randoms

PRINCIPALS = ("everyone", "any user", "the owner", "user u", "user v", "group g", "group h", "role r", "role s")
ASKED = 200
KINDS = [
    *("plain", "macros"),
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("zones", "super", "conditions", "tags", EVERYTHING)),
]
TODAY = date(2026, 1, 1)


def some_entries(random: Random, row: ImpactRow, features: Features, gained: bool) -> Iterator[ExpectedChange]:
    """Entries that are a row's own, or nearly."""
    names = PATTERNS + (MACROS if "macros" in features else ())

    def level(own: LevelText) -> LevelText:
        other = tuple(random.sample(names, random.randint(1, 2)))
        return random.choice((own, own, LevelText(own.values), LevelText(other), LevelText(other, excludes=True)))

    for number in range(6):
        others = tuple(random.sample(PRINCIPALS, random.randint(1, 3)))
        who = random.choice((row.who, row.who, row.who[:1], others, (*row.who[1:], *others)))
        accesses = random.choice((row.accesses, row.accesses, row.accesses[:1], (*ACCESSES, "_admin")))
        where = {name: level(own) for name, own in zip(row.path, row.levels, strict=True)}
        yield ExpectedChange(number, gained, who, accesses, where, may=random.random() < 0.7)


def names_request(entry: ExpectedChange, request: AccessRequest, engine: PolicyEngine) -> bool:
    """Return whether an entry names a request, told apart from the analysis."""
    roles = engine.state.roles.of(request.user, request.groups) | (request.roles or frozenset())
    named = {"everyone", *(f"group {group}" for group in request.groups), *(f"role {role}" for role in roles)}
    if request.user is not None:
        named |= {"any user", f"user {request.user}"}
        named |= {"the owner"} if request.user == request.owner else set()
    options = engine.state.model.levels
    return (
        not named.isdisjoint(entry.who)
        and request.access_type in entry.accesses
        and entry.where.keys() == request.resource.keys()
        and all(on_level(level, options[name], request, name) for name, level in entry.where.items())
    )


def on_level(level: LevelText, options: object, request: AccessRequest, name: str) -> bool:
    element = compile_element(level.values, level.excludes, options)  # type: ignore[arg-type]
    return element.covers(request.resource[name], tokens_of(request))


def inside(row: ImpactRow, found: Impact, asked: list[AccessRequest]) -> list[AccessRequest]:
    """The requests that are in a row."""
    guards = {one.source.access: one.guard for one in row.changes}
    of_row = [one for one in asked if one.access_type in guards and tuple(one.resource) == row.path]
    return [one for one in of_row if contains(found.pair.new, guards[one.access_type], one)]


def directions(found: Impact, old: PolicyEngine, new: PolicyEngine) -> list[tuple[bool, list[ImpactRow], PolicyEngine]]:
    return [(True, gained_rows(found), new), (False, lost_rows(found), old)]


def some_requests(random: Random, features: Features) -> list[AccessRequest]:
    every = [request for access in (*ACCESSES, "_admin") for request in requests(features, access)]
    return random.sample(every, min(len(every), 3 * ASKED))


def space_of(found: Impact, gained: bool) -> PolicySpace:
    return found.pair.new if gained else found.pair.old


@pytest.mark.parametrize("kind", KINDS)
def test_each_request_of_a_covered_row_is_one_that_its_entry_names(kind: str) -> None:
    features, counted = features_of(kind), {"covered": 0, "escaping": 0, "requests": 0}

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        pair = engines(random, features)
        if pair is None:
            return
        budget = SearchBudget() if random.random() < 0.8 else SearchBudget(3, 3)
        found = impact(*pair, budget=budget)
        asked = some_requests(random, features)
        for gained, rows, engine in directions(found, *pair):
            for row in rows:
                held = inside(row, found, asked)
                for entry in some_entries(random, row, features, gained):
                    escaping = [one for one in held if not names_request(entry, one, engine)]
                    search = RowSearch(space_of(found, gained), random.choice((0, 3, 20_000)))
                    is_covered = covers(entry, row, search)
                    assert not (is_covered and escaping), (row, entry, escaping[0])
                    counted["covered"] += is_covered
                    counted["requests"] += len(held) if is_covered else 0
                    counted["escaping"] += bool(escaping)

    holds()
    assert min(counted.values()) > SETS, counted


@pytest.mark.parametrize("kind", KINDS)
def test_each_request_that_changes_is_on_the_levels_and_of_the_people_of_its_row(kind: str) -> None:
    features, counted = features_of(kind), {"narrowed": 0, "requests": 0}

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        pair = engines(random, features)
        if pair is None:
            return
        found = impact(*pair)
        asked = some_requests(random, features)
        for gained, rows, engine in directions(found, *pair):
            for row in rows:
                where = dict(zip(row.path, row.levels, strict=True))
                entry = ExpectedChange(1, gained, row.who, row.accesses, where)
                counted["narrowed"] += row.levels != row.item_levels
                for request in inside(row, found, asked):
                    counted["requests"] += 1
                    assert names_request(entry, request, engine), (row, request)

    holds()
    assert counted["requests"] > SETS
    assert counted["narrowed"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_written_covers_all_that_was_found(kind: str, tmp_path: Path) -> None:
    features, counted = features_of(kind), [0, 0]

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        pair = engines(random, features)
        if pair is None:
            return
        found = impact(*pair)
        every = [ChangedRow(row, gained) for gained, rows, _ in directions(found, *pair) for row in rows]
        path = tmp_path / "allow.toml"
        path.write_bytes(written_entries(every))
        expected = read_expected_changes(path, pair)
        assert len(expected) == len(every)
        for gained, rows, _ in directions(found, *pair):
            for one in matched(rows, space_of(found, gained), expected, gained=gained, today=TODAY):
                counted[one.expected_by is None] += 1

    holds()
    assert counted[0] > SETS / 2
    assert counted[1] == 0
