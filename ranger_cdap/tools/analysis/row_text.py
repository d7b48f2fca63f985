"""Text of rows: principals, resources and conditions as a person reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ranger_cdap.engine.view import ALL_USERS, ANY_USER, OWNER, OWNER_MACRO, PUBLIC, USER_MACRO, Path, ResourceMatcher
from ranger_cdap.ranger_model.policy import policy_text
from ranger_cdap.tools.analysis.symbols.symbolic import SymbolicItem, SymbolicPolicy

SIDES: Final[Mapping[str, str]] = {
    "policyItems": "allow",
    "denyPolicyItems": "deny",
    "allowExceptions": "allow exception",
    "denyExceptions": "deny exception",
}
"""Ranger's names of the lists of items, and those for people."""

MAX_EXCEPTIONS: Final = 10
"""Denials that a row names; it says how many more there are."""
_USERS: Final = {USER_MACRO: "any user", OWNER_MACRO: "the owner"}


def principals(item: SymbolicItem) -> tuple[str, ...]:
    """Return whom an item names: `user alice`, `group etl`, `role ops`, `everyone`."""
    if item.document is None or PUBLIC in item.document.groups:
        return ("everyone",)
    users = (_USERS.get(user, f"user {user}") for user in item.document.users)
    groups = (f"group {group}" for group in item.document.groups)
    roles = (f"role {role}" for role in item.document.roles)
    return tuple(dict.fromkeys((*users, *groups, *roles)))


def names_of(principal: str) -> tuple[str, ...]:
    """Return the names of a principal in `principal_set` of the engine, from its text in `principals`.

    An item for the owner is also for a user of the name `{OWNER}`.
    """
    known = {"everyone": (ALL_USERS,), "any user": (ANY_USER,), "the owner": (OWNER, "u:" + OWNER_MACRO)}
    kind, _, name = principal.partition(" ")
    return known.get(principal) or (f"{kind[0]}:{name}",)


def named(policy: SymbolicPolicy) -> str:
    """Return `policy 7 "readers" (zone finance)`."""
    return policy_text(policy.policy.id, policy.policy.name, policy.policy.zone)


def item_named(policy: SymbolicPolicy, item: SymbolicItem) -> str:
    """Return `policy 7 "readers", deny item 2 (group interns)`."""
    return f"{named(policy)}, {SIDES[item.side]} item {item.number} ({', '.join(principals(item))})"


def conditions(policy: SymbolicPolicy, item: SymbolicItem, *, ignored: bool) -> tuple[str, ...]:
    """Return the conditions under which an item applies; those of items are `ignored` for `_admin`."""
    own = () if ignored else item.conditions
    return tuple(dict.fromkeys(condition.text for condition in (*policy.conditions, *own)))


@dataclass(frozen=True, slots=True)
class LevelText:
    """Values of a level; with `excludes`, all others."""

    values: tuple[str, ...]
    excludes: bool = False


def level_text(element: ResourceMatcher | None) -> LevelText:
    """Return the values of a level; `*` if all."""
    return (
        LevelText(("*",))
        if element is None or (element.match_any and not element.excludes)
        else LevelText(tuple(element.values) or ("*",), element.excludes)
    )


def resource_text(path: Path, levels: Sequence[LevelText]) -> str:
    """Return a resource of any service as `table sales/orders.*`; a level of several values is in brackets."""
    return f"{path[-1]} " + "/".join(map(_level, levels)) if path else "the root"


def _level(level: LevelText) -> str:
    text = level.values[0] if len(level.values) == 1 else f"[{', '.join(level.values)}]"
    return f"not {text}" if level.excludes else text


Spelling: TypeAlias = Callable[[Path, Sequence[LevelText]], str]
"""Return a resource as text: `resource_text`, or as the people of a service write it."""
