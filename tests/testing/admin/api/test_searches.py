"""Parameters of lists and deletions: which ones filter, sort, or are required."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.admin.caller import V2, Caller


def names(answer: Any) -> list[str]:
    return [row["name"] for row in answer]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{V2}/policy", 400),
        (f"{V2}/policy?servicename=cdapdev", 400),
        (f"{V2}/policy?policyname=p", 400),
        (f"{V2}/policy?servicename=cdapdev&policyname=nosuch", 404),
    ],
)
def test_a_deletion_needs_the_names_of_what_it_deletes(shared: Caller, path: str, status: int) -> None:
    assert shared("DELETE", path)[0] == status


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("serviceType=cdap", ["cdap"]),
        ("serviceType=nosuch", []),
        ("name=nosuch", ["tag", "cdap"]),
        ("", ["tag", "cdap"]),
    ],
)
def test_definitions_are_found_by_their_type_and_not_by_name(shared: Caller, query: str, found: list[str]) -> None:
    assert names(shared("GET", f"{V2}/servicedef?{query}")[1]) == found
