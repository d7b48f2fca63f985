"""`ranger-cdap plan`: who needs which privilege on which entity?"""

from __future__ import annotations

import click

from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.cdap.context import CAPACITIES, Context
from ranger_cdap.cdap.plan import Need, plan, unnamed
from ranger_cdap.cdap.profile import Operation
from ranger_cdap.cli.check import asked_for_by, entity_document
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.question import Question, question


@click.command(
    "plan",
    cls=Command,
    examples=(
        "ranger-cdap plan alice dataset.get dataset:ns1.kv",
        "ranger-cdap plan alice application.deploy application:ns1.app --jar artifact:ns1.app"
        " --with datasets=dataset:ns1.kv --impersonate svc",
    ),
)
@question
@pass_invocation
def plan_command(invocation: Invocation, asked: Question) -> None:
    """Show what must be granted, and to whom, before USER can do OPERATION on ENTITY. Ranger is not asked."""
    rules = AuthorizationConfig.of(invocation.settings)
    row = rules.profile.operation(asked.operation)
    alternatives = plan(row, asked.entity, asked.user, rules.with_master(asked.context), rules.options)
    if invocation.as_json:
        invocation.print_json([[_document(need) for need in alternative] for alternative in alternatives])
        return
    _print(invocation, row, alternatives, asked.context)


def _print(
    invocation: Invocation, row: Operation, alternatives: tuple[tuple[Need, ...], ...], context: Context
) -> None:
    if not alternatives:
        roles = " or ".join(unnamed(row, context))
        invocation.console.print(
            f"this cannot be decided unless it is said what plays the part of {roles}: --with ROLE=ENTITY"
        )
    for number, needs in enumerate(alternatives, 1):
        invocation.console.print(f"alternative {number}:" if len(alternatives) > 1 else "all of this is needed:")
        rows = [[n.person, CAPACITIES[n.capacity], " or ".join(n.actions), str(n.entity)] for n in needs]
        invocation.print_table(["who", "as", "privilege", "on"], rows)
    invocation.console.print(asked_for_by(row.requirements))


def _document(need: Need) -> dict[str, object]:
    entity = entity_document(need.entity)
    return {"user": need.person, "capacity": need.capacity, "actions": need.actions, "entity": entity}
