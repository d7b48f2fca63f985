"""The accesses of a creator: those of the profile, changed by the plugins' hook `ranger_cdap_resultant`."""

from __future__ import annotations

from collections.abc import Callable, Set

import pluggy

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins.manager import plugin_manager

Resultant = Callable[[EntityId, str, tuple[str, ...]], tuple[str, ...]]
"""The access types that a user gets on an entity they created, where the profile gives the last argument."""


def as_the_profile_says(_entity: EntityId, _user: str, accesses: tuple[str, ...]) -> tuple[str, ...]:
    """No plugin has a say."""
    return accesses


def installed_resultant() -> Resultant:
    """Return the accesses after the installed plugins.

    Raises:
        PluginError: a plugin cannot be loaded.
    """
    return resultant_of(plugin_manager())


def resultant_of(manager: pluggy.PluginManager) -> Resultant:
    """What the plugins of a manager make of it; each is asked about what the profile gives, so no order matters.

    An access one plugin removes is not granted, whatever another adds. The function raises PluginError where a plugin
    raises, or answers with anything but some of the four access types.
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
