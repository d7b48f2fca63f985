"""A parametrized function is one test: its rows run one after the other, and its report names each row that failed.

Each row has fixtures of its own, as ever. With `-k`, or a row's name on the command line
(`path::test[row]`), each row is a test of its own. So is a row of a function of which a row has markers
or a fixture has parameters.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Literal

import pytest
from _pytest.runner import runtestprotocol

_HAS_ROWS = pytest.StashKey[bool]()


def _rows_alone(config: pytest.Config) -> bool:
    return bool(config.option.keyword) or any("[" in name for name in config.args)


def _tables(function: object) -> list[Collection[object]]:
    return [mark.args[1] for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module, name: str, obj: object) -> pytest.Function | None:
    """Collect one test for all rows of a function."""
    tables = _tables(obj)
    if not tables or not collector.istestfunction(obj, name) or _rows_alone(collector.config):
        return None
    if any(getattr(row, "marks", ()) for table in tables for row in table):
        return None
    test: pytest.Function = pytest.Function.from_parent(collector, name=name)
    if any(fixtures[-1].params for fixtures in test._fixtureinfo.name2fixturedefs.values()):
        return None
    test.stash[_HAS_ROWS] = True
    return test


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run each row of a test as pytest would run it alone, and report once."""
    if not isinstance(item, pytest.Function) or _HAS_ROWS not in item.stash:
        return None
    assert isinstance(item.parent, pytest.Module)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    rows = list(item.parent._genfunctions(item.name, item.obj)) if all(map(len, _tables(item.obj))) else []
    reports = [report for row, then in pairwise([*rows, nextitem]) for report in runtestprotocol(row, False, then)]
    for report in _summaries(item, rows, reports):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _summaries(
    item: pytest.Function, rows: list[pytest.Function], reports: list[pytest.TestReport]
) -> list[pytest.TestReport]:
    """Return what is reported: a failure if a row failed or none ran; a skip if a row was skipped."""
    failed = [report for report in reports if report.failed]
    skipped = [report for report in reports if report.skipped and not hasattr(report, "wasxfail")]
    summaries = [_summary(item, "skipped", skipped[0].longrepr, skipped)] if skipped else []
    if failed:
        summaries.append(_summary(item, "failed", _told(failed, len(rows)), reports))
    elif not any(report.when == "call" for report in reports) and not skipped:
        summaries.append(_summary(item, "failed", f"{item.nodeid} ran no row", reports))
    elif len(skipped) < len(rows):
        summaries.append(_summary(item, "passed", None, reports))
    return summaries


def _summary(
    item: pytest.Function,
    outcome: Literal["passed", "failed", "skipped"],
    longrepr: object,
    reports: list[pytest.TestReport],
) -> pytest.TestReport:
    seconds = sum(report.duration for report in reports)
    keywords = dict.fromkeys(item.keywords, 1)
    return pytest.TestReport(item.nodeid, item.location, keywords, outcome, longrepr, "call", duration=seconds)


def _told(failed: list[pytest.TestReport], rows: int) -> str:
    names = list(dict.fromkeys(report.nodeid for report in failed))
    lines = [f"{len(names)} of {rows} rows failed:", *(f"  {name}" for name in names)]
    for report in failed:
        lines += ["", f"___ {report.nodeid} ({report.when})", report.longreprtext]
        lines += [f"--- {title}\n{text}" for title, text in report.sections]
    return "\n".join(lines)
