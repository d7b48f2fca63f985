"""The cache of resources is bounded, nothing of it survives a delta, and deltas one after another add nothing to it."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.engine.lookup import resource_cache
from tests.engine.fixtures import asks, engine, item, on, policy
from tests.engine.lookup.test_delta import UPDATE, after, delta

READ = [item("alice", "read")]


def cache_of(judge: Any) -> Any:
    return judge.view.default._cache


def items_of(cache: Any) -> int:
    return sum(map(len, [cache._shared, *cache._caches.values(), *cache._retired]))


def test_of_resources_that_no_policy_names_the_oldest_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_cache, "_MAX_EVICTABLE", 10)
    judge = engine(policy(1, on(hall="h*"), READ), policy(2, on(hall="named"), READ))
    for hall in ["named", *(f"h{n}" for n in range(100))]:
        assert judge.evaluate(asks({"hall": hall})).allowed
    assert set(judge.view.default.cache_of(("hall",))) == {("named",), *((f"h{n}",) for n in range(90, 100))}


def test_the_policies_of_ever_new_resources_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_cache, "_MAX_SHARED", 10)
    judge = engine(*(policy(n, on(hall=f"h{n}*"), READ) for n in range(1, 100)))
    for n in range(1, 100):
        assert judge.evaluate(asks({"hall": f"h{n}"})).allowed
    assert len(cache_of(judge)._shared) <= 10


def test_deltas_and_requests_in_turn_do_not_make_the_cache_grow() -> None:
    judge = engine(*(policy(n, on(hall=f"h{n}"), READ) for n in range(1, 301)))
    most = 0
    for version in range(2, 60):
        judge = after(judge, delta(UPDATE, policy(version, on(hall=f"h{version}"), READ)), version=version)
        for n in range(1, 301):
            assert judge.evaluate(asks({"hall": f"h{n}"})).allowed
        most = max(most, items_of(cache_of(judge)))
    assert most <= 2 * items_of(cache_of(engine(*(policy(n, on(hall=f"h{n}"), READ) for n in range(1, 301))))) + 1_200


def test_what_a_reader_of_the_old_policies_adds_is_not_in_the_cache_of_the_new_ones() -> None:
    old = engine(policy(1, on(hall="h"), READ))
    new = after(old, delta(UPDATE, policy(1, on(hall="h"), [], READ)))
    assert old.evaluate(asks({"hall": "h"})).allowed
    assert not new.evaluate(asks({"hall": "h"})).allowed
    assert old.evaluate(asks({"hall": "h"})).allowed


def test_deltas_release_the_cache_of_the_policies_before_them() -> None:
    judge = engine(*(policy(n, on(hall=f"h{n}"), READ) for n in range(1, 401)))
    for n in range(1, 401):
        judge.evaluate(asks({"hall": f"h{n}"}))
    for version in range(2, 8):
        judge = after(judge, delta(UPDATE, policy(1, on(hall="h"), READ)), version=version)
    assert items_of(cache_of(judge)) == 0
    assert not cache_of(judge)._retired
