"""Parameter types that several commands use, with shell completion."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from click.shell_completion import CompletionItem

from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import EntityId, entity_type, entity_types, parse_entity
from ranger_cdap.cdap.profile import Profile, load_profile, profile_names, uncovered_rows
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.config import Settings, location
from ranger_cdap.errors import InvalidInput, RangerCdapError

FILE = click.Path(path_type=Path, dir_okay=False)
"""A file, to read or to write."""
_DAY: Final = 86_400_000
"""Milliseconds."""
_DAYS_AGO: Final = re.compile(r"([0-9]{1,5})d")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})?)?")


def moment_of(option: str, given: str | None, now: int, default: int) -> int:
    """Return the time that an option names, in epoch milliseconds: a date, a time, or a number of days ago.

    Raises:
        InvalidInput: it is none of these.
    """
    if given is None:
        return default
    if ago := _DAYS_AGO.fullmatch(given):
        return max(0, now - int(ago[1]) * _DAY)
    with suppress(ValueError, OverflowError):
        if _DATE.fullmatch(given):
            found = datetime.fromisoformat(given)
            aware = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
            return max(0, (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))
    raise InvalidInput(f"`{option} {given}` is not a time; write it like `2026-11-01`, `2026-11-01T12:00:00Z` or `7d`")


class _Parameter(click.ParamType):  # type: ignore[type-arg]  # generic only in newer versions of click
    """Base class of the parameter types."""


class LocationParameter(click.Path):
    """A path, or an address of a store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the `Location`."""
        try:
            return location(value)
        except ValueError as e:
            self.fail(str(e), param, ctx)


class EntityParameter(_Parameter):
    """An entity as typed; completes the type only, because existing entities are not known here."""

    name = "entity"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> EntityId:
        """Return the entity.

        Raises:
            InvalidInput: the text is not an entity.
        """
        return value if isinstance(value, EntityId) else parse_entity(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the entity types, with the colon."""
        return _starting((f"{name}:" for name in entity_types()), incomplete)


class JarParameter(EntityParameter):
    """The file name of a jar, or the artifact that it becomes."""

    name = "jar"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the file name as it is, or the artifact.

        Raises:
            InvalidInput: the text is neither.
        """
        is_jar = isinstance(value, str) and value.endswith(".jar") and not value.startswith("artifact:")
        return value if is_jar else super().convert(value, param, ctx)


class PartParameter(_Parameter):
    """`ROLE=ENTITY`, as `--with` takes it."""

    name = "role=entity"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the roles, and after a role its entity type."""
        role, equals, _ = incomplete.partition("=")
        after = [f"{role}={ROLES[role]}:"] if equals and role in ROLES else [f"{one}=" for one in ROLES]
        return _starting(after, incomplete)


class NameParameter(_Parameter):
    """A name that is completed here, and validated where it is used."""

    def __init__(self, name: str, names: Callable[[click.Context], Iterable[str]]) -> None:
        self.name = name
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the names."""
        return _starting(self._names(ctx), incomplete)


class EntityTypeParameter(_Parameter):
    """An entity type of `entities.toml`."""

    name = "type"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the type.

        Raises:
            UnknownEntityType: there is no such type.
        """
        return entity_type(value).name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the entity types."""
        return _starting(entity_types(), incomplete)


def _setting_keys(_: click.Context) -> Iterable[str]:
    """Return the beginnings of `TABLE.KEY=VALUE`, as `--set` takes it."""
    return (
        f"{table.name}.{field.name}="
        for table in msgspec.structs.fields(Settings)
        for field in msgspec.structs.fields(table.type)
    )


ENTITY = EntityParameter()
JAR = JarParameter()
PART = PartParameter()
OPERATION = NameParameter("operation", lambda ctx: operation_names(_configured_profile(ctx)))
PROFILE = NameParameter("profile", lambda _: profile_names())
ENTITY_TYPE = EntityTypeParameter()
SETTING = NameParameter("setting", _setting_keys)

GROUPS = click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group of the user. Repeatable.")
"""The option of commands about a user."""


def with_parameters(command: Callable[..., Any], *parameters: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with options and arguments, the last of which comes first in its help."""
    return reduce(lambda decorated, parameter: parameter(decorated), parameters, command)


def refuse_unused(*rules: tuple[object, object, str]) -> None:
    """Refuse what is given where it is not allowed, by rules of what is given, what allows it, and the sentence.

    Raises:
        InvalidInput: a rule is broken.
    """
    for given, allowed, sentence in rules:
        if given and not allowed:
            raise InvalidInput(sentence)


def operation_names(profile: Profile) -> list[str]:
    """Return every operation: the profile's rows, its core policies for types below the instance, and CDAP's own."""
    followed = (f"{kind.name}.{verb}" for kind in entity_types().values() if kind.parent for verb in profile.core)
    own = (name for name, row in uncovered_rows().items() if row.entity in entity_types())
    return list(dict.fromkeys((*profile.rows, *followed, *own)))


def _configured_profile(ctx: click.Context) -> Profile:
    """Return the configured profile, or the default one if the settings are invalid: completion reports no errors."""
    try:
        return load_profile(ctx.ensure_object(Invocation).settings.cdap.profile)
    except RangerCdapError:
        return load_profile("default")


def _starting(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
