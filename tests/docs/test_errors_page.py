"""The tree of errors, of which `docs/reference/errors.md` is made, says of every error what to do."""

from __future__ import annotations

import re

import pytest
from pages.errors import kinds

from ranger_cdap.errors import RangerCdapError

KINDS = list(kinds())


def everything_below(root: type[RangerCdapError]) -> set[type[RangerCdapError]]:
    return {root}.union(*map(everything_below, root.__subclasses__()))


def test_a_code_is_of_one_class() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(codes) == len(set(codes)) > 30
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)


def test_no_code_is_missing() -> None:
    assert {kind.code for kind in everything_below(RangerCdapError)} == {kind.code for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_every_code_has_a_remedy_of_its_own(kind: type[RangerCdapError]) -> None:
    assert re.fullmatch(r"[A-Z].*\.", vars(kind)["remedy"])
