"""Every text is read as JSON or refused with one error; strict readers see what Python's parser sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.ranger.files.strict_text import parse_text
from ranger_cdap.ranger_model.json_text import Undecodable, convert, decode, decode_or_none
from ranger_cdap.ranger_model.strict_json import DEEPEST, BadLine, decode_strictly, read_object, refuse_repeated


class Form(msgspec.Struct):
    name: str = ""
    count: int = 0
    share: float = 0.0
    inner: list[Any] = []


DECODER = msgspec.json.Decoder(Form)
SECRET = "s3cr3t"
UNREADABLE = {
    "nothing": b"",
    "malformed": b'{"name":}',
    "two values": b"{} {}",
    "a trailing comma": b'{"name":"a",}',
    "not UTF-8": b'{"name":"\xff"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "half of a character": b'{"name":"\\ud800"}',
    "half of a character in a text": '{"name":"\ud800"}',
    "another form": b"[]",
    "another type": f'{{"count":"{SECRET}"}}'.encode(),
    "too deep": b'{"inner":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "an integer too long": b'{"count":' + b"1" * 5_000 + b"}",
    "a number too large": b'{"share":1e999}',
    "no number": b'{"share":NaN}',
}


@pytest.mark.parametrize("form", [Form, DECODER], ids=["type", "decoder"])
@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_every_text_that_cannot_be_read_has_one_error(text: bytes | str, form: Any) -> None:
    with pytest.raises(Undecodable) as e:
        decode(text, form)
    assert str(e.value) == " ".join(str(e.value).split())
    assert 0 < len(str(e.value)) <= 300
    assert SECRET not in str(e.value)
    with pytest.raises(PolicySetError, match=r"^no policies: "):
        decode(text, form, lambda why: PolicySetError(f"no policies: {why}"))
    assert decode_or_none(text, form) is None


@pytest.mark.parametrize(
    ("value", "form"),
    [("1", int), (1, str), (10**400, float), ("\ud800", bytes), ({"count": SECRET}, Form), ({1: 2}, Form)],
    ids=ascii,
)
def test_a_value_that_does_not_fit_has_the_same_error(value: object, form: type) -> None:
    with pytest.raises(Undecodable) as e:
        convert(value, form)
    assert SECRET not in str(e.value)
    with pytest.raises(BadLine):
        convert(value, form, BadLine)


@given(st.binary() | st.text() | st.text(st.characters(categories=["Cs", "Nd"])), st.sampled_from([Form, DECODER, int]))
def test_no_other_error_leaves(text: bytes | str, form: Any) -> None:
    try:
        decode(text, form)
    except Undecodable:
        assert decode_or_none(text, form) is None


# The law of strict JSON, for each of its readers.

NAMES = st.sampled_from(
    ['"a"', '"\\u0061"', '"b"', '""', '"\\""', '"\\\\"', '"\\\\\\""', '"é"', '"\\u00e9"', '"\\u0022"']
)
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?", fullmatch=True),
)
SCALARS = st.one_of(
    NAMES,
    NUMBERS,
    st.sampled_from(["null", "true", "false", '"\\ud83d\\ude00"', '"\x7f"', '"\u2028"']),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(
        lambda text: json.dumps(text, ensure_ascii=False)
    ),
)
ODD = st.sampled_from(
    [
        *("NaN", "Infinity", "-Infinity", "1e999", "-1e400", "9" * 400, "9" * 5_000, "01", "'a'", "[1,]", "1 2"),
        *('"\\ud800"', '"\\udc00\\ud800"', '"\t"', '"\\x"'),
        *("[" * depth + "]" * depth for depth in (DEEPEST + 6, 2_000)),
    ]
)
TEXTS = st.recursive(
    st.one_of(SCALARS, SCALARS, SCALARS, SCALARS, ODD),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
        | st.lists(st.tuples(NAMES, inner), max_size=3).map(lambda ms: f"{{{','.join(f'{n} : {v}' for n, v in ms)}}}")
    ),
    max_leaves=6,
)


@st.composite
def strict_texts(draw: st.DrawFn) -> bytes:
    """An object as JSON, in which a field may be repeated, and which may be odd or broken anywhere."""
    text = f'{{"x":{draw(TEXTS)},{draw(NAMES)}:\r\n{draw(TEXTS)}}}'.encode()
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(text)))
        added = draw(st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff", b"\\", b'"', b",", b"\0", b"\x0b", b" ", b"}"]))
        text = text[:at] + added + text[at + draw(st.integers(0, 1)) :]
    return text


def plainly(text: bytes) -> Any:
    """The value that Python's parser finds. Raises ValueError where a field is repeated, or a value is odd."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("repeated")
        return dict(pairs)

    def constant(name: str) -> None:
        raise ValueError(name)

    value = json.loads(text.decode(), object_pairs_hook=once, parse_constant=constant)
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)  # refuses a number beyond a double
    written.encode()  # refuses half of a character
    return value


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


def is_long(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(is_long, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def of_bodies(text: bytes) -> Any:
    return decode_strictly(text, msgspec.json.Decoder())


def of_lines(text: bytes) -> Any:
    return read_object(text.decode("utf-8", "surrogateescape"))


def of_files(text: bytes) -> Any:
    return parse_text(text, ".json")


@pytest.mark.parametrize("read", [of_bodies, of_lines, of_files])
@given(text=strict_texts())
@settings(max_examples=400, deadline=None)
def test_a_strict_reader_accepts_what_python_does_but_ambiguous_json(read: Callable[[bytes], Any], text: bytes) -> None:
    try:
        expected = plainly(text)
    except (ValueError, RecursionError):
        with pytest.raises((Undecodable, BadLine, InvalidInput)):
            read(text)
        return
    if read is not of_bodies and (
        depth_of(expected) > DEEPEST or (read is of_files and is_long(expected)) or not isinstance(expected, dict)
    ):
        with pytest.raises((BadLine, InvalidInput)):
            read(text)
        return
    assert repr(read(text)) == repr(expected)


@pytest.mark.parametrize("depth", range(900, 1_000, 3))
def test_a_field_that_is_repeated_very_deep_is_refused(depth: int) -> None:
    deep = b"[" * depth + b'{"a":1,"a":2}' + b"]" * depth
    with pytest.raises(Undecodable):
        of_bodies(deep)


def test_the_repeated_field_is_named_where_that_is_quickly_found() -> None:
    long = b'{"b":"' + b"x" * 20_000 + b'","a":1,"\\u0061":2}'
    for text, most, said in (
        (b'{"a":1,"a":1}', 100, "field `a`"),
        (long, 100, "a field"),
        (long, 1 << 20, "field `a`"),
    ):
        with pytest.raises(BadLine, match=f"^{said} is repeated$"):
            refuse_repeated(json.loads(text), text, BadLine, most)
