"""The two Avro schemas of CDAP's messaging service, byte for byte as the Avro specification has them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sync.sources.avro import TopicMessage, messages, poll_request
from tests.spark_sync.sources.messaging_service import decoded_request, encoded_messages


@pytest.mark.parametrize(
    ("start", "body"),
    [
        (None, "04 01 00 d00f 02"),  # null; inclusive; int 1000; no transaction
        (b"\x01\xff", "00 04 01ff 00 00 d00f 02"),  # bytes of length 2; exclusive
        (1, "02 02 01 00 d00f 02"),  # long
        (64, "02 8001 01 00 d00f 02"),
    ],
)
def test_a_request(start: bytes | int | None, body: str) -> None:
    assert poll_request(start, limit=1000) == bytes.fromhex(body)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("00", []),
        ("02 02 aa 04 6869 00", [TopicMessage(b"\xaa", b"hi")]),
        ("01 08 02 aa 04 6869 00", [TopicMessage(b"\xaa", b"hi")]),  # a block that tells its size
        ("02 02 aa 00 02 02 bb 00 00", [TopicMessage(b"\xaa", b""), TopicMessage(b"\xbb", b"")]),
    ],
)
def test_an_answer(body: str, found: list[TopicMessage]) -> None:
    assert list(messages(bytes.fromhex(body))) == found


@pytest.mark.parametrize(
    "body", ["", "02", "02 02", "02 02 aa 04 68", "02 01 aa", "00 00", "ff" * 11, "02 02 aa 04 6869"]
)
def test_nonsense(body: str) -> None:
    with pytest.raises(ValueError):
        list(messages(bytes.fromhex(body)))


@given(st.one_of(st.none(), st.binary(max_size=40), st.integers(0, 2**62)), st.integers(1, 2**31 - 1))
def test_a_server_reads_the_request(start: bytes | int | None, limit: int) -> None:
    assert decoded_request(poll_request(start, limit=limit)) == (start, not isinstance(start, bytes), limit)


@given(st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=300))))
def test_what_a_server_writes_is_read(sent: list[tuple[bytes, bytes]]) -> None:
    assert list(messages(encoded_messages(sent))) == [TopicMessage(*one) for one in sent]


@given(st.binary(max_size=60))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(ValueError):  # no other error, and no waiting
        list(messages(body))
