"""What scenarios are made of is what the table says, and nothing that Java is no judge of."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

from tests.differential.fuzz.mixed import WILFUL_EVERY, scenario
from tests.differential.fuzz.vocabulary import vocabulary

ROOT = Path(__file__).parents[3]
WORDS = vocabulary()
NAMES = [feature.name for feature in WORDS.features]
DRAWN = 400


@cache
def held() -> list[list[int]]:
    return [WORDS.of(scenario(1, number)) for number in range(DRAWN)]


def test_each_feature_has_a_name_of_its_own() -> None:
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []


def test_every_feature_is_drawn_and_none_always() -> None:
    times = Counter(n for features in held() for n in features)
    assert [NAMES[n] for n in range(len(NAMES)) if not 0 < times[n] < DRAWN] == []


def test_features_that_cannot_meet_never_do() -> None:
    met = {pair for features in held() for pair in combinations(features, 2)}
    assert [(NAMES[one], NAMES[other]) for one, other in WORDS.apart if (one, other) in met] == []


def test_only_one_scenario_in_a_hundred_has_what_is_decided_otherwise_on_purpose() -> None:
    having = {number for number in range(DRAWN) if WORDS.wilful_of(scenario(1, number))}
    assert {number for number in having if number % WILFUL_EVERY != WILFUL_EVERY - 1} == set()


def test_what_is_decided_otherwise_on_purpose_is_drawn_and_documented() -> None:
    numbers = range(WILFUL_EVERY - 1, 250 * WILFUL_EVERY, WILFUL_EVERY)
    drawn = {name for number in numbers for name in WORDS.wilful_of(scenario(1, number))}
    assert drawn == {feature.name for feature in WORDS.wilful}
    page = (ROOT / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")
    assert [feature.row for feature in WORDS.wilful if f"| {feature.row}" not in page] == []
