"""Draw the plots of docs/images: `bench_plots.py ENGINE SMALL_RUNS DIRECTORY`, from what the benchmarks saved.

ENGINE is the file of `benchmarks.engine --save`, SMALL_RUNS that of `benchmarks.small_runs --save`. Needs Matplotlib.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import matplotlib as mpl
from matplotlib.figure import Figure

Curve = tuple[str, list[tuple[float, float]]]

RUNS = {
    "warm, 10 events, the run": "a run of --follow that finds ten events",
    "cold, 10 events, start -> granted": "sync run, from its start until ten grants are in Ranger",
    "sync status": "sync status",
}
RULES = {"svg.hashsalt": "ranger-cdap", "svg.fonttype": "none", "font.size": 10}
"""Text stays text, and the same figures give the same file."""
DARK = {
    "#ffffff": "#0d1117",
    "#000000": "#e6edf3",
    "#b0b0b0": "#6e7681",
    "#cccccc": "#6e7681",
    "#1f77b4": "#58a6ff",
    "#ff7f0e": "#ffa657",
    "#2ca02c": "#7ee787",
    "#d62728": "#ff7b72",
    '<style type="text/css">': '<style type="text/css">text{fill: #e6edf3}',
}
"""Colours of a dark page by those of Matplotlib, which leaves out that of text."""


def engine_curves(rows: Iterable[dict[str, float]]) -> list[Curve]:
    """Return the microseconds of a decision by the number of policies."""
    plain = [row for row in rows if row["what"] == "plain"]
    names = {
        "java": "Ranger's Java engine",
        "warm": "ours",
        "java_cold": "Java, resources never asked before",
        "cold": "ours, resources never asked before",
    }
    return [(name, [(row["policies"], 1e6 / row[key]) for row in plain]) for key, name in names.items()]


def run_curves(rows: list[dict[str, float]]) -> list[Curve]:
    """Return the median seconds by the number of entities known."""
    sizes = sorted({row["entities"] for row in rows})
    return [
        (
            name,
            [
                (size, median(r["seconds"] for r in rows if r["what"] == what and r["entities"] == size))
                for size in sizes
            ],
        )
        for what, name in RUNS.items()
    ]


def draw(file: Path, title: str, across: str, up: str, curves: list[Curve]) -> None:
    """Write a plot of cost from zero against the logarithm of size, as SVG, and another one for dark pages."""
    with mpl.rc_context(RULES):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        for (name, points), style in zip(curves, ("o-", "s-", "o:", "s:"), strict=False):
            axes.plot(*zip(*points, strict=True), style, label=name)
        axes.set(title=title, xlabel=across, ylabel=up, xscale="log")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.grid(visible=True, which="major", alpha=0.4)
        axes.legend()
        figure.savefig(file, metadata={"Date": None, "Creator": None})
    file.with_stem(f"{file.stem}-dark").write_text(dark(file.read_text(encoding="utf-8")), encoding="utf-8")


def dark(plot: str) -> str:
    """Return the plot for a dark page."""
    for light, other in DARK.items():
        plot = plot.replace(light, other)
    return plot


def main() -> None:
    """Draw both."""
    engine, runs, directory = map(Path, sys.argv[1:])
    draw(
        directory / "cost-of-a-decision.svg",
        "One decision against the number of policies",
        "policies",
        "microseconds",
        engine_curves(json.loads(engine.read_bytes())),
    )
    draw(
        directory / "cost-of-a-small-run.svg",
        "Small runs of the sync job against what they know",
        "entities known",
        "seconds",
        run_curves(json.loads(runs.read_bytes())),
    )


if __name__ == "__main__":
    main()
