"""What a search has seen so far, as a file: to go on from, and to report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tests.differential.fuzz.judging import Verdict
from tests.differential.fuzz.vocabulary import Vocabulary

Json = dict[str, Any]
T = TypeVar("T")


class Found(msgspec.Struct, frozen=True):
    """A difference: the number of its scenario, and the file of the corpus that shows it."""

    number: int
    file: str


class Tally(msgspec.Struct):
    """The counts of a search by one seed; `next` is the number of the first scenario that is not in them."""

    seed: int
    words: str
    next: int = 0
    digests: set[str] = msgspec.field(default_factory=set)
    questions: int = 0
    answers: dict[str, int] = msgspec.field(default_factory=dict)
    documents: dict[str, int] = msgspec.field(default_factory=dict)
    features: dict[int, int] = msgspec.field(default_factory=dict)
    pairs: dict[str, int] = msgspec.field(default_factory=dict)
    wilful: dict[str, int] = msgspec.field(default_factory=dict)
    found: list[Found] = msgspec.field(default_factory=list)

    def add(self, scenario: Json, verdict: Verdict, features: list[int]) -> None:
        """Count a scenario; one that was there before is not counted again."""
        digest = digest_of(scenario)
        if digest not in self.digests:
            self.digests.add(digest)
            self.questions += len(scenario["requests"])
            count(self.answers, map(kind_of, verdict.java))
            count(self.documents, ("taken" if taken else "not taken" for taken in verdict.ours.taken))
            count(self.features, features)
            count(self.pairs, (f"{one} {other}" for one, other in combinations(features, 2)))

    def pair(self, one: int, other: int) -> int:
        return self.pairs.get(f"{one} {other}", 0)

    def save(self, path: Path) -> None:
        """Replace the file at once, so that it is whole whenever the program ends."""
        beside = path.with_name(path.name + ".new")
        beside.write_bytes(msgspec.json.encode(self))
        beside.replace(path)


def count(counts: dict[T, int], seen: Iterable[T]) -> None:
    for each in seen:
        counts[each] = counts.get(each, 0) + 1


def kind_of(answer: Any) -> str:
    """`denied` is said by a policy; of what no policy says anything about Ranger says that it is denied by none."""
    if "refused" in answer:
        return "refused"
    if answer["allowed"]:
        return "allowed"
    return "denied" if answer["policyId"] >= 0 else "open"


def digest_of(document: Json) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def words_of(vocabulary: Vocabulary) -> str:
    """A mark of the features by their names: counts of other features cannot be added to."""
    return hashlib.sha256("\n".join(feature.name for feature in vocabulary.features).encode()).hexdigest()[:16]


def resumed(path: Path, seed: int, vocabulary: Vocabulary) -> Tally:
    """The tally of the file, or a new one where there is none.

    Raises:
        ValueError: the file is about another seed or other features.
    """
    if not path.exists():
        return Tally(seed, words_of(vocabulary))
    tally = msgspec.json.decode(path.read_bytes(), type=Tally)
    if (tally.seed, tally.words) != (seed, words_of(vocabulary)):
        raise ValueError(f"`{path}` belongs to seed {tally.seed} or to other features: name another file with --state")
    return tally
