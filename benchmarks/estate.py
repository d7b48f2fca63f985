"""Time of each question of an access analysis on the made-up estate, beside loading its policies.

`python -m benchmarks.estate` (in `make bench`) makes examples/estate (200 people, 1,000 entities, 710 policies) and
runs each command in this process, as `ranger-cdap … --policies` would. A row is exact if nothing of it is undecided;
the target is 99 %.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main as ranger_cdap

SCRIPT = Path(__file__).parents[1] / "examples" / "estate" / "make_estate.py"
NOT_FAILED = (ExitCode.OK, ExitCode.NO)


def questions(estate: Path) -> Iterator[list[str]]:
    """Yield the commands, without their files."""
    users = sorted(json.loads((estate / "users.json").read_bytes())["userGroupMapping"])
    yield ["check", "--why", users[0], "namespace.get", "namespace:sales"]
    yield ["access", "--entity", "namespace:sales"]
    yield ["access", "--entity", "dataset:sales.*", "--access", "read"]
    yield ["access", "--user", users[0]]
    yield ["access", "--user", users[0], "--entity", "dataset:sales.orders", "--ways"]
    yield ["access", "--entity", "namespace:sales", "--format", "matrix"]
    yield ["policies", "lint", "--propose", "--inventory", str(estate / "inventory.jsonl")]


def asked(words: list[str], estate: Path) -> tuple[float, Any]:
    """Return the seconds that a command takes, and its JSON document.

    Raises:
        SystemExit: the command failed.
    """
    files = ["--policies", ",".join(str(estate / f"{name}.json") for name in ("policies", "roles", "tags", "users"))]
    output = io.StringIO()
    start = time.perf_counter()
    with contextlib.redirect_stdout(output):
        code = ranger_cdap([*words, *files, "--json", "--quiet"])
    taken = time.perf_counter() - start
    if code not in NOT_FAILED:
        sys.exit(f"`{' '.join(words)}` ended with {code}")
    return taken, json.loads(output.getvalue())


def certainties(document: Any) -> Iterator[bool]:
    """Yield, for each row of a document at any depth, that it is exact."""
    if isinstance(document, dict):
        if "undecided" in document:
            yield not document["undecided"]
        for value in document.values():
            yield from certainties(value)
    elif isinstance(document, list):
        for value in document:
            yield from certainties(value)


def main() -> None:
    """Print a line per question."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as directory:
        estate = Path(directory)
        subprocess.run([sys.executable, str(SCRIPT), directory, "--days", "1"], check=True, stdout=subprocess.DEVNULL)
        asked(["check", "--why", "someone", "namespace.get", "namespace:sales"], estate)  # imports
        basis = 0.0
        for words in questions(estate):
            taken, document = min((asked(words, estate) for _ in range(3)), key=lambda one: one[0])
            basis = basis or taken
            exact = list(certainties(document))
            share = f", {sum(exact):,} of {len(exact):,} rows exact ({sum(exact) / len(exact):.2%})" if exact else ""
            shown = " ".join(word for word in words if directory not in word)
            print(f"{shown}: {taken:.2f} s, {taken / basis:.1f} times loading and `explain`{share}")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
