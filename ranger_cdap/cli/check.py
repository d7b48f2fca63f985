"""`ranger-cdap check`: check whether a user may perform an operation, and why."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ranger_cdap.authz.answer_documents import as_document
from ranger_cdap.authz.explanation import Explainer
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.lacked_privileges import lacked_privileges
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import Answer, Missing, denied
from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.cli.check_arguments import CheckArguments, check_arguments
from ranger_cdap.cli.check_text import print_answer, print_explanation, unknown_checks
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import GROUPS
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.cli.service_option import AskedService, service_option
from ranger_cdap.errors import InvalidInput, NotReady


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap check alice dataset.get dataset:ns1.purchases",
        "ranger-cdap check --why alice dataset.get dataset:ns1.purchases --policies download.json",
        "ranger-cdap check alice application.deploy application:ns1.shop --group developers --jar shop-1.0.0.jar",
        "ranger-cdap check alice dataset.get dataset:ns1.purchases --service https://decisions:6500 --caller team",
    ),
    exits={
        ExitCode.OK: "allowed",
        ExitCode.NO: "denied",
        ExitCode.NOT_READY: f"{MEANINGS[ExitCode.NOT_READY]}, or they are undecided without their security zones",
    },
)
@check_arguments
@GROUPS
@click.option("--why", is_flag=True, help="Explain the answer, and what to change in Ranger to reverse it; no audit.")
@service_option
@policy_files
@pass_invocation
@click.pass_context
def check(
    context: click.Context,
    invocation: Invocation,
    asked: CheckArguments,
    why: bool,
    service: AskedService | None,
    files: PolicyFiles | None,
) -> None:
    """Check if USER is allowed to perform OPERATION on ENTITY; show the deciding policies or the missing privileges.

    With `--why`, shows every evaluated privilege, the deciding policies and items, and the changes that would reverse
    the answer. Problems with these policies, and users unknown to Ranger, are reported on standard error.

    During an operation, CDAP itself checks more privileges than the profile requires. After an allowed answer, the
    missing ones are listed; answer, audit and exit code stay as they are.

    Writes an audit record (by default to `audit.file`) if the policies require one. Nothing is audited with `--why` or
    with policies from files. With `--service`, the service decides and audits, and CDAP's own checks are not evaluated.
    """
    if service is not None:
        if why or files is not None:
            raise InvalidInput("`--service` excludes `--why` and `--policies`: the service has its own policies")
        answer, unknown_there = _asked_of_service(invocation, service, asked)
        _show(invocation, answer, unknown=unknown_there)
    else:
        with authorizer_by(invocation, files) as authorizer:
            decide = authorizer.explain if why else authorizer.check
            answer = decide(asked.user, asked.groups, asked.operation, asked.entity, context=asked.context)
            index = PolicyIndex.of(authorizer.snapshot.documents)
            row = authorizer.decider.config.profile.operation(asked.operation)
            unknown = KnownNames.of(authorizer, index).unknown_in(
                row, asked.user, asked.groups, asked.entity, asked.context
            )
            invocation.warn_of(unknown)
            more = lacked_privileges(authorizer.decider, answer, asked.groups, asked.context)
            lacked = (
                [Missing(e.person, e.actions, e.entity, e.capacity) for e in more.alternatives[0]]
                if more.recorded
                else None
            )
            if not why:
                _show(invocation, answer, lacked, unknown)
            elif answer.ready:
                print_explanation(invocation, answer, Explainer(authorizer, answer, asked.groups), lacked, unknown)
            for note in unknown_checks(more):
                invocation.messages.print(f"note: {note}")
    if not answer.ready:
        raise NotReady(answer.reason.removeprefix("not ready: "))
    context.exit(ExitCode.OK if answer.allowed else ExitCode.NOT_READY if answer.undecided else ExitCode.NO)


def _show(
    invocation: Invocation,
    answer: Answer,
    lacked: Sequence[Missing] | None = None,
    unknown: Sequence[UnknownName] | None = None,
) -> None:
    if invocation.as_json:
        invocation.print_json(as_document(answer, lacked, unknown))
    elif answer.ready:
        print_answer(invocation, answer, lacked)


def _asked_of_service(
    invocation: Invocation, service: AskedService, asked: CheckArguments
) -> tuple[Answer, Sequence[UnknownName] | None]:
    with service.client(invocation) as client:
        from ranger_cdap.client.operation_answer import answer_of
        from ranger_cdap.client.operation_answer import check as question

        try:
            reply = client.ask(
                question(asked.user, asked.groups, asked.operation, asked.entity, context=asked.context, names=True)
            )
        except NotReady as e:
            return denied(asked.operation, asked.entity, asked.user, f"not ready: {e}", ready=False), None
    if reply.pending:
        invocation.messages.print(f"note: {reply.pending}")
    invocation.warn_of(reply.unknown or ())
    return answer_of(reply), reply.unknown
