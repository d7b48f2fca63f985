"""What Java's strings do: the case that it folds, the letters it may miss, the order of its sets, its rounding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine.compiled.java import fold, odd_letters, round_half_up, utf16_units

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


SAME = [
    ("a", "A"),
    ("é", "É"),
    ("\u0131", "I"),
    ("\u017f", "s"),
    ("\u0130", "i"),
    ("\u00b5", "\u039c"),
    ("\u212a", "k"),
]
OTHER = [("a", "b"), ("é", "e"), ("\U00010400", "\U00010428"), ("ß", "ss")]


@pytest.mark.parametrize(
    ("one", "other", "same"), [*((*pair, True) for pair in SAME), *((*pair, False) for pair in OTHER)]
)
def test_texts_that_java_compares_as_equal_ignoring_case(one: str, other: str, same: bool) -> None:
    assert (fold(one) == fold(other)) is same


@given(st.text(max_size=20))
def test_java_counts_units(text: str) -> None:
    assert len(utf16_units(text)) == sum(1 if c <= "\uffff" else 2 for c in text)
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(("number", "rounded"), [(0.0, 0), (0.49, 0), (0.5, 1), (1.5, 2), (2.5, 3), (2.4, 2)])
def test_java_rounds_a_half_up(number: float, rounded: int) -> None:
    assert round_half_up(number) == rounded
