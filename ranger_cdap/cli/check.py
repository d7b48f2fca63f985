"""`ranger-cdap check`: may this user do this?"""

from __future__ import annotations

import click

from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.question import open_authorizer, policy_text, question, related_entities
from ranger_cdap.errors import NotReady

DENIED = 2


@click.command()
@question
@pass_invocation
@click.pass_context
def check(
    context: click.Context,
    invocation: Invocation,
    user: str,
    operation: str,
    entity: EntityId,
    groups: tuple[str, ...],
    artifact: EntityId | None,
    jar: EntityId | None,
) -> None:
    """Say whether USER may do OPERATION on ENTITY.

    Example: ranger-cdap check alice dataset.get dataset:ns1.purchases

    Exit code: 0 allowed, 2 denied, 3 invalid input, 4 not ready, 1 error.
    """
    with open_authorizer(invocation) as authorizer:
        answer = authorizer.check(user, groups, operation, entity, related=related_entities(artifact, jar))
    if invocation.as_json:
        invocation.print_json(as_document(answer))
    elif answer.ready:
        print_answer(invocation, answer)
    if not answer.ready:
        raise NotReady(answer.reason.removeprefix("not ready: "))
    context.exit(0 if answer.allowed else DENIED)


def print_answer(invocation: Invocation, answer: Answer) -> None:
    """One line, and one for each privilege that decided."""
    verdict = "allowed" if answer.allowed else "denied"
    invocation.console.print(f"{verdict}: {answer.person} {answer.operation} on {answer.entity}")
    for examined in answer.decided_by:
        has = "has" if examined.held else "lacks"
        actions = examined.action if examined.held else " or ".join(examined.actions)
        invocation.console.print(f"  {has} {actions} on {examined.entity}: {policy_text(examined)}")
    if not answer.allowed and not answer.missing:
        invocation.console.print(f"  {answer.reason}")


def as_document(answer: Answer) -> dict[str, object]:
    """The answer as JSON."""
    return {
        "allowed": answer.allowed,
        "ready": answer.ready,
        "user": answer.person,
        "operation": answer.operation,
        "entity": {"type": answer.entity.type, "parts": answer.entity.parts},
        "requirements": answer.requirements,
        "reason": answer.reason,
        "missing": [
            {"user": m.person, "actions": m.actions, "entity": {"type": m.entity.type, "parts": m.entity.parts}}
            for m in answer.missing
        ],
        "policies": answer.policy_ids,
    }
