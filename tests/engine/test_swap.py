"""A program swaps engines while others read: each reader sees the old policies or the new, never none, never a mix."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.engine import PolicyEngine
from tests.engine.fixtures import asks, engine, item, on, policy
from tests.engine.lookup.test_delta import DELETE, UPDATE, after, delta
from tests.readers import reading

SWAPS, CHANGES_SEEN = 150, 30
AT_MOST = 20_000  # swaps, if a reader gets no turn

BACKGROUND = [policy(n, on(hall=f"h{n}*"), [item("alice", "read")]) for n in range(100, 300)]
PLACES = [{"hall": "a"}, {"hall": "b", "shelf": "s"}]


def updated(turn: int) -> list[Any]:
    """Both policies change in one document: what was alice's is bob's, and back."""
    user = ("alice", "bob")[turn % 2]
    places = [on(hall="a"), on(hall="b", shelf=["s", "t*"])]
    return [delta(UPDATE, policy(n, where, [item(user, "read")])) for n, where in enumerate(places, 1)]


def replaced(turn: int) -> list[Any]:
    """The two policies go, and two others of the same meaning come for the other user."""
    old, new = (1, 3) if turn % 2 else (3, 1)
    created = [d["policy"] | {"id": d["policy"]["id"] + new - 1} for d in updated(turn)]
    return [delta(DELETE, policy(old + n, {})) for n in (0, 1)] + [delta(UPDATE, each) for each in created]


@pytest.mark.parametrize("change", [updated, replaced])
def test_no_reader_sees_a_moment_without_the_old_or_the_new_policies_or_a_mix(change: Any) -> None:
    current = [after(engine(*BACKGROUND), *updated(0))]

    def look() -> tuple[int, tuple[str, ...]]:
        judge: PolicyEngine = current[0]
        allowed = [who for place in PLACES for who in ("alice", "bob") if judge.evaluate(asks(place, who)).allowed]
        return judge.policy_version, tuple(allowed)

    with reading(look) as seen:
        turn = 0
        while turn < SWAPS or (min(map(len, seen)) < CHANGES_SEEN and turn < AT_MOST):
            turn += 1
            current[0] = after(current[0], *change(turn), version=turn + 2)

    either = {("alice", "alice"), ("bob", "bob")}
    assert {allowed for views in seen for _, allowed in views} == either
    for views in seen:
        assert len(views) >= CHANGES_SEEN
        versions = [version for version, _ in views]
        assert versions == sorted(versions)
        assert all(("alice", "bob")[version % 2] in allowed for version, allowed in views)
