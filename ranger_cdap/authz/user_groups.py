"""The groups of one user by each source: Ranger's user store, `[groups]`, and plugins, with the time each takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.config import GroupSettings, PluginSettings, Settings
from ranger_cdap.errors import InvalidInput, RangerCdapError
from ranger_cdap.plugins.manager import ConfiguredGroups


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """Groups of a user by one source; `knows_user` is false if it has no such user, None if that is unknown."""

    source: str
    groups: tuple[str, ...]
    milliseconds: float = 0.0
    knows_user: bool | None = True
    problem: str = ""


def groups_by_source(authorizer: Authorizer, settings: Settings, user: str) -> Iterator[SourceAnswer]:
    """Yield the answer of each source that counts for the user; no answer of the past is used.

    Raises:
        InvalidInput: the name is empty.
    """
    if not user:
        raise InvalidInput("the user has no name; name one, like alice")
    yield _of_ranger(authorizer, settings.plugin, user)
    hook = authorizer.decider.group_hook
    for found in hook.get_hookimpls() if hook is not None else ():  # type: ignore[attr-defined]
        if isinstance(found.plugin, ConfiguredGroups):
            yield from _configured(found.plugin, settings.groups, user)
        else:
            yield _timed(f"plugin {found.plugin_name}", partial(found.function, **dict.fromkeys(found.argnames, user)))


def _of_ranger(authorizer: Authorizer, settings: PluginSettings, user: str) -> SourceAnswer:
    source, snapshot = "ranger", authorizer.snapshot
    if snapshot.engine is None:
        return SourceAnswer(source, (), knows_user=None, problem=f"not available: {snapshot.reason}")
    if snapshot.documents is None or snapshot.documents.users is None:
        used = "there is no user store" if settings.use_ranger_groups else "`plugin.use_ranger_groups` is off"
        return SourceAnswer(source, (), knows_user=None, problem=used)
    groups = tuple(sorted(snapshot.groups_of(user)))
    return SourceAnswer(source, groups, knows_user=bool(groups) or None)


def _configured(plugin: ConfiguredGroups, settings: GroupSettings, user: str) -> Iterator[SourceAnswer]:
    if user in settings.static:
        yield SourceAnswer("static", tuple(sorted(settings.static[user])))
        return
    for source in plugin.directory.sources:
        yield _timed(source.name, partial(source.look_up, user, time.monotonic() + settings.deadline))


def _timed(source: str, look_up: Callable[[], Collection[str] | None]) -> SourceAnswer:
    began = time.monotonic()
    try:
        found, problem = look_up(), ""
    except RangerCdapError as e:
        found, problem = None, str(e)
    except Exception as e:  # of a plugin
        found, problem = None, f"failed with {type(e).__name__}"
    took = round(1000 * (time.monotonic() - began), 1)
    knows = None if problem else found is not None
    return SourceAnswer(source, tuple(sorted(map(str, found or ()))), took, knows, problem)
