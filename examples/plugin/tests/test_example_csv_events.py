"""The event source `csv`: accepted lines, and the reasons for rejected ones."""

from __future__ import annotations

import pytest

from ranger_cdap.config import SourceSettings

GOOD = {
    "1795233666254,alice,CREATE,dataset,ns1,purchases": ("dataset", ("ns1", "purchases"), "CREATE", "alice"),
    "1795233666255,bob,DELETE,namespace,ns2": ("namespace", ("ns2",), "DELETE", "bob"),
}
BAD = {
    "": "has fewer than 5 fields",
    "1795233666254,alice,CREATE,dataset": "has fewer than 5 fields",
    "yesterday,alice,CREATE,namespace,ns1": "its time cannot be read",
    "0,alice,CREATE,namespace,ns1": "its time cannot be read",
    "1,,CREATE,namespace,ns1": "names no user",
    "1,alice,TOUCH,namespace,ns1": "is neither a creation nor a deletion",
    "1,alice,CREATE,artifact,ns1,a": "is of a type that is not believed",
    "1,alice,CREATE,dataset,ns1": "is of a type that is not believed",
    "1,alice,CREATE,dataset,ns1,a,b": "is of a type that is not believed",
}


def read(line: str):  # type: ignore[no-untyped-def]
    from spark_sync.sources.registry import event_sources

    return event_sources()["csv"].reader(line, SourceSettings(name="inventory", kind="csv"), "cdap")


@pytest.mark.parametrize("line", GOOD)
def test_what_is_exactly_as_it_should_be_is_an_event(line: str) -> None:
    found = read(line)
    (event,) = found.events
    assert found.rejected is None
    assert (event.entity.type, event.entity.parts, event.kind, event.user) == GOOD[line]
    assert event.started == event.ended == int(line.split(",")[0])
    assert (event.stage, event.outcome) == ("message", "done")


@pytest.mark.parametrize("line", BAD)
def test_everything_else_is_rejected_with_the_reason(line: str) -> None:
    found = read(line)
    assert (found.rejected, found.events) == (BAD[line], ())


def test_two_lines_have_two_ids_and_one_line_has_one() -> None:
    ids = [read(line).events[0].id for line in (*GOOD, *GOOD)]
    assert ids[: len(GOOD)] == ids[len(GOOD) :]
    assert len(set(ids)) == len(GOOD)
