"""What people read in a table of insights."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.tools.insights.table import ColumnKind, shown

NOON = 1_767_268_800_000


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (ColumnKind.NUMBER, 73_350, "73,350"),
        (ColumnKind.ID, 10_001, "10001"),
        (ColumnKind.TIME, NOON, "2026-01-01 12:00"),
        (ColumnKind.FLAG, False, "no"),
        (ColumnKind.TEXTS, ("a", "b"), "a, b"),
        (ColumnKind.TEXT, "alice", "alice"),
        *((kind, None, "") for kind in ColumnKind),
    ],
)
def test_a_value_as_people_read_it(kind: ColumnKind, value: Any, text: str) -> None:
    assert shown(kind, value) == text
