"""Results of a review; the answers themselves are in its Parquet files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamespaceSummary:
    """Counts of a namespace, `None` for entities in none: `users` have any access at all, the rest counts answers.

    `allowed` are those that allow, by action in `read`, `write`, `admin` and `execute`; `conditional` are answers that
    depend on a condition, a time or a tag.
    """

    namespace: str | None
    entities: int
    users: int
    answers: int
    allowed: int
    read: int
    write: int
    admin: int
    execute: int
    conditional: int


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """Result of a review: version of the policies, time (epoch milliseconds), counts, and location of the answers."""

    instance: str
    policy_version: int
    now: int
    entities: int
    users: int
    answers: int
    allowed: int
    namespaces: tuple[NamespaceSummary, ...]
    answers_path: str
    summary_path: str
