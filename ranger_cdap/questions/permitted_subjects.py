"""Subjects to evaluate in a search: those that policies and roles name, and the users of Ranger's user store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.compiled.items import PUBLIC
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.decide.acl import NamedPrincipals, named_principals_of
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.questions.policy_index import users_of
from ranger_cdap.ranger_model.decode import decode_user_store


class StoredUsers:
    """Reader of the names in a user store; each download is read once. Safe to share between threads."""

    def __init__(self) -> None:
        self._read: tuple[bytes | None, frozenset[str]] = (None, frozenset())

    def of(self, documents: Documents | None) -> frozenset[str]:
        """Return all users of the user store; none if it was not downloaded."""
        data = documents.users if documents is not None else None
        known, names = self._read
        if data is None:
            return frozenset()
        if known is not data:
            names = users_of(decode_user_store(data))
            self._read = data, names
        return names


def known_users(engine: PolicyEngine, stored: Set[str], others: Iterable[str] = ()) -> list[str]:
    """Return the users that policies in effect and roles name, those of the user store, and `others`, sorted."""
    roles = engine.state.roles
    named = _named(engine).users | roles.users_of(roles.names) | stored
    return sorted({*named, *others} - {""})


def known_groups(engine: PolicyEngine) -> list[str]:
    """Return the groups that policies and roles name, and the group of all users, sorted."""
    roles = engine.state.roles
    return sorted((_named(engine).groups | roles.groups_of(roles.names) | {PUBLIC}) - {""})


def known_roles(engine: PolicyEngine) -> list[str]:
    """Return the roles that policies name or that are defined, sorted."""
    return sorted((_named(engine).roles | engine.state.roles.names) - {""})


def _named(engine: PolicyEngine) -> NamedPrincipals:
    return named_principals_of(_policies(engine), engine.state.privileged, engine.state.roles)


def _policies(engine: PolicyEngine) -> Iterator[CompiledPolicy]:
    state = engine.state
    for repository in (state.default, *state.zones.values()):
        for entry in repository.all():
            yield entry.compiled
    if state.tag_repository is not None:
        for entry in state.tag_repository.entries:
            yield entry.compiled
