"""Access types of a creator: those of the profile, changed by the plugins' hook `ranger_cdap_resultant`."""

from __future__ import annotations

from collections.abc import Callable, Set

import pluggy

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins.manager import provided

Resultant = Callable[[EntityId, str, tuple[str, ...]], tuple[str, ...]]
"""Returns the access types of a user on an entity they created; the last argument are those of the profile."""


def resultant_plugins(manager: pluggy.PluginManager) -> str:
    """Return the names and versions of a manager's plugins that may change the access types of creators."""
    found = {f"{one.plugin} {one.version}" for one in provided(manager, ("ranger_cdap_resultant",))}
    return ", ".join(sorted(found))


def resultant_of(manager: pluggy.PluginManager) -> Resultant:
    """Return the function that applies a manager's plugins; each is given the profile's accesses, in any order.

    An access that one plugin removes is not granted, whatever another adds. The function raises PluginError if a plugin
    raises, or returns anything but some of the four access types.
    """

    def resultant(entity: EntityId, user: str, accesses: tuple[str, ...]) -> tuple[str, ...]:
        try:
            answers = manager.hook.ranger_cdap_resultant(entity=entity, user=user, accesses=accesses)
        except Exception as e:
            raise PluginError(f"a plugin's `ranger_cdap_resultant` failed with {type(e).__name__}") from e
        given, added, removed = set(accesses), set[str](), set[str]()
        for answer in answers:
            wanted = _checked(answer)
            added |= wanted - given
            removed |= given - wanted
        return tuple(access for access in ACCESS_TYPES if access in (given | added) - removed)

    return resultant


def _checked(answer: object) -> set[str]:
    if not isinstance(answer, tuple | list | Set):
        raise PluginError(f"a plugin's `ranger_cdap_resultant` answered `{type(answer).__name__}`, not access types")
    if not all(isinstance(access, str) and access in ACCESS_TYPES for access in answer):
        raise PluginError(f"a plugin's `ranger_cdap_resultant` gives something that is not {', '.join(ACCESS_TYPES)}")
    return set(answer)
