"""Groups of users: those passed, those of Ranger's user store, and those of hooks (architecture.md, decision 14)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

import msgspec

from ranger_cdap.errors import GroupLookupFailed

logger = logging.getLogger(__name__)

GroupHook = Callable[..., list[object]]
"""The hook `ranger_cdap_groups`: takes `user` and returns one answer per plugin."""


class Membership(msgspec.Struct, frozen=True):
    """Groups of a user; `known` is false if a lookup failed, so that there may be more."""

    groups: frozenset[str]
    known: bool = True


class GroupResolver(msgspec.Struct, frozen=True):
    """Resolver of the groups of all users in one request, each looked up once.

    `passed` are the caller's groups by user; `stored` returns those of Ranger's user store.
    """

    passed: Mapping[str, Iterable[str]]
    stored: Callable[[str], frozenset[str]]
    hook: GroupHook | None = None
    found: dict[str, Membership] = {}

    def membership(self, person: str) -> Membership:
        """Return the user's groups from all sources; a hook that raises or returns no names leaves them unknown."""
        membership = self.found.get(person)
        if membership is None:
            membership = self.found[person] = self._look_up(person)
        return membership

    def _look_up(self, person: str) -> Membership:
        groups = frozenset(self.passed.get(person, ()))
        if stored := self.stored(person):
            groups |= stored
        if self.hook is None:
            return Membership(groups)
        try:
            supplied = frozenset(group for answer in self.hook(user=person) for group in _names(answer))
        except GroupLookupFailed as e:  # whose source has logged it, once and not per decision
            logger.debug("group lookup failed: %s", e)
            return Membership(groups, known=False)
        except Exception as e:
            logger.warning(
                "group lookup failed: %s; treating the user as a member of every group named in a deny",
                type(e).__name__,
            )
            return Membership(groups, known=False)
        return Membership(groups | supplied)


def _names(answer: object) -> Iterable[str]:
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise TypeError("groups are a collection of names")
    names = list(answer)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("groups are names")
    return names
