"""Many lines with one per cent garbage: every line is accounted for, and every life is whose it should be."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranger_cdap.config import Settings
from spark_sync.ledger.life import State
from spark_sync.spark.on_demand import Few
from tests.spark_sync.recorded_lines import millis
from tests.spark_sync.test_job import NOW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LINES, FILES = 250_000, 8
GARBAGE = LINES // 100
ENTITIES = 12_500
TYPES = ("CREATE", "CREATE", "DELETE", "ACCESS", "ACCESS", "UPDATE")
JUNK = (
    "garbage",
    "",
    "\u0000\u0001",
    "[]",
    '{"version":2}',
    '{"version":3,"time":1,"metadataEntity":{"details":{},"type":"dataset"},"user":"alice","type":"CREATE"}',
    '{"version":2,"time":-1,"metadataEntity":{"details":{"namespace":"n","dataset":"d"},"type":"dataset"},'
    '"user":"a","type":"CREATE","payload":{}}',
    '{"version":2,"time":1000,"metadataEntity":{"details":{"namespace":"n","dataset":"a*"},"type":"dataset"},'
    '"user":"a","type":"CREATE","payload":{}}',
    '{"version":2,"time":9000000000000,"metadataEntity":{"details":{"namespace":"n","dataset":"d"},"type":"dataset"},'
    '"user":"a","type":"CREATE","payload":{}}',
)


def message(number: int, entity: int, kind: str) -> str:
    return json.dumps(
        {
            "version": 2,
            "time": millis(3 * number),
            "metadataEntity": {
                "details": {"namespace": f"ns{entity % 100}", "dataset": f"d{entity}"},
                "type": "dataset",
            },
            "user": f"user{number % 13}",
            "type": kind,
            "payload": {},
        }
    )


def history(seed: int) -> Iterator[tuple[int, int, str]]:
    """(time, entity, kind) of each message, in order; no two are so near that clocks might not tell them apart."""
    chance = random.Random(seed)
    for number in range(LINES - GARBAGE):
        yield number, chance.randrange(ENTITIES), chance.choice(TYPES)


def expected(seed: int) -> tuple[Counter[str], Counter[str]]:
    """How many lives are open and over, and how many open ones each user has: the first creation begins one."""
    owner: dict[int, str] = {}
    over = 0
    for number, entity, kind in history(seed):
        if kind == "CREATE":
            owner.setdefault(entity, f"user{number % 13}")
        elif kind == "DELETE" and owner.pop(entity, None):
            over += 1
    return Counter(open=len(owner), over=over), Counter(owner.values())


def write(inbox: Path, seed: int) -> None:
    """The messages in the wrong order, garbage between them, in several files."""
    lines = [message(*one) for one in history(seed)] + [JUNK[n % len(JUNK)] for n in range(GARBAGE)]
    random.Random(seed + 1).shuffle(lines)
    for n in range(FILES):
        (inbox / f"{n}.jsonl").write_text("\n".join(lines[n::FILES]) + "\n", encoding="utf-8")


def test_many_lines_with_garbage(spark: SparkSession, settings_for: Callable[..., Settings], tmp_path: Path) -> None:
    from spark_sync.ingest.dead_letters import DEAD_LETTERS, MOST_LETTERS
    from spark_sync.job import run_once
    from spark_sync.ledger.delta_ledger import DeltaLedger

    seed = 20261121
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    write(inbox, seed)
    settings = settings_for(audit={"kind": "audit", "path": inbox})
    report = run_once(settings, lambda: spark, now=NOW, dry=True, few=Few(bytes=0, events=0))
    lives, owners = expected(seed)
    assert [(source.lines, source.rejected) for source in report.sources] == [(LINES, GARBAGE)]
    kinds = Counter(kind for _, _, kind in history(seed))
    # Of two of the lines that are rejected so much can be read that they may tell of a creation, of one and the same.
    assert report.sources[0].events == kinds["CREATE"] + kinds["DELETE"] + 2
    # Nothing was sent before the deletions, so nothing is to be revoked.
    assert report.counts == {State.PENDING: lives["open"], State.CLOSED: lives["over"], State.UNCONFIRMED: 1}
    assert len(list(report.planned)) == lives["open"]
    pending = DeltaLedger(settings.sync.state_dir, "cdap").lives([State.PENDING])
    assert Counter(life.creator for life in pending) == owners
    letters = (settings.sync.state_dir / DEAD_LETTERS).read_text(encoding="utf-8").splitlines()
    assert sum(json.loads(letter)["lines"] for letter in letters) == GARBAGE
    assert len(letters) == FILES * (MOST_LETTERS + 1)
    assert len({json.loads(letter)["line"] for letter in letters}) == len(JUNK)
