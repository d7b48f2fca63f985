"""The decision service reads a record as the sync job's source `data-plane` does, by the cases that say how that is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ranger_cdap.wire.event_wire import Record
from ranger_cdap.wire.record_events import RecordedChange, creations_and_deletions
from tests.spark_sync.sources.test_sources import COUNTED, REFUSED, stored


def read(stored_record: dict[str, Any]) -> list[RecordedChange]:
    return list(creations_and_deletions(msgspec.convert(stored_record["record"], Record)))


@pytest.mark.parametrize("case", COUNTED)
def test_what_counts(case: str) -> None:
    changes, wanted = COUNTED[case]
    found = [(told.kind, str(told.entity), told.user, told.time) for told in read(stored(**changes))]
    of_version = case.startswith("one version")  # the service does not know which others there are
    assert found == ([] if wanted is None or of_version else [wanted])


@pytest.mark.parametrize("case", ["a star", "an owner", "a comma"])
def test_a_name_that_cdap_does_not_allow_is_no_entity(case: str) -> None:
    line, _ = REFUSED[case]
    assert read(msgspec.json.decode(line)) == []


# Who is checked, and who asked for what is created in the name of the first.
REQUESTERS: dict[str, tuple[list[str], str]] = {
    "he himself": (["alice"], ""),
    "he himself, checked twice": (["alice", "alice"], ""),
    "one other": (["alice", "bob"], "bob"),
    "nobody knows which of two": (["alice", "bob", "carol"], ""),
}


@pytest.mark.parametrize(("people", "requester"), REQUESTERS.values(), ids=REQUESTERS)
def test_who_asked_for_it(people: list[str], requester: str) -> None:
    (check,) = stored()["record"]["checks"]
    others = [check | {"principal": name, "permissions": ["STANDARD.GET"]} for name in people[1:]]
    (told,) = read(stored(record_checks=[check, *others]))
    assert (told.user, told.requester) == ("alice", requester)


def test_one_record_may_tell_of_several() -> None:
    checks = [
        {"principal": "alice", "type": kind, "parts": parts, "permissions": ["STANDARD.CREATE"], "allowed": True}
        for kind, parts in (("ARTIFACT", ["ns1", "lib", "1.0"]), ("APPLICATION", ["ns1", "App", "v"]))
    ]
    found = read(stored(record_method="POST", record_uri="/v3/namespaces/ns1/apps", record_checks=checks))
    assert [str(told.entity) for told in found] == ["artifact:ns1.lib", "application:ns1.App"]
