"""The acceptance list: what meets the requirements that are more than a row, and what CDAP lets no one enforce."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

import msgspec


class Unasked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requirements that CDAP lets nobody enforce, and why."""

    reason: str
    ids: list[str]


class Acceptance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tests that show what is more than a row; what only remarks on something; what CDAP never asks."""

    shown_by: dict[str, list[str]]
    remarks: dict[str, str]
    not_enforceable: list[Unasked]


@cache
def load_acceptance() -> Acceptance:
    """The list, as it stands in `acceptance.toml`."""
    text = files(__package__).joinpath("acceptance.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Acceptance)
