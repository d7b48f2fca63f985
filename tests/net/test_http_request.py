"""Laws of the reader of requests: only a head has fields, and nothing that comes makes it keep more than its bounds."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

import pytest

pytest.importorskip("httptools")

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.net.http_request import LONGEST_HEAD, MOST_FIELDS, BadRequest, Incoming, RequestReader
from tests.net.byte_streams import Sent, cut, illegal, legal_requests

LONGEST_BODY = 1_000
HEAD = b"POST /echo HTTP/1.1\r\nHost: a\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def read_all(pieces: Iterable[bytes], longest_body: int = LONGEST_BODY) -> list[Incoming]:
    """The requests in these pieces, each taken as soon as it is complete."""
    reader, found = RequestReader(longest_body), []
    for piece in pieces:
        reader.feed(piece)
        while reader.requests and reader.requests[0].complete:
            found.append(reader.requests.pop(0))
    return found


@given(st.lists(legal_requests(), min_size=1, max_size=2), st.data())
def test_a_request_has_the_fields_of_its_head_and_its_content(sent: list[Sent], data: st.DataObject) -> None:
    found = read_all(data.draw(cut(b"".join(one.data for one in sent))))
    assert [(tuple(one.fields), bytes(one.content)) for one in found] == [(one.fields, one.content) for one in sent]


@given(st.lists(st.one_of(legal_requests().map(lambda one: one.data), illegal), max_size=6), st.data())
def test_whatever_comes_is_requests_or_refused(sent: list[bytes], data: st.DataObject) -> None:
    reader = RequestReader(LONGEST_BODY)
    try:
        for piece in data.draw(cut(b"".join(sent))):
            reader.feed(piece)
    except BadRequest:
        pass
    assert len(reader.requests) <= 2
    for incoming in reader.requests:
        assert not any(name.startswith(b"x-trailing") for name, _ in incoming.fields)


ENDLESS = {
    "the request line": (b"GET /", b"a" * 1_000),
    "a field": (HEAD + b"X-A: ", b"a" * 1_000),
    "fields": (HEAD, b"X-A: b\r\n" * 100),
    "empty lines": (b"", b"\r\n" * 500),
    "the extension of a chunk": (CHUNKED + b"1;a=", b"b" * 1_000),
    "the trailer section": (CHUNKED + b"1\r\nx\r\n0\r\n", b"X-A: b\r\n" * 100),
    "one trailer": (CHUNKED + b"0\r\nX-A: ", b"b" * 1_000),
    "content in chunks": (CHUNKED, b"64\r\n" + b"x" * 100 + b"\r\n"),
    "content in chunks of a byte": (CHUNKED, b"1\r\nx\r\n" * 100),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_has_no_end_is_refused_within_its_bound(what: str) -> None:
    begin, more = ENDLESS[what]
    has_content = what.startswith("content")
    # Where content never comes, it is the bound of a head, however long a body may be.
    longest_body = LONGEST_BODY if has_content else 100 * LONGEST_HEAD
    most = LONGEST_HEAD + (2 * LONGEST_BODY if has_content else 0)
    with pytest.raises(BadRequest) as refused:
        read_all([begin, *repeat(more, most // len(more) + 1)], longest_body)
    assert refused.value.status == (413 if has_content else 431)


def test_a_head_has_so_many_fields_and_no_more() -> None:
    fields = b"X-A: b\r\n" * (MOST_FIELDS - 1)
    (found,) = read_all([HEAD + fields + b"\r\n"])
    assert len(found.fields) == MOST_FIELDS
    with pytest.raises(BadRequest):
        read_all([HEAD + fields + b"X-A: b\r\n\r\n"])


def test_a_second_request_may_come_ahead_and_no_third() -> None:
    reader = RequestReader(LONGEST_BODY)
    reader.feed(2 * (HEAD + b"\r\n"))
    with pytest.raises(BadRequest) as refused:
        reader.feed(HEAD + b"\r\n")
    assert refused.value.status is None
    assert [one.complete for one in reader.requests] == [True, True]


def test_the_path_is_decoded_and_the_query_is_not() -> None:
    (found,) = read_all([b"GET /a%20b/%C3%A9?c=%20d HTTP/1.1\r\n\r\n"])
    assert (found.path, found.raw_path, found.query) == ("/a b/é", b"/a%20b/%C3%A9", b"c=%20d")
