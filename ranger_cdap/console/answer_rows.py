"""Answers as pages show them: the very rows of the commands."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ranger_cdap.authz.explanation import Explanation
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.engine import Problem
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.questions.access_holders import AccessHolder


class AskAnswer(msgspec.Struct, frozen=True):
    """A permission check, the privileges of each alternative with their reasons, and what would reverse it."""

    answer: Answer
    alternatives: Sequence[Sequence[Explanation]]
    changes: Sequence[str]
    index: PolicyIndex
    unknown: Sequence[UnknownName]


class WhoAnswer(msgspec.Struct, frozen=True):
    """Holders of access to an entity, or rows of a pattern; the other sequence is empty."""

    entity: EntityId | EntityPattern
    accesses: Sequence[str]
    index: PolicyIndex
    notes: Sequence[str]
    unknown: Sequence[UnknownName]
    holders: Sequence[AccessHolder] = ()
    rows: Sequence[AccessRow] = ()


class WhatAnswer(msgspec.Struct, frozen=True):
    """All access of a user, or by groups or a role alone, and the access that denials and exceptions take away."""

    heading: str
    groups: Sequence[str]
    roles: Sequence[str]
    allowed: Sequence[AccessRow]
    denied: Sequence[AccessRow]
    notes: Sequence[str]
    unknown: Sequence[UnknownName]


class ImpactAnswer(msgspec.Struct, frozen=True):
    """Access that a file of policies gains and loses."""

    service: str
    rows: Sequence[AccessRow]
    notes: Sequence[str]

    def changed(self, *, gained: bool) -> list[AccessRow]:
        """Return the rows that are gained, or those that are lost."""
        return [row for row in self.rows if row.gained is gained]


class StatusAnswer(msgspec.Struct, frozen=True):
    """The policies, how fresh they are and what is wrong with them, and the configuration of decisions."""

    service: str
    state: str
    decides: bool
    reason: str
    version: int | None
    confirmed: str
    cache_problem: str
    problem_count: int
    problems: Sequence[Problem]
    instance: str
    profile: str
    enforcement: str
    everything_enforced: bool
    master: str
