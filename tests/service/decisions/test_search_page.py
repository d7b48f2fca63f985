"""Laws of the pages of a search: together they are the whole result, and tokens belong to one request and version."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.service.decisions.search_page import (
    DEFAULT_LIMIT,
    MOST_ON_A_PAGE,
    PagePlace,
    PageTokens,
    page_of,
)
from ranger_cdap.service.http.reply import Refused

TOKENS = PageTokens.of({"subject": "alice"}, 7)


@given(st.sets(st.integers(0, 60)), st.integers(1, 20))
def test_the_pages_together_are_the_result_and_each_item_is_on_one(hits: set[int], limit: int) -> None:
    place, found = PagePlace(0, limit), []
    for _ in range(100):
        page = page_of(range(61), hits.__contains__, place)
        assert page.total == len(hits)
        assert len(page.results) <= limit
        found += page.results
        if page.next is None:
            break
        place = TOKENS.place(TOKENS.token(PagePlace(page.next, limit)), None)
    assert found == sorted(hits)


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.integers(1, 9))
def test_what_changes_between_pages_repeats_no_item(before: set[int], after: set[int], limit: int) -> None:
    first = page_of(range(31), before.__contains__, PagePlace(0, limit))
    if first.next is not None:
        rest = page_of(range(31), after.__contains__, PagePlace(first.next, 100))
        assert set(rest.results) == {n for n in after if n >= first.next}
        assert set(first.results).isdisjoint(rest.results)


def test_a_page_of_nothing_counts_and_the_next_one_begins_at_the_same_place() -> None:
    page = page_of("abc", lambda one: True, PagePlace(1, 0))
    assert (page.results, page.next, page.total) == ((), 1, 3)


LIMITS = [(None, DEFAULT_LIMIT), (1, 1), (0, 0), (MOST_ON_A_PAGE, MOST_ON_A_PAGE), (10**30, MOST_ON_A_PAGE)]


@pytest.mark.parametrize(("asked", "limit"), LIMITS)
def test_a_limit_is_kept_from_page_to_page_and_may_be_repeated(asked: int | None, limit: int) -> None:
    for token in (None, ""):
        assert TOKENS.place(token, asked) == PagePlace(0, limit)
    token = TOKENS.token(PagePlace(5, limit))
    for again in (None, asked, limit):
        assert TOKENS.place(token, again) == PagePlace(5, limit)


OTHERS = [
    (PageTokens.of({"subject": "bob"}, 7), None, "belongs to another request"),
    (PageTokens.of({"subject": "alice"}, 8), None, "the policies have changed"),
    (TOKENS, 4, "belongs to another request"),
]


@pytest.mark.parametrize(("other", "limit", "message"), OTHERS)
def test_a_token_is_of_one_request_one_version_and_one_limit(other: PageTokens, limit: int, message: str) -> None:
    with pytest.raises(Refused, match=message):
        other.place(TOKENS.token(PagePlace(5, 3)), limit)


@given(st.text() | st.binary(max_size=60).map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_what_is_no_token_is_refused(text: str) -> None:
    if text:
        with pytest.raises(Refused) as caught:
            TOKENS.place(text, None)
        assert caught.value.status == 400


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1))
def test_a_forged_position_and_limit_give_a_page_within_the_limits(position: int, limit: int) -> None:
    place = TOKENS.place(TOKENS.token(PagePlace(position, limit)), None)
    page = page_of(range(9), lambda one: True, place)
    assert place.limit <= MOST_ON_A_PAGE
    assert page.results == tuple(range(min(position, 9), 9))[: place.limit]


def test_a_token_names_nothing() -> None:
    token = PageTokens.of({"subject": "alice-the-secret"}, "kv").token(PagePlace(1, 1))
    assert len(token) == 40
    assert b"alice" not in base64.urlsafe_b64decode(token)
