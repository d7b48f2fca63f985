"""`architecture.md` is true to the code: states and their transitions, the order of imports, numbers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import cast

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.documents import Documents, PolicySet
from ranger_cdap.ranger.refresh.refresh_state import (
    CacheFound,
    Confirmed,
    Event,
    Failure,
    Instant,
    Limits,
    PolicyState,
    RefresherState,
    RefreshFailed,
    policy_state,
    step,
)
from spark_sync.ledger.life import TRANSITIONS, State
from tests.docs.markdown_pages import ROOT, blocks, text_of

PAGE = ROOT / "docs" / "explanation" / "architecture.md"
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
# A set that the state machine never looks into.
SOME = PolicySet(Documents(b"p", b"r"), Versions(1, 1), cast("PolicyEngine", object()), None)
LIMITS = Limits(interval=30, max_staleness=1_000)


def drawn(about: str) -> set[tuple[str, str]]:
    """The changes of the state diagram that has this state, without its beginning."""
    (text,) = (block.text for block in blocks(PAGE, "mermaid") if "stateDiagram" in block.text and about in block.text)
    return {(a, b) for a, b in re.findall(r"^\s*(\S+) --> (\w+)", text, re.MULTILINE) if a != "[*]"}


def section(title: str) -> str:
    return text_of(PAGE).split(f"\n## {title}\n")[1].split("\n## ")[0]


def events(state: RefresherState, now: Instant) -> Iterator[Event]:
    yield Confirmed(now, SOME)
    yield from (RefreshFailed(now, failure, "") for failure in Failure)
    if state.in_effect is None and state.failure is None:  # the cache is read before the first download
        yield from (CacheFound(now, SOME, age) for age in (5, 200, 2_000))


def changes(state: RefresherState, steps: int) -> Iterator[tuple[PolicyState, PolicyState]]:
    """Every change of the policies' state within so many events, and by time alone."""
    for passed in (1, 31, 95, 1_100) if steps else ():
        now = Instant(state.now.wall + passed, state.now.monotonic + passed)
        older = policy_state(state, now)
        yield policy_state(state, state.now), older
        for event in events(state, now):
            after, _ = step(state, event)
            yield older, policy_state(after, now)
            yield from changes(after, steps - 1)


def test_the_states_of_policies_change_as_drawn() -> None:
    possible = {(a, b) for a, b in changes(RefresherState(LIMITS, Instant(0, 0)), 3) if a is not b}
    pairs = {(PolicyState(a.replace("_", " ")), PolicyState(b.replace("_", " "))) for a, b in drawn("not_ready")}

    assert pairs == possible
    assert {state for pair in pairs for state in pair} == set(PolicyState)


def test_lives_change_as_drawn() -> None:
    pairs = {(State(a), State(b)) for a, b in drawn("suspended")}

    assert {(a, b) for a, b in pairs if b not in TRANSITIONS[a]} == set()
    assert {state for pair in pairs for state in pair} == set(State)


def test_every_change_of_a_life_is_listed() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section("A creation"), re.MULTILINE)

    assert {State(a): {State(b) for b in re.findall(r"`(\w+)`", to)} for a, to in rows} == TRANSITIONS


def test_the_layout_is_that_of_the_import_contracts() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    held = [
        f"{container}{name}"
        for contract in contracts
        if contract["type"] == "layers"
        for container in ([f"{found}." for found in contract.get("containers", ())] or [""])
        for layer in contract["layers"]
        for name in layer.split(" | ")
    ]

    packages, inside = section("Layout").split("\n### ")
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", inside, re.MULTILINE)
    listed = [
        *re.findall(r"^\| `([\w.]+)` \| ", packages, re.MULTILINE),
        *(f"{package}.{name}" for package, names in rows for name in re.findall(r"`(\w+)`", names)),
    ]

    assert listed == held


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = re.findall(r"^### (\d+)\. ", section("Decisions"), re.MULTILINE)

    assert numbers == [str(number) for number in range(1, 15)]


def test_a_term_is_defined_once() -> None:
    terms = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text_of(GLOSSARY), re.MULTILINE)
    words = [word.strip() for term in terms if term not in ("term", "---") for word in term.split(",")]

    assert len(words) > 80
    assert sorted(words) == sorted(set(words))
