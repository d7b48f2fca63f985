"""What `check` and `explain` share: who asks, for which operation, on which entity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from ranger_cdap.authorizer import Authorizer
from ranger_cdap.cdap.answer import Examined
from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.errors import InvalidInput


class EntityParameter(click.ParamType):
    """An entity as people type it: `dataset:ns1.purchases`."""

    name = "entity"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> EntityId:
        """The entity, or a usage error that says what is wrong with the text."""
        if isinstance(value, EntityId):
            return value
        try:
            return parse_entity(value)
        except InvalidInput as e:
            self.fail(str(e), param, ctx)


def question(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments and options of a question."""
    for decorate in (
        click.option("--jar", type=EntityParameter(), help="The artifact an uploaded jar becomes."),
        click.option("--artifact", type=EntityParameter(), help="The artifact an application is deployed from."),
        click.option("--group", "groups", multiple=True, help="A group of the user; may be repeated."),
        click.argument("entity", type=EntityParameter()),
        click.argument("operation"),
        click.argument("user"),
    ):
        command = decorate(command)
    return command


def related_entities(artifact: EntityId | None, jar: EntityId | None) -> dict[str, EntityId]:
    """What else takes part, by its role."""
    return {role: entity for role, entity in (("artifact", artifact), ("jar", jar)) if entity}


@contextmanager
def open_authorizer(invocation: Invocation) -> Iterator[Authorizer]:
    """An authorizer for one question; its keeper logs what keeps its policies from being fresh."""
    with Authorizer.open(invocation.settings, refresh_in_background=False) as authorizer:
        yield authorizer


def policy_text(examined: Examined) -> str:
    """`policy 12 (version 3)`, or that none matched."""
    decision = examined.decision
    if decision.policy_id < 0:
        return decision.reason or "no policy matches"
    return f"policy {decision.policy_id} (version {decision.policy_version})"
