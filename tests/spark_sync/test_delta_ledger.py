"""The Delta ledger: what it leaves out of a fold, the fold would have ignored; what it wrote, it reads."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranger_cdap.cdap.entity import EntityId
from spark_sync.event import EntityEvent, Kind, Strength
from spark_sync.fold import FoldSettings, fold
from spark_sync.life import Life, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_sync.ledger import History

pytestmark = pytest.mark.spark

TYPES = ("namespace", "application", "schedule", "dataset")
GIVES = dict.fromkeys(TYPES, ("read",))


def entities() -> list[EntityId]:
    found = []
    for n in range(6):
        namespace = f"n{n}"
        found += [
            EntityId("namespace", (namespace,)),
            EntityId("application", (namespace, "App")),
            EntityId("schedule", (namespace, "App", "s")),
            EntityId("schedule", (namespace, "Other", "s")),
            EntityId("dataset", (namespace, "App")),
        ]
    return found


def random_events(chance: random.Random, count: int, first_id: int) -> list[EntityEvent]:
    """Many about anything; a few only about what nothing else is in, which the ledger folds in another way."""
    few = count < 100
    everything = [entity for entity in entities() if not few or entity.type not in ("namespace", "application")]
    return [
        EntityEvent(
            entity=chance.choice(everything),
            kind=chance.choice([Kind.CREATE, Kind.CREATE, Kind.DELETE]),
            user=chance.choice(["alice", "bob", "root", "", 'a"\\', "\u0000\u2028\U0001f600é", "null", "{}"]),
            time=chance.randint(95, 140),
            source=chance.choice(["a", "b"]),
            strength=chance.choice(list(Strength)),
            id=f"{first_id + n}",
        )
        for n in range(count)
    ]


def nothing_is_left(history: History) -> None:
    raise AssertionError(f"{history} is folded again")


@pytest.mark.parametrize(
    ("baseline", "few"),
    [(None, 1000), (100, 1000), (100, 0)],
    ids=["without a baseline", "with one", "with one, all by plans"],
)
def test_folding_through_the_tables_is_folding(
    spark: SparkSession, tmp_path: Path, baseline: int | None, few: int
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    from spark_sync.delta_ledger import DeltaLedger
    from spark_sync.job import fold_new
    from spark_sync.ledger_rows import EVENTS

    settings = FoldSettings(baseline=baseline, gives=GIVES, non_creators=frozenset({"root"}))
    ledger = DeltaLedger(spark, tmp_path, "cdap", few=few)
    chance = random.Random(20261121)
    seen: list[EntityEvent] = []
    expected: dict[EntityId, tuple[Life, ...]] = {}
    for batch, count in enumerate((120, 20, 120, 20)):
        new = random_events(chance, count, batch * 1000)
        rows = [
            (
                *(event.source, event.id, "cdap", str(event.entity), event.entity.type, list(event.entity.parts)),
                event.entity.parts[0],
                event.entity.parts[1] if event.entity.type in ("application", "schedule") else None,
                *(event.kind.value, event.strength.value, event.user, event.time, event.requester, 0),
            )
            for event in new
        ]
        frame = spark.createDataFrame(rows, EVENTS).drop("round")
        assert ledger.add_events(frame) == len(new)
        assert ledger.add_events(frame.orderBy(F.rand(1))) == 0
        fold_new(ledger, settings)
        seen += new
        for entity in entities():
            expected[entity] = fold(entity, seen, expected.get(entity, ()), settings)
        found = ledger.lives(list(State))
        assert found == sorted(
            (life for folded in expected.values() for life in folded), key=lambda life: (str(life.entity), life.number)
        )
        ledger.fold(nothing_is_left, settings.until, 0)
