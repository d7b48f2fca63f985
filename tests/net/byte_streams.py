"""Bytes that clients send, as Hypothesis draws them: legal requests, pieces of them, and what is neither."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import strategies as st

TRAILING = b"x-trailing"
"""How the name of each drawn field after a head begins; none in a head does."""

# What the service believes when it stands in a head.
TRUSTED = (b"authorization", b"host", b"content-type", b"x-request-id", b"x-forwarded-user", b"connection")


@dataclass(frozen=True, slots=True)
class Sent:
    """A legal request: its bytes, the fields of its head in lower case, and its content."""

    data: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    content: bytes


names = st.sampled_from([b"Accept", b"X-Forwarded-User", b"X-Request-Id", b"Content-Type", b"X_User", b"X-A"])
values = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20).map(str.encode)
trailing_names = st.one_of(
    st.sampled_from(TRUSTED), st.integers(0, 9).map(lambda n: TRAILING + b"-%d" % n), names.map(bytes.lower)
)
extensions = st.sampled_from([b"", b";a", b";a=b", b';a="c d"', b";a=b;c"])


@st.composite
def legal_requests(draw: st.DrawFn, *, path: bytes = b"/echo", closes: bool = False) -> Sent:
    method = draw(st.sampled_from([b"GET", b"POST", b"PUT", b"HEAD"]))
    fields = [(b"Host", b"127.0.0.1"), *draw(st.lists(st.tuples(names, values), max_size=5))]
    if closes:
        fields.append((b"Connection", b"close"))
    content = draw(st.binary(max_size=60))
    framing = draw(st.sampled_from(["length", "chunks", "none"]))
    if framing == "none":
        body, content = b"", b""
    elif framing == "length":
        fields.append((b"Content-Length", b"%d" % len(content)))
        body = content
    else:
        fields.append((b"Transfer-Encoding", b"chunked"))
        body = draw(chunks(content))
    lines = [method + b" " + path + b" HTTP/1.1", *(name + b": " + value for name, value in fields)]
    return Sent(
        b"\r\n".join([*lines, b"", b""]) + body, tuple((name.lower(), value) for name, value in fields), content
    )


@st.composite
def chunks(draw: st.DrawFn, content: bytes) -> bytes:
    """The content in chunks, with extensions and fields after it."""
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(content))), max_size=4)) | {0, len(content)})
    pieces = [content[here:there] for here, there in pairwise(cuts) if content[here:there]]
    written = b"".join(b"%x%s\r\n%s\r\n" % (len(piece), draw(extensions), piece) for piece in pieces)
    trailers = draw(st.lists(st.tuples(trailing_names, values), max_size=4))
    return written + b"0\r\n" + b"".join(name + b": " + value + b"\r\n" for name, value in trailers) + b"\r\n"


illegal = st.one_of(
    st.binary(max_size=80),
    st.sampled_from(
        [
            b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nmore",
            b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n",
        ]
    ),
)


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The bytes in up to eight pieces."""
    cuts = sorted(draw(st.sets(st.integers(0, len(data)), max_size=7)) | {0, len(data)})
    return [data[here:there] for here, there in pairwise(cuts)]
