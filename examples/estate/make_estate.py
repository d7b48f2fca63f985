"""`python examples/estate/make_estate.py DIR`: write a made-up estate, to try the commands of access analysis on.

The files are what Ranger and CDAP would give: `policies.json`, `roles.json`, `tags.json`, `users.json` (downloads),
`inventory.jsonl` (`ranger-cdap sync inventory`), and `audit/` with a file per day.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path

import msgspec
from company import INSTANCE, Company, company
from working_days import records

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags


def engine_of(made: Company) -> PolicyEngine:
    """Return the engine of the company's policies."""
    encode = msgspec.json.encode
    return PolicyEngine.build(
        decode_service_policies(encode(made.policies)),
        roles=decode_roles(encode(made.roles)),
        tags=decode_service_tags(encode(made.tags)),
    )


def write_estate(directory: Path, made: Company, *, until: date, days: int, seed: int) -> int:
    """Write the files of a company and `days` of its audit before `until`; return the number of records."""
    (directory / "audit").mkdir(parents=True, exist_ok=True)
    documents = {"policies": made.policies, "roles": made.roles, "tags": made.tags, "users": made.users}
    for name, document in documents.items():
        text = msgspec.json.encode(document).replace(b'},{"id":', b'},\n{"id":')  # a policy per line
        (directory / f"{name}.json").write_bytes(text + b"\n")
    header = {"v": 1, "instance": INSTANCE, "taken": f"{until.isoformat()}T00:00:00Z"}
    _write_lines(directory / "inventory.jsonl", [header, *({"type": e.type, "parts": e.parts} for e in made.entities)])
    first, count = until - timedelta(days=days), 0
    found = records(made, engine_of(made), first=first, days=days, seed=seed)
    for day, lines in groupby(found, key=lambda one: datetime.fromtimestamp(one.evtTime / 1000, UTC).date()):
        count += _write_lines(directory / "audit" / f"cdap-{day.isoformat()}.jsonl", lines)
    return count


def _write_lines(path: Path, lines: Iterable[object]) -> int:
    texts = [msgspec.json.encode(line) + b"\n" for line in lines]
    path.write_bytes(b"".join(texts))
    return len(texts)


def main() -> None:
    """Write the estate that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--seed", type=int, default=7, help="another number, another company (default: 7)")
    parser.add_argument(
        "--until", type=date.fromisoformat, default=date(2026, 11, 1), help="the day after the last one"
    )
    parser.add_argument("--days", type=int, default=90)
    given = parser.parse_args()
    made = company(given.seed)
    count = write_estate(given.directory, made, until=given.until, days=given.days, seed=given.seed)
    print(  # noqa: T201
        f"{given.directory}: {len(made.people)} people, {len(made.entities)} entities, "
        f"{len(made.policies['policies'])} policies, {count} audit records"
    )


if __name__ == "__main__":
    main()
