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


def question(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments and options of a question."""
    for decorate in (
        click.option("--jar", type=parse_entity, metavar="ENTITY", help="The artifact an uploaded jar becomes."),
        click.option("--artifact", type=parse_entity, metavar="ENTITY", help="What an application is deployed from."),
        click.option("--group", "groups", multiple=True, help="A group of the user; may be repeated."),
        click.argument("entity", type=parse_entity, metavar="ENTITY"),
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
    """An authorizer for one question; what is wrong with its policies is said on standard error."""
    with Authorizer.open(invocation.settings, refresh_in_background=False) as authorizer:
        snapshot = authorizer.snapshot
        if snapshot.engine is not None and snapshot.reason:
            invocation.messages.print(f"warning: policies are {snapshot.state.value}: {snapshot.reason}")
        if snapshot.cache_problem:
            invocation.messages.print(f"warning: {snapshot.cache_problem}")
        yield authorizer


def policy_text(examined: Examined) -> str:
    """`policy 12 (version 3)`, or that none matched."""
    decision = examined.decision
    if decision.policy_id < 0:
        return decision.reason or "no policy matches"
    return f"policy {decision.policy_id} (version {decision.policy_version})"
