"""The results of a review, for people and for programs; the answers themselves are in its Parquet files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamespaceSummary:
    """One namespace, None for what is in none: `users` have any access at all, the rest counts answers.

    `allowed` are those that allow, by action in `read`, `write`, `admin` and `execute`; `conditional` are answers of
    which a condition, a time or a tag was looked at.
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
    """One review: by which policies, as of when (epoch milliseconds), how much was asked, and where the answers are."""

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
