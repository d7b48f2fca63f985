"""The arguments that `check` and `needs` share: user, operation, entity, and related entities."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import click

from ranger_cdap.cdap.context import ROLES, Context, artifact_of_jar
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cli.parameters import ENTITY, JAR, OPERATION, PART, with_parameters
from ranger_cdap.errors import InvalidInput

Part = tuple[str, EntityId | EntityPattern]


@dataclass(frozen=True, slots=True)
class CheckArguments:
    """The arguments of a permission check, as typed."""

    user: str
    operation: str
    entity: EntityId
    groups: tuple[str, ...]
    context: Context


def check_arguments(command: Callable[..., Any], *, required: bool = True) -> Callable[..., Any]:
    """Add the arguments and options of a permission check; the command gets them, and `GROUPS`, as `asked`.

    Unless they are `required`, it gets None where all arguments are left out.
    """

    @functools.wraps(command)
    def with_question(
        *args: Any,
        user: str | None,
        operation: str | None,
        entity: EntityId | None,
        parts: tuple[Part, ...],
        artifact: EntityId | None,
        jar: EntityId | str | None,
        impersonated: str | None,
        groups: tuple[str, ...] = (),
        **more: Any,
    ) -> Any:
        if user is None:
            if parts or artifact or jar or impersonated:
                raise InvalidInput(
                    "`--with`, `--jar`, `--artifact` and `--impersonate` need USER, OPERATION and ENTITY"
                )
            return command(*args, asked=None, **more)
        if operation is None or entity is None:
            raise InvalidInput("give USER, OPERATION and ENTITY")
        named = [("artifact", artifact), ("jar", _jar(jar, entity)), *parts]
        related = {role: tuple(e for r, e in named if r == role and e is not None) for role, _ in named}
        context = Context({role: entities for role, entities in related.items() if entities}, impersonated)
        return command(*args, asked=CheckArguments(user, operation, entity, groups, context), **more)

    return with_parameters(
        with_question,
        click.option("--impersonate", "impersonated", metavar="USER", help="The user that CDAP impersonates."),
        click.option(
            "--with",
            "parts",
            type=PART,
            callback=_parts,
            multiple=True,
            metavar="ROLE=ENTITY",
            help=f"A related entity, or a pattern like dataset:ns1.local*. Repeatable. Roles: {', '.join(ROLES)}.",
        ),
        click.option(
            "--jar",
            type=JAR,
            metavar="JAR|ENTITY",
            help="An uploaded jar, like shop-1.0.0.jar, or the artifact that it becomes, like artifact:ns1.shop.",
        ),
        click.option("--artifact", type=ENTITY, metavar="ENTITY", help="The artifact an application is deployed from."),
        click.argument("entity", type=ENTITY, metavar="ENTITY", required=required),
        click.argument("operation", type=OPERATION, metavar="OPERATION", required=required),
        click.argument("user", required=required),
    )


def _jar(jar: EntityId | str | None, entity: EntityId) -> EntityId | None:
    """Return the artifact of a jar, in the namespace of the entity."""
    if not isinstance(jar, str):
        return jar
    if entity.namespace is None:
        raise InvalidInput(f"`{entity}` is in no namespace; name the artifact of the jar like `artifact:ns1.shop`")
    return artifact_of_jar(entity.namespace, PurePath(jar).name)


def _parts(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[Part, ...]:
    return tuple(map(_part, texts))


def _part(text: str) -> Part:
    role, equals, entity = text.partition("=")
    if not equals:
        raise InvalidInput(f"`{text}` is not ROLE=ENTITY; write it like datasets=dataset:ns1.purchases")
    return role, parse_pattern(entity)
