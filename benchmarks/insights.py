"""Records per minute of `audit report`: every record is read, decided again and summed.

`python -m benchmarks.insights` (in `make bench`) prints a line per number of records: the first run, which compiles the
policies, and the next one. The audit is that of 1,000 users of 40 entities each, with
four requests in five for reading; a hundredth of the lines is garbage.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.workload import ENTITY_LEVELS, NO_ROLES, NOW, POLICIES_PER_NAMESPACE, USERS, groups_of, service_policies
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.audit.verify import lines_of
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.tools.insights.facts import DAY, Period, read_facts
from ranger_cdap.tools.insights.replay import Replayer, changed_rows
from ranger_cdap.tools.questions.impact_question import compared_engine

SIZES = (250_000, 500_000, 1_000_000, 2_000_000)
POLICIES, ENTITIES, DAYS = 2_500, 2_500, 90
TARGET = 1_000_000  # per minute


def main() -> None:
    """Print one line per number of records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of records")
    sizes = parser.parse_args().sizes
    print(f"replay: {POLICIES:,} policies, {USERS:,} users, {ENTITIES:,} entities, {DAYS} days")
    columns = ("records", "MB", "uses", "differ", "first s", "again s", "first/min", "again/min", "of wanted")
    print(" ".join(f"{name:>11}" for name in columns))
    with tempfile.TemporaryDirectory() as directory:
        for size in sizes:
            path = Path(directory, f"{size}.jsonl")
            write_audit(path, size)
            print(" ".join(f"{figure:>11}" for figure in measured(path, size)), flush=True)
            path.unlink()


def measured(path: Path, size: int) -> list[str]:
    """Return the figures of one audit, read twice."""
    seconds, engine, groups = [], compiled(), known_groups()
    for _ in range(2):
        started = time.perf_counter()
        with path.open("rb") as file:
            lines = lines_of(file, str(path))
            facts = read_facts(lines, Period("cdapdev", 0, NOW + DAY), Replayer(engine, groups).decide)
        rows = changed_rows(facts, engine, groups)
        seconds.append(time.perf_counter() - started)
    assert facts.lines.lines == size
    rates = [size / one * 60 for one in seconds]
    return [
        f"{size:,}",
        f"{path.stat().st_size / 1_000_000:,.0f}",
        f"{len(facts.uses):,}",
        f"{len(rows):,}",
        *(f"{one:.1f}" for one in seconds),
        *(f"{one:,.0f}" for one in rates),
        f"{rates[0] / TARGET:.1f}x",
    ]


def compiled() -> PolicyEngine:
    """Return the policies that decide."""
    return compared_engine(Documents(service_policies(POLICIES), NO_ROLES), "cdapdev")


def known_groups() -> dict[str, frozenset[str]]:
    """Return two groups of each user."""
    return {f"user{n}": frozenset(groups_of(n)) for n in range(USERS)}


def write_audit(path: Path, size: int) -> None:
    """Write an audit of so many lines, as our own sink does."""
    draw = random.Random(size)
    with path.open("wb") as file:
        for n in range(size):
            if n % 100 == 99:
                file.write(b"2026-11-23 INFO not a record\n")
                continue
            user = draw.randrange(USERS)
            entity = (user * 37 + draw.randrange(40) * 61) % ENTITIES
            level = ENTITY_LEVELS[entity % len(ENTITY_LEVELS)]
            record = AuditRecord(
                repo="cdapdev",
                reqUser=f"user{user}",
                evtTime=NOW - DAYS * DAY + n * DAYS * DAY // size,
                access=f"{level}.get",
                resource=f"cdap/ns{entity % (ENTITIES // POLICIES_PER_NAMESPACE)}/{level}{entity}",
                resType=level,
                action="write" if n % 5 == 0 else "read",
                result=int(entity % 10 > 0),
                policy=7,
                cliIP=f"10.0.{user % 256}.1",
            )
            file.write(msgspec.json.encode(record) + b"\n")


if __name__ == "__main__":
    main()
