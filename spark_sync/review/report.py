"""Results of a review; the answers themselves are in its Parquet files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamespaceSummary:
    """Counts of a namespace, `None` for entities in none: `users` have any access at all, the rest counts answers.

    `allowed` are those that allow, by action in `read`, `write`, `admin` and `execute`; `conditional` are answers that
    depend on a condition, a time or a tag. `gained`, `lost` and `changed` are those of a comparison, None without one.
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
    gained: int | None = None
    lost: int | None = None
    changed: int | None = None


@dataclass(frozen=True, slots=True)
class ReviewComparison:
    """Entities and users that are new or gone since a former review, each with the first names.

    `changes_path` is the location of the answers that changed; if `with_conditions` is false, the former review was
    written without what its answers depend on.
    """

    former: str
    changes_path: str
    with_conditions: bool
    new_entities: int
    new_entity_names: tuple[str, ...]
    gone_entities: int
    gone_entity_names: tuple[str, ...]
    new_users: int
    new_user_names: tuple[str, ...]
    gone_users: int
    gone_user_names: tuple[str, ...]


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
    compared: ReviewComparison | None = None
