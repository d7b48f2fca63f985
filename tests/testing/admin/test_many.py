"""Many at once over HTTP: callers who want the same, and lists that are longer than a page."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.testing.admin.caller import V2, Caller, download, policy


@pytest.mark.parametrize("path", ["policy", "service"])
def test_of_many_who_create_the_same_thing_at_once_exactly_one_succeeds(cdapdev: Caller, path: str) -> None:
    body = policy() if path == "policy" else {"name": "dev2", "type": "cdap"}
    together = threading.Barrier(8)

    def create(_: int) -> int:
        together.wait()
        return cdapdev("POST", f"{V2}/{path}", body)[0]

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(create, range(8))) == [200] + [400] * 7


def test_of_many_who_create_different_policies_at_once_all_succeed(cdapdev: Caller) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: cdapdev("POST", f"{V2}/policy", policy(f"p{n}", f"ns{n}")), range(80)))
    assert {status for status, _ in made} == {200}
    assert len({answer["id"] for _, answer in made}) == 80
    answer = download(cdapdev)[1]
    assert len(answer["policies"]) == 80
    assert answer["policyVersion"] == 2 + 80


def test_lists_are_cut_at_200_unless_asked_otherwise(cdapdev: Caller) -> None:
    for n in range(203):
        assert cdapdev("POST", f"{V2}/policy", policy(f"p{n}", f"ns{n}"))[0] == 200
    path = f"{V2}/service/cdapdev/policy"
    assert len(cdapdev("GET", path)[1]) == 200
    assert len(cdapdev("GET", f"{path}?pageSize=100000")[1]) == 203
    pages = [cdapdev("GET", f"{path}?pageSize=100&startIndex={start}")[1] for start in (0, 100, 200, 300)]
    assert [len(page) for page in pages] == [100, 100, 3, 0]
    assert [row["name"] for page in pages for row in page] == [f"p{n}" for n in range(203)]
