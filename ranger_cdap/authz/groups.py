"""The name and the groups that a user is decided by: groups passed, of Ranger's user store, and of hooks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Self

import msgspec

from ranger_cdap.engine import AS_GIVEN, AccessRequest, NameTransformation, UncertainName
from ranger_cdap.errors import GroupLookupFailed
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot

logger = logging.getLogger(__name__)

GroupHook = Callable[..., list[object]]
"""The hook `ranger_cdap_groups`: takes `user` and returns one answer per plugin."""


class Membership(msgspec.Struct, frozen=True, gc=False):
    """A user as Ranger names them, and their groups (architecture.md, decision 14).

    `known` is false if a lookup failed, so that there may be more groups. `refused` is the reason why nothing is
    decided for the user, whose name in Ranger is not certain; empty without one.
    """

    user: str
    groups: frozenset[str]
    known: bool = True
    refused: str = ""


class GroupResolver(msgspec.Struct, frozen=True):
    """Resolver of the names and groups of all users in one request, each looked up once.

    `passed` are the caller's groups by user; `stored` returns those of Ranger's user store.
    """

    passed: Mapping[str, Iterable[str]]
    stored: Callable[[str], frozenset[str]]
    hook: GroupHook | None = None
    names: NameTransformation = AS_GIVEN
    found: dict[str, Membership] = {}

    @classmethod
    def of(cls, snapshot: Snapshot, hook: GroupHook | None, passed: Mapping[str, Iterable[str]] = {}) -> Self:
        """Return the resolver for the policies in effect."""
        engine = snapshot.engine
        return cls(passed, snapshot.groups_of, hook, engine.names if engine is not None else AS_GIVEN)

    def membership(self, person: str) -> Membership:
        """Return the user's groups from all sources; a hook that raises or returns no names leaves them unknown."""
        found = self.found.get(person)
        if found is None:
            found = self.found[person] = self._look_up(person)
        return found

    def completed(self, request: AccessRequest) -> AccessRequest:
        """Return the request with its user as Ranger names them, and all their known groups."""
        if request.user is None:
            groups, certain = self.names.groups(request.groups)
            refused = "" if self.names.users.convert is None else "the request names no user"
            return msgspec.structs.replace(request, groups=groups, groups_known=certain, refused=refused)
        found = self.membership(request.user)
        return msgspec.structs.replace(
            request, user=found.user, groups=found.groups, groups_known=found.known, refused=found.refused
        )

    def _look_up(self, person: str) -> Membership:
        try:
            user = self.names.user(person)
        except UncertainName as e:
            return Membership(person, frozenset(), known=False, refused=f"the name is uncertain: {e}")
        count = self.names.stored_groups
        stored = self.stored(user) if count != "ignored" else frozenset()
        if count == "only":
            return Membership(user, stored)
        supplied, known = self._supplied(person)
        groups, certain = self.names.groups(supplied)
        return Membership(user, groups | stored if stored else groups, known and certain)

    def _supplied(self, person: str) -> tuple[frozenset[str], bool]:
        """Return the groups passed and those of hooks, and whether these are all."""
        groups = frozenset(self.passed.get(person, ()))
        if self.hook is None:
            return groups, True
        try:
            return groups.union(*(_names(answer) for answer in self.hook(user=person))), True
        except GroupLookupFailed as e:  # whose source has logged it, once and not per decision
            logger.debug("group lookup failed: %s", e)
        except Exception as e:
            logger.warning(
                "group lookup failed: %s; treating the user as a member of every group named in a deny",
                type(e).__name__,
            )
        return groups, False


def _names(answer: object) -> Iterable[str]:
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise TypeError("groups are a collection of names")
    names = list(answer)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("groups are names")
    return names
