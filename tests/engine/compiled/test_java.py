"""What Java does with texts and numbers: the letters it may miss, the order of its sets, its units, its rounding."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ranger_cdap.engine.compiled.java import fold, hash_order, odd_letters, round_half_up, utf16_units

ODD = [
    # a text, and its letters that Java's look-up folds otherwise than its comparison
    ("aZ~", ""),
    ("Éé", ""),
    ("\u0130", ""),
    ("\u0131", "\u0131"),
    ("\u017f", "\u017f"),
    ("\u00b5", "\u00b5"),
    ("a\u0131\u017fb", "\u0131\u017f"),
    ("\U00010400", ""),  # two units, which Java does not fold
]


@pytest.mark.parametrize(("text", "odd"), ODD)
def test_letters_that_javas_look_up_may_miss(text: str, odd: str) -> None:
    assert odd_letters(text) == odd


@given(st.lists(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=("Cs",)), max_size=6), max_size=30))
@example([f"{n}" for n in range(100, 112)])  # as many as a table of 16 holds
@example([f"{n}" for n in range(100, 113)])
def test_names_come_in_the_order_of_javas_hash_codes(names: list[str]) -> None:
    distinct = list(dict.fromkeys(names))
    size = next(16 << n for n in range(9) if len(distinct) <= (16 << n) * 3 // 4)

    def bucket(name: str) -> int:
        code = sum(ord(c) * 31 ** (len(name) - 1 - n) for n, c in enumerate(name)) % 2**32
        return (code ^ (code >> 16)) % size

    assert hash_order(names) == tuple(sorted(distinct, key=bucket))


@given(st.text(max_size=20))
def test_java_counts_units(text: str) -> None:
    assert len(utf16_units(text)) == sum(1 if c <= "\uffff" else 2 for c in text)
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(("number", "rounded"), [(0.0, 0), (0.49, 0), (0.5, 1), (1.5, 2), (2.5, 3), (2.4, 2)])
def test_java_rounds_a_half_up(number: float, rounded: int) -> None:
    assert round_half_up(number) == rounded
