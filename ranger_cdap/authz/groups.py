"""Groups of users: those passed, those of Ranger's user store, and those of hooks (architecture.md, decision 14)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

logger = logging.getLogger(__name__)

GroupHook = Callable[..., list[object]]
"""The hook `ranger_cdap_groups`: takes `user`, gives a list with the answer of each plugin."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The groups of a person; `known` is false where a look-up failed, so that there may be more of them."""

    groups: frozenset[str]
    known: bool = True


class GroupResolver:
    """The groups of everybody who takes part in one question, each looked up once."""

    def __init__(
        self,
        passed: Mapping[str, Iterable[str]],
        stored: Callable[[str], frozenset[str]],
        hook: GroupHook | None = None,
    ) -> None:
        """`passed` are groups by person as the caller knows them; `stored` gives those of Ranger's user store."""
        self._passed = passed
        self._stored = stored
        self._hook = hook
        self._found: dict[str, Membership] = {}

    def membership(self, person: str) -> Membership:
        """The person's groups from everywhere; a hook that raises, or answers no names, leaves them unknown."""
        found = self._found.get(person)
        if found is None:
            found = self._found[person] = self._look_up(person)
        return found

    def _look_up(self, person: str) -> Membership:
        groups = frozenset(self._passed.get(person, ())) | self._stored(person)
        if self._hook is None:
            return Membership(groups)
        try:
            supplied = frozenset(group for answer in self._hook(user=person) for group in _names(answer))
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
