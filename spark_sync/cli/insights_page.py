"""Insights as one HTML page: nothing from elsewhere, every name escaped, readable without scripts.

Its content security policy names the hashes of its style and its script, so that nothing else runs, whatever a name is.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from ranger_cdap.questions.display import page_template
from spark_sync.insights.facts import DayTotal
from spark_sync.insights.report import InsightReport
from spark_sync.insights.table import InsightTable, iso, shown
from spark_sync.insights.tally import DAY

MOST_ROWS: Final = 1000
"""Rows of a table that the page shows."""
MOST_BARS: Final = 180
MOST_NAMESPACES, MOST_GROUPS = 40, 20

_WIDTH, _HEIGHT = 900, 200
_SHADES: Final = 4
_HEAT: Final = "use_by_group"


@dataclass(frozen=True, slots=True)
class PlotBar:
    """Bar of some days: allowed accesses below, denied ones on top of them."""

    label: str
    x: float
    allowed_y: float
    allowed: float
    denied_y: float
    denied: float


@dataclass(frozen=True, slots=True)
class UsePlot:
    """Plot of use over time, in the units of its view."""

    bars: tuple[PlotBar, ...]
    bar: float
    first: str
    last: str
    label: str
    about: str
    width: int = _WIDTH
    height: int = _HEIGHT


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Counts by row and column with their shades, 0 for none; the busiest ones, and a sentence about the others."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    more: str


def insights_page(report: InsightReport) -> str:
    """Return the page, from `templates/insights.html`."""
    import markupsafe

    style, script = _text("insights.css"), _text("insights.js")
    heat = next((table for table in report.tables if table.name == _HEAT), None)
    lines = report.facts.lines
    return page_template("spark_sync.cli", "insights.html").render(
        report=report,
        tables=[table for table in report.tables if table is not heat],
        heat=heat_map(heat),
        plot=use_plot(report.facts.days),
        counts=[
            ("accesses", f"{report.facts.accesses:,}"),
            ("users", f"{report.users:,}"),
            ("lines read", f"{lines.lines:,}"),
            ("lines accepted", f"{lines.accepted:,}"),
            ("of other services", f"{lines.others:,}"),
            ("outside of the period", f"{lines.outside:,}"),
            ("marks of the chain", f"{lines.marks:,}"),
            ("lines rejected", f"{lines.rejected:,}"),
        ],
        most=MOST_ROWS,
        zip=zip,
        shown=shown,
        day=_day,
        time=lambda milliseconds: (iso(milliseconds) or "")[:16].replace("T", " "),
        # Ours, and without anything from the report.
        style=markupsafe.Markup(style),  # noqa: S704
        script=markupsafe.Markup(script),  # noqa: S704
        style_hash=_digest(style),
        script_hash=_digest(script),
    )


def use_plot(days: tuple[DayTotal, ...]) -> UsePlot:
    """Return the plot of all days from the first to the last, several days in a bar if there are many."""
    first, last = days[0].day, days[-1].day
    step = -(-(last - first + 1) // MOST_BARS)
    sums: dict[int, list[int]] = {start: [0, 0] for start in range(first, last + 1, step)}
    for one in days:
        found = sums[first + (one.day - first) // step * step]
        found[0] += one.allowed
        found[1] += one.denied
    most = max(sum(found) for found in sums.values())
    width = _WIDTH / len(sums)
    bars = []
    for number, (start, (allowed, denied)) in enumerate(sums.items()):
        heights = [round(count / most * _HEIGHT, 2) for count in (allowed, denied)]
        top = round(_HEIGHT - heights[0], 2)
        label = f"{_day(start * DAY)}: {allowed:,} allowed, {denied:,} denied"
        bars.append(PlotBar(label, round(number * width, 2), top, heights[0], round(top - heights[1], 2), heights[1]))
    total = [sum(one.allowed for one in days), sum(one.denied for one in days)]
    return UsePlot(
        bars=tuple(bars),
        bar=round(width * 0.85, 2),
        first=_day(first * DAY),
        last=_day(last * DAY),
        label=f"Accesses from {_day(first * DAY)} to {_day(last * DAY)}: {total[0]:,} allowed, {total[1]:,} denied",
        about=f"at most {most:,} " + ("on a day" if step == 1 else f"in {step} days"),
    )


def heat_map(table: InsightTable | None) -> HeatMap:
    """Return the map of the busiest namespaces and groups."""
    counts: dict[tuple[str, str], int] = {(row[0], row[1]): row[2] for row in table.rows} if table else {}
    by_row: dict[str, int] = defaultdict(int)
    by_column: dict[str, int] = defaultdict(int)
    for (namespace, group), count in counts.items():
        by_row[namespace] += count
        by_column[group] += count
    namespaces, groups = (
        sorted(sorted(sums, key=lambda name: (-sums[name], name))[:most])
        for sums, most in ((by_row, MOST_NAMESPACES), (by_column, MOST_GROUPS))
    )
    left = [len(by_row) - len(namespaces), len(by_column) - len(groups)]
    most = max(counts.values(), default=1)
    return HeatMap(
        tuple(groups),
        tuple(
            (name, tuple((count := counts.get((name, group), 0), _shade(count, most)) for group in groups))
            for name in namespaces
        ),
        f" The busiest; {left[0]:,} namespaces and {left[1]:,} groups are not shown." if any(left) else "",
    )


def _shade(count: int, most: int) -> int:
    """Return 0 for none, else 1 to 4 by the share of the most, on the scale of its logarithm."""
    if not count:
        return 0
    return max(1, min(_SHADES, -(-_SHADES * count.bit_length() // most.bit_length())))


def _day(milliseconds: int) -> str:
    return (iso(milliseconds) or "")[:10]


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(name: str) -> str:
    return files("spark_sync.cli").joinpath("templates", name).read_text(encoding="utf-8")
