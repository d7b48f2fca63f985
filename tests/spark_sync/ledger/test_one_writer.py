"""Delta-rs alone commits: Spark writes how far it has read a stream, and never a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import spark_sync

ROOT = Path(spark_sync.__file__).parent
OF_SPARK = {"ingest/ingestion.py": {"writeStream"}}
COMMITS = frozenset({"write_deltalake", "create_write_transaction", "optimize", "vacuum", "alter", "merge"})
WRITES_OF_SPARK = frozenset({"write", "writeStream", "writeTo", "saveAsTable", "insertInto"})


def used(path: Path) -> Iterator[str]:
    """The names and attributes in a file; `write` only where it is no call, as Spark's is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not (node.attr == "write" and id(node) in called):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def test_no_table_is_written_by_spark() -> None:
    found = {str(path.relative_to(ROOT)): set(used(path)) for path in ROOT.rglob("*.py")}
    assert {name: names & WRITES_OF_SPARK for name, names in found.items() if names & WRITES_OF_SPARK} == OF_SPARK
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py"))
    assert 'format("delta")' not in text
    assert "DeltaSparkSessionExtension" not in text


def test_two_files_commit() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if "from deltalake" in path.read_text(encoding="utf-8") and COMMITS & {*used(path)}
    }
    assert found == {"ledger/ledger_tables.py", "ledger/store_lease.py"}
