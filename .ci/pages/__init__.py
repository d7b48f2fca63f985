"""The pages of docs/reference that are generated from what they describe: `make pages` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown, with the white space of its cells as single spaces."""
    cells = ([re.sub(r"\s+", " ", cell).replace("|", "\\|") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in (columns, ["---"] * len(columns), *cells))
