"""`ranger-cdap plan`: the privileges that an operation needs, and who needs them."""

from __future__ import annotations

import click

from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.cdap.context import CAPACITIES, Context
from ranger_cdap.cdap.plan import RequiredPrivilege, plan, unnamed
from ranger_cdap.cdap.profile import Operation
from ranger_cdap.cdap.requirements import requirements_of, with_sentence
from ranger_cdap.cli.check_arguments import CheckArguments, check_arguments
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.questions.answer_documents import entity_document


@click.command(
    "plan",
    cls=Command,
    examples=(
        "ranger-cdap plan alice dataset.get dataset:ns1.kv",
        "ranger-cdap plan alice application.deploy application:ns1.app --jar artifact:ns1.app"
        " --with datasets=dataset:ns1.kv --impersonate svc",
    ),
)
@check_arguments
@pass_invocation
def plan_command(invocation: Invocation, asked: CheckArguments) -> None:
    """Show what must be granted, and to whom, for USER to perform OPERATION on ENTITY. Ranger is not contacted."""
    rules = AuthorizationConfig.of(invocation.settings)
    row = rules.options.applied_to(rules.profile.operation(asked.operation))
    alternatives = plan(row, asked.entity, asked.user, rules.with_master(asked.context), rules.options)
    if invocation.as_json:
        invocation.print_json([[_document(row, need) for need in alternative] for alternative in alternatives])
        return
    _print(invocation, row, alternatives, asked.context)


def _print(
    invocation: Invocation, row: Operation, alternatives: tuple[tuple[RequiredPrivilege, ...], ...], context: Context
) -> None:
    if not alternatives:
        roles = " or ".join(" and ".join(roles) for roles in unnamed(row, context))
        invocation.console.print(f"cannot be decided without {roles}: name it by --with ROLE=ENTITY")
    by_need: dict[str, tuple[str, ...]] = {}
    for number, needs in enumerate(alternatives, 1):
        invocation.console.print(f"alternative {number}:" if len(alternatives) > 1 else "required privileges:")
        rows = [[n.person, CAPACITIES[n.capacity], " or ".join(n.actions), str(n.entity)] for n in needs]
        invocation.print_table(["who", "as", "privilege", "on"], rows)
        by_need |= {f"{' or '.join(n.actions)} on {n.entity}, by {n.person}": _requirements(row, n) for n in needs}
    by_need = {need: requirements for need, requirements in by_need.items() if requirements}
    if by_need:
        invocation.console.print("required by:")
    for need, requirements in by_need.items():
        invocation.console.print(f"  {need}")
        for requirement in requirements:
            invocation.console.print(f"    {with_sentence(requirement)}")


def _requirements(row: Operation, need: RequiredPrivilege) -> tuple[str, ...]:
    return requirements_of(row, need.source, need.capacity)


def _document(row: Operation, need: RequiredPrivilege) -> dict[str, object]:
    return {
        "user": need.person,
        "capacity": need.capacity,
        "actions": need.actions,
        "entity": entity_document(need.entity),
        "requirements": _requirements(row, need),
    }
