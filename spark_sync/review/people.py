"""Users of a review: those of a file, or those whom policies reach by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ranger_cdap.authz.groups import GroupHook, GroupResolver
from ranger_cdap.authz.policy_index import readable_policies
from ranger_cdap.config.named_file import read_named
from ranger_cdap.engine import EngineOptions
from ranger_cdap.engine.view import OWNER_MACRO, PUBLIC, USER_MACRO, privileged
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.refresh.documents import Documents, pieces
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger_model.decode import (
    decode_roles,
    decode_service_policies,
    decode_user_store,
)
from ranger_cdap.ranger_model.download import UserStore
from ranger_cdap.ranger_model.json_text import decode

_NO_NAMES = frozenset({"", USER_MACRO, OWNER_MACRO})


@dataclass(frozen=True, slots=True)
class ReviewedUser:
    """A user and their groups; `groups_known` is false if a lookup failed, so that there may be more."""

    name: str
    groups: frozenset[str]
    groups_known: bool


class _UserLine(msgspec.Struct, forbid_unknown_fields=True):
    user: str
    groups: list[str] = []


def read_users(path: Path) -> dict[str, frozenset[str]]:
    """Read the users of a file with their groups.

    A line is a name; in a `.jsonl` file it is `{"user": "alice", "groups": ["etl"]}`. A user on several lines has the
    groups of all.

    Raises:
        InvalidInput: it cannot be read, is not UTF-8, lists no user, or a line is not a user.
    """
    try:
        text = read_named(path).decode()
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else type(e).__name__
        raise InvalidInput(f"the users in `{path}` cannot be read: {reason}") from None
    users: dict[str, frozenset[str]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        name, groups = _described(path, number, line) if path.suffix == ".jsonl" else (line.strip(), frozenset[str]())
        users[name] = users.get(name, frozenset()) | groups
    if not users:
        raise InvalidInput(f"`{path}` lists no users, so there is nothing to review")
    return users


def named_users(documents: Documents) -> frozenset[str]:
    """Return the users and the known members of groups that policies and roles name, and super users.

    Users whom policies reach only through `public` or `{USER}` are left out: they cannot be enumerated.
    """
    policies = decode_service_policies(b"".join(pieces(documents.policies)))
    store = UserStore() if documents.users is None else decode_user_store(documents.users)
    special = privileged(EngineOptions(), policies.service_config)
    users, groups = set(special.super_users), set(special.super_groups)
    for policy in readable_policies(policies):
        for item in (
            *policy.policy_items,
            *policy.deny_policy_items,
            *policy.allow_exceptions,
            *policy.deny_exceptions,
        ):
            users.update(item.users)
            groups.update(item.groups)
    for role in decode_roles(documents.roles).ranger_roles:
        users.update(member.name for member in role.users)
        groups.update(member.name for member in role.groups)
    groups.discard(PUBLIC)
    members = (user for user, of in store.user_group_mapping.items() if not groups.isdisjoint(of))
    return frozenset((*users, *members)) - _NO_NAMES


def people(
    users: Iterable[str], passed: Mapping[str, frozenset[str]], snapshot: Snapshot, hook: GroupHook | None
) -> tuple[ReviewedUser, ...]:
    """Return the users, sorted, with the names and groups the `Authorizer` would use; each is looked up once.

    Raises:
        InvalidInput: the name of a user is uncertain.
    """
    lookup = GroupResolver.of(snapshot, hook, passed)
    found = [lookup.membership(user) for user in sorted(set(users))]
    if refused := [one for one in found if one.refused]:
        raise InvalidInput(f"nothing is known of `{refused[0].user}`: {refused[0].refused}")
    return tuple(ReviewedUser(one.user, one.groups, one.known) for one in found)


def _described(path: Path, number: int, line: str) -> tuple[str, frozenset[str]]:
    described = decode(
        line, _UserLine, lambda why: InvalidInput(f"`{path}`, line {number}: {why}; nothing was reviewed")
    )
    if not described.user:
        raise InvalidInput(f"`{path}`, line {number}: the user has no name; nothing was reviewed")
    return described.user, frozenset(described.groups)
