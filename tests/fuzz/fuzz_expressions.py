"""Scripts of policies: each is refused, or evaluated without failing.

Law: a script ends in bounded time, and gives the same again; one that fails does not hold.
"""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import ConditionOutcome
from ranger_cdap.expressions import NotInSubset
from ranger_cdap.expressions.script_condition import read_condition
from tests.expressions.fixtures import FULL
from tests.fuzz.harness import QUIET, drive

WORDS: Final = (
    "USER", "REQ", "TAG", "TAGS", "RES", "UGNAMES", "URNAMES", "UGA", "ctx", "IS_IN_GROUP", "IS_ACCESS_TIME_AFTER",
    "HAS_TAG", "GET_TAG_ATTR", "USER.dept", "USER._name", "REQ.accessType", "TAG.level", "RES.namespace", "[[", "]]",
    "intersects", "includes", "length", "null", "undefined", "true", "false", "this", "new", "function", "=>", "(", ")",
    "[", "]", "{", "}", ".", ",", ";", "==", "===", "!=", "<", ">", "&&", "||", "!", "+", "-", "*", "/", "%", "?", ":",
    "'a'", '"x"', "`${1}`", "/(a+)+$/", "0", "1e999", "//", "/*", "*/", "\\u0055SER", "\n", "while", "for", "eval",
    "constructor", "__proto__", "\0", "“",
)  # fmt: skip

scripts: Final = st.one_of(
    st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=14).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=14).map("".join),
    st.text(max_size=60),
)


@QUIET
@given(scripts)
def LAW(script: str) -> None:  # noqa: N802
    """Hold the law for one script."""
    try:
        condition = read_condition([script], {})
    except NotInSubset as e:
        condition, refused = None, str(e)
    if condition is None:
        assert refused.isprintable()
        return
    outcome = condition(FULL)
    assert isinstance(outcome, ConditionOutcome)
    assert condition(FULL) is outcome


if __name__ == "__main__":
    drive(LAW)
