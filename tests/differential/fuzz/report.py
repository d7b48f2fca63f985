"""What a search has covered, as text: counts, shares, features, pairs of features, differences."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.fuzz.tally import Tally
from tests.differential.fuzz.vocabulary import Vocabulary

LEAST_OF_A_PAIR = 200
SHARES = {
    "allowed": "allowed",
    "denied": "denied by a policy",
    "open": "not decided by any policy",
    "refused": "refused",
}
RAREST = 20


def report(tally: Tally, vocabulary: Vocabulary) -> Iterator[str]:
    """The lines of the report."""
    names = [feature.name for feature in vocabulary.features]
    yield f"scenarios, all distinct: {len(tally.digests):,} (seed {tally.seed}, numbers 0 to {tally.next - 1:,})"
    yield f"questions: {tally.questions:,}"
    for kind, words in SHARES.items():
        yield f"  {words}: {share(tally, kind):.1%}"
    applied, instead = (tally.documents.get(kind, 0) for kind in ("taken", "not taken"))
    yield f"documents with changes: {applied:,} applied, {instead:,} by the full set"
    yield ""
    yield "scenarios with a feature:"
    for n in sorted(range(len(names)), key=lambda n: tally.features.get(n, 0)):
        yield f"  {tally.features.get(n, 0):>9,}  {names[n]}"
    rare = [pair for pair in vocabulary.pairs if tally.pair(*pair) < LEAST_OF_A_PAIR]
    yield ""
    yield f"pairs of features: {len(vocabulary.pairs):,}; of these less than {LEAST_OF_A_PAIR} times: {len(rare):,}"
    yield "the least frequent:"
    for one, other in sorted(vocabulary.pairs, key=lambda pair: tally.pair(*pair))[:RAREST]:
        yield f"  {tally.pair(one, other):>9,}  {names[one]} + {names[other]}"
    yield "pairs that cannot be:"
    for (one, other), why in vocabulary.apart.items():
        yield f"  {tally.pair(one, other):>9,}  {names[one]} + {names[other]}: {why}"
    yield ""
    yield f"decided otherwise on purpose, in scenarios: {sum(tally.wilful.values()):,}"
    for name, count in sorted(tally.wilful.items()):
        yield f"  {count:>9,}  {name}"
    yield f"differences: {len(tally.found)}"
    for found in tally.found:
        yield f"  scenario {found.number}: {found.file}"


def share(tally: Tally, kind: str) -> float:
    return tally.answers.get(kind, 0) / tally.questions if tally.questions else 0.0


def pair_table(tally: Tally, vocabulary: Vocabulary) -> Iterator[str]:
    """Every pair of features as tab-separated lines: how often, the two names, why it cannot be if it cannot."""
    names = [feature.name for feature in vocabulary.features]
    for one in range(len(names)):
        for other in range(one + 1, len(names)):
            yield f"{tally.pair(one, other)}\t{names[one]}\t{names[other]}\t{vocabulary.apart.get((one, other), '')}"
