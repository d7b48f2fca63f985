"""`ranger-cdap check`: check whether a user may perform an operation."""

from __future__ import annotations

import click

from ranger_cdap.cdap.answer import Answer, denied
from ranger_cdap.cli.check_arguments import CheckArguments, check_arguments, open_authorizer, policy_text
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import GROUPS
from ranger_cdap.cli.service_option import AskedService, service_option
from ranger_cdap.errors import NotReady
from ranger_cdap.questions.answer_documents import as_document, verdict


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap check alice dataset.get dataset:ns1.purchases",
        "ranger-cdap check alice application.deploy application:ns1.shop --group developers --jar shop-1.0.0.jar",
        "ranger-cdap check alice dataset.get dataset:ns1.purchases --service https://decisions:6500 --caller team",
    ),
    exits={
        ExitCode.OK: "allowed",
        ExitCode.NO: "denied",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@check_arguments
@GROUPS
@service_option
@pass_invocation
@click.pass_context
def check(context: click.Context, invocation: Invocation, asked: CheckArguments, service: AskedService | None) -> None:
    """Check whether USER may perform OPERATION on ENTITY, and show the deciding policies or the missing privileges.

    Writes an audit record, to `audit.file` by default, where the policies ask for it. With `--service`, the service
    decides and audits.
    """
    answer = _asked_of_service(invocation, service, asked) if service else _decided_here(invocation, asked)
    if invocation.as_json:
        invocation.print_json(as_document(answer))
    elif answer.ready:
        print_answer(invocation, answer)
    if not answer.ready:
        raise NotReady(answer.reason.removeprefix("not ready: "))
    context.exit(ExitCode.OK if answer.allowed else ExitCode.NO)


def _decided_here(invocation: Invocation, asked: CheckArguments) -> Answer:
    with open_authorizer(invocation) as authorizer:
        return authorizer.check(asked.user, asked.groups, asked.operation, asked.entity, context=asked.context)


def _asked_of_service(invocation: Invocation, service: AskedService, asked: CheckArguments) -> Answer:
    with service.client() as client:
        from ranger_cdap.client.operation_answer import answer_of
        from ranger_cdap.client.operation_answer import check as question

        try:
            reply = client.ask(question(asked.user, asked.groups, asked.operation, asked.entity, context=asked.context))
        except NotReady as e:
            return denied(asked.operation, asked.entity, asked.user, f"not ready: {e}", ready=False)
    if reply.pending:
        invocation.messages.print(f"note: {reply.pending}")
    return answer_of(reply)


def print_answer(invocation: Invocation, answer: Answer) -> None:
    """Print the answer in one line, then one line per privilege that decided."""
    invocation.console.print(f"{verdict(answer)}: {answer.person} {answer.operation} on {answer.entity}")
    for examined in answer.decided_by:
        has = "has" if examined.held else "lacks"
        who = "" if examined.person == answer.person else f"{examined.person} "
        actions = examined.action if examined.held else " or ".join(examined.actions)
        invocation.console.print(f"  {who}{has} {actions} on {examined.entity}: {policy_text(examined)}")
    if not answer.allowed and not answer.missing:
        invocation.console.print(f"  {answer.reason}")
