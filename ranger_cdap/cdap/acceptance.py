"""The acceptance list: tests for requirements that are more than a row, and requirements CDAP cannot enforce."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

import msgspec


class Unasked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requirements that cannot be enforced because CDAP never asks, with the reason."""

    reason: str
    ids: list[str]


class Acceptance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tests of requirements that are more than a row, remarks that require nothing, and what CDAP never asks."""

    shown_by: dict[str, list[str]]
    remarks: dict[str, str]
    not_enforceable: list[Unasked]


@cache
def load_acceptance() -> Acceptance:
    """Return the list of `acceptance.toml`."""
    text = files(__package__).joinpath("acceptance.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Acceptance)
