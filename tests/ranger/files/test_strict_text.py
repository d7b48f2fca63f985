"""Files that people edit: what is written is read again, and what readers take differently is refused."""

from __future__ import annotations

import gzip
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.files.strict_text import LARGEST, parse_text, write_json, write_yaml

TRAPS = (
    *("yes", "No", "on", "y", "N", "~", "null", "true", "", " ", "<<", "=", "-", "?", "- a", "a: b", "#x", "a #b"),
    *("1.0", "1e3", "0o17", "0x1f", "010", "1:30", "1_000", "+1", ".inf", "2026-01-01", "!a", "&a", "*a", "%", "@"),
    *("\x85", "\u2028", "\ufeff", "\U0001f600", "'", '"', "a\nb", "\t", "\x07", "trailing ", "|", ">", "[", "{a: 1}"),
)
texts = st.one_of(st.text(max_size=8), st.sampled_from(TRAPS))
values = st.recursive(
    st.one_of(texts, st.booleans(), st.integers(-(2**63), 2**63 - 1)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)


@given(values)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert parse_text(write_yaml(value), ".yaml") == value
    assert parse_text(write_json(value), ".json") == value


@pytest.mark.parametrize("text", TRAPS)
def test_a_trap_in_quotes_is_text(text: str) -> None:
    assert parse_text(write_yaml({text: [text]}), ".YML") == {text: [text]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: yes", "`yes` in line 1"),
        ("a:\n- 1\n- No", "`No` in line 3"),
        ("a: 1.0", "`1.0`"),
        ("a: 010", "`010`"),
        ("a: 1e3", "`1e3`"),
        ("a: 12:30", "`12:30`"),
        ("a: 2026-01-01", "`2026-01-01`"),
        ("a:", "a missing value"),
        ("a: ~", "`~`"),
        ("a: &x [1]\nb: *x", "anchor or alias in line 1"),
        ("b: *x", "anchor or alias"),
        ("a: 1\na: 2", "the key `a` twice in one object in line 2"),
        ("<<: {a: 1}", "`<<`"),
        ("1: a", "a key that is not text"),
        ("? [a]\n: b", "a key that is not text"),
        ("--- 1\n--- 2", "a second document in line 2"),
        ("a: !!python/object/apply:os.system [id]", "the tag `tag:yaml.org,2002:python/object/apply:os.system`"),
        ("a: !!str 1", "the tag"),
        ("", "it is empty"),
        ("# only a note\n", "it is empty"),
        ("a: [", "it is not YAML"),
        ("a: 9999999999999999999", "more than 64 bits"),
        ("[" * 500, "more than 64 levels"),
        ("[" * 5_000, "level"),  # PyYAML has a limit of its own from 6.0.4
        ("{a: " * 70 + "1" + "}" * 70, "more than 64 levels"),
    ],
)
def test_yaml_that_readers_take_differently_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=r"^it ") as e:
        parse_text(text.encode(), ".yaml")
    assert said in str(e.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1, "a": 2}', "field `a` is repeated"),
        (b'{"a": "' + b"x" * 20_000 + b'", "b": {"c": 1, "c": 2}}', "field `c` is repeated"),
        (b'{"a": 1,\n "b": 2,\n}', "it is not JSON: trailing comma in object in line 3"),
        (b"NaN", "it is not JSON: invalid character in line 1"),
        (b"1e999", "number out of range"),
        (b"1" * 5_000, "it is not JSON"),
        (b"[" * 200_000, "nested too deep"),
        (b"[" * 66 + b"]" * 66, "more than 64 levels"),
        (b"9" * 20, "more than 64 bits"),
        (b'"\\ud800\\ud800"', "surrogate"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ('{"a": 1}'.encode("utf-16"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-be"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-le"), "UTF-16"),
        (gzip.compress(b"{}"), "it is compressed"),
        (b"PK\x03\x04\x14", "it is compressed"),
        (b"\n<!DOCTYPE html><html>", "a page of HTML, as a login page is"),
        (b"<html>", "a page of HTML"),
        (b"<?xml version='1.0'?>", "it is XML"),
        (b"\xff", "it is not UTF-8"),
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b" " * (LARGEST + 1), "it is larger than 64 MB"),
    ],
)
def test_json_without_a_single_value_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(InvalidInput) as e:
        parse_text(content, ".json")
    assert said in str(e.value)


def test_aliases_that_multiply_are_seen_before_they_do() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    with pytest.raises(InvalidInput, match="anchor"):
        parse_text(bomb.encode(), ".yaml")


def test_yaml_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    for do in (lambda: parse_text(b"a: 1", ".yaml"), lambda: write_yaml({})):
        with pytest.raises(InvalidInput, match=r"pip install 'ranger-cdap\[yaml\]'"):
            do()
    assert parse_text(b'{"a": 1}', ".json") == {"a": 1}
