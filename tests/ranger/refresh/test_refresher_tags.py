"""The refresher, where policies of tags decide too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ranger.documents import policies, policy, tags
from tests.ranger.fixtures import (
    FRESH,
    NOT_READY,
    FakeRanger,
    Started,
    may_read,
)


def test_without_tag_policies_nobody_asks_for_tags(started: Started, ranger: FakeRanger) -> None:
    ranger.answers(403, b"", "tags")
    assert started().refresh().state is FRESH
    assert not any(asked.startswith("tags") for asked in ranger.asked)


def test_tag_policies_without_tags_decide_nothing_and_stop_nothing(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["policies"] = policies(1, policy(1), tagged=True)
    refresher = started()
    assert may_read(refresher.refresh())
    assert may_read(refresher.refresh())
    assert [asked for asked in ranger.asked if asked.startswith("tags")] == ["tags -1", "tags 1"]


def test_a_change_of_tags_alone_comes_into_force(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["policies"] = policies(1, policy(1), tagged=True)
    refresher = started()
    before = refresher.refresh()
    ranger.documents["tags"] = tags(2)
    after = refresher.refresh()
    assert (before.versions.tags, after.versions.tags) == (1, 2)
    assert after.engine is not before.engine


def test_tag_policies_that_are_unlinked_need_no_tags_any_more(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["policies"] = policies(1, policy(1), tagged=True)
    refresher = started()
    refresher.refresh()
    ranger.documents["policies"] = policies(2, policy(1))
    ranger.answers(403, b"", "tags")
    assert refresher.refresh().state is FRESH


def test_not_modified_from_the_start_means_no_tags(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["policies"] = policies(1, policy(1), tagged=True)
    ranger.answers(304, b"", "tags")
    assert may_read(started().refresh())
    ranger.is_away()
    assert may_read(started().refresh())


@pytest.mark.parametrize(("status", "body"), [(403, {"msgDesc": "no"}), (404, b""), (500, b""), (200, b"<html>")])
def test_tags_that_can_not_be_had_mean_not_ready(started: Started, ranger: FakeRanger, status: int, body: Any) -> None:
    ranger.documents["policies"] = policies(1, policy(1), tagged=True)
    ranger.answers(status, body, "tags")
    snapshot = started().refresh()
    assert (snapshot.state, snapshot.engine) == (NOT_READY, None)
    if status != 200:
        assert "`tag.download.auth.users`" in snapshot.reason
        assert "`cdapsvc`" in snapshot.reason
