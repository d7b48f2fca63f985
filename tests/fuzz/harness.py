"""What the harnesses share: documents with odd parts, and how a fuzzer drives a law.

A harness is a law over drawn inputs, `LAW`. Hypothesis runs it in our tests; Atheris, where it is installed,
gives the bytes that Hypothesis draws from, and so finds its way by the code that they reach.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

INPUTS: Final = int(os.environ.get("RANGER_CDAP_FUZZ_INPUTS", "2000"))
"""Inputs that our tests draw for each law."""

QUIET: Final = settings(max_examples=INPUTS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
"""For all laws: how long an input takes is the fuzzer's business."""

ODD: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1.5, 2**31, 2**63, -(2**63) - 1, 1e308, "", "*", "?", "{USER}", "\0", "\ud800", "x" * 5_000,
    "../../etc/passwd", "\u202e", [], {}, [None], [[[]]], {"": None},
)  # fmt: skip
"""Values that stand where they should not."""

anything: Final = st.recursive(
    st.sampled_from(ODD) | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def _changed(document: Any, draw: st.DrawFn) -> Any:
    """Return the document with one part left out, doubled or replaced."""
    if not isinstance(document, dict | list) or not document or draw(st.integers(0, 9)) == 0:
        return draw(anything)
    keys = sorted(document) if isinstance(document, dict) else range(len(document))
    key = draw(st.sampled_from(keys))
    copy: Any = document.copy()
    match draw(st.integers(0, 5)):
        case 0:
            del copy[key]
        case 1 if isinstance(copy, list):
            copy += [copy[key]] * draw(st.integers(1, 40))
        case 2 if isinstance(copy, dict):
            copy[draw(st.text(max_size=8))] = copy[key]
        case _:
            copy[key] = _changed(copy[key], draw)
    return copy


@st.composite
def spoiled(draw: st.DrawFn, documents: Iterable[Any]) -> bytes:
    """Draw the JSON text of one of these documents with some parts changed; sometimes no JSON at all."""
    document = draw(st.sampled_from(list(documents)))
    for _ in range(draw(st.integers(0, 4))):
        document = _changed(document, draw)
    text = json.dumps(document, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    return draw(torn(text))


@st.composite
def torn(draw: st.DrawFn, text: bytes) -> bytes:
    """Draw a text as it is, and one time in four with some bytes cut out, put in or doubled."""
    if draw(st.integers(0, 3)):
        return text
    for _ in range(draw(st.integers(1, 3))):
        start, length = draw(st.integers(0, len(text))), draw(st.integers(0, 30))
        middle = draw(st.binary(max_size=8) | st.just(text[start : start + length] * 2))
        text = text[:start] + middle + text[start + length :]
    return text


def drive(law: Callable[[], None]) -> None:
    """Let Atheris search for an input that breaks a law."""
    import atheris  # type: ignore[import-not-found]

    atheris.instrument_all()
    atheris.Setup(sys.argv, law.hypothesis.fuzz_one_input)  # type: ignore[attr-defined]
    atheris.Fuzz()
