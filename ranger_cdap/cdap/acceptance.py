"""The acceptance list: how each requirement is met, and the reasons where CDAP's own calls do not decide it."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec


class UndecidedReason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Reason why CDAP's calls do not decide operations (`stream.*`), or the entities in a role (`*.deploy/artifact`).

    `coverage` corrects what follows from the tables, by a fact about CDAP that no table has.
    """

    operations: list[str]
    reason: str
    coverage: Literal["", "approximated", "never asked"] = ""


class Acceptance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tests of requirements that are more than a row, remarks that require nothing, and what CDAP asks of them.

    `about`: the operations that requirements without rows are about. `no_check`: those that no check could decide.
    `asked`, `filtered` and `roles` are facts about CDAP 6.11 that `checks.toml` has no place for.
    """

    shown_by: dict[str, list[str]]
    remarks: dict[str, str]
    about: dict[str, list[str]]
    no_check: dict[str, str]
    asked: list[str]
    filtered: list[str]
    roles: dict[str, dict[str, str]]
    reasons: list[UndecidedReason]


@cache
def load_acceptance() -> Acceptance:
    """Return the list of `acceptance.toml`."""
    text = files(__package__).joinpath("acceptance.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Acceptance)
