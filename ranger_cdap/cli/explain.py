"""`ranger-cdap explain`: the reasons of a decision, and the changes that would reverse it."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.tree import Tree

from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.requirements import with_sentence
from ranger_cdap.cli.check_arguments import CheckArguments, check_arguments
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import GROUPS
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.engine import Problem
from ranger_cdap.errors import NotReady, suggestion
from ranger_cdap.questions.answer_documents import explanation_document, verdict
from ranger_cdap.questions.explanation import Explainer, Explanation, changes
from ranger_cdap.questions.policy_index import PolicyIndex

_STYLES = {True: "green", False: "red"}
_MOST_POLICIES = 20


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap explain alice dataset.get dataset:ns1.purchases",
        "ranger-cdap explain alice dataset.get dataset:ns1.purchases --policies download.json",
    ),
    exits={ExitCode.OK: "explained, whatever the answer", ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@check_arguments
@GROUPS
@policy_files
@pass_invocation
def explain(invocation: Invocation, asked: CheckArguments, files: PolicyFiles | None) -> None:
    """Explain why USER may or may not perform OPERATION on ENTITY: every privilege that was evaluated, the deciding
    policies and items, and what to change in Ranger to reverse the answer.

    Problems with the policies involved, and users that Ranger does not know, are reported on standard error. Nothing is
    audited.
    """
    with authorizer_by(invocation, files) as authorizer:
        answer = authorizer.explain(asked.user, asked.groups, asked.operation, asked.entity, context=asked.context)
        engine = authorizer.snapshot.engine
        if not answer.ready:
            raise NotReady(answer.reason.removeprefix("not ready: "))
        reasons = Explainer(authorizer, answer, asked.groups)
        tried = [[reasons.of(examined) for examined in alternative] for alternative in answer.alternatives]
        decisive = [reasons.of(examined) for examined in answer.decided_by]
        _warn(
            invocation,
            engine.problems if engine else (),
            [explanation for alternative in tried for explanation in alternative],
        )
        for person in dict.fromkeys(e.person for alternative in answer.alternatives for e in alternative):
            if reasons.index.lacks_user(person):
                near = suggestion(person, reasons.index.stored_users or ())
                invocation.messages.print(f"warning: Ranger knows no user `{person}`{near}")
    if invocation.as_json:
        invocation.print_json(explanation_document(answer, tried, decisive, reasons.index))
    else:
        invocation.print_tree(_tree(answer, tried, decisive, reasons.index))


def _warn(invocation: Invocation, problems: Sequence[Problem], tried: Sequence[Explanation]) -> None:
    """Print the problems of the policies involved and those of no single policy; of the others, print the number."""
    looked_at = {entry.policy_id for explanation in tried for entry in explanation.others}
    looked_at |= {explanation.examined.decision.policy_id for explanation in tried}
    telling = [problem for problem in problems if problem.policy_id is None or problem.policy_id in looked_at]
    for problem in telling:
        invocation.messages.print(f"warning: {problem}")
    if more := len(problems) - len(telling):
        invocation.messages.print(f"note: problems with other policies: {more}; `ranger-cdap policies lint` shows them")


def _tree(answer: Answer, tried: list[list[Explanation]], decisive: list[Explanation], index: PolicyIndex) -> Tree:
    tree = Tree(f"{verdict(answer)}: {answer.person} {answer.operation} on {answer.entity}")
    if answer.missing or not answer.allowed or not answer.enforced:
        tree.add(answer.reason)
    for number, alternative in enumerate(tried, 1):
        holds = "holds" if all(explanation.examined.held for explanation in alternative) else "does not hold"
        branch = tree.add(f"alternative {number} {holds}")
        for explanation in alternative:
            leaf = branch.add(str(explanation), style=_STYLES[explanation.examined.held])
            leaf.add(explanation.why, style="default")
            for item in explanation.items:
                place = (
                    ""
                    if item.policy_id == explanation.examined.decision.policy_id
                    else f"{index.named(item.policy_id)}: "
                )
                leaf.add(f"{place}{item}", style="default")
            for entry in explanation.others[:_MOST_POLICIES]:
                leaf.add(f"{index.named(entry.policy_id)} {entry.outcome}: {entry.reason}", style="dim")
            if (more := len(explanation.others) - _MOST_POLICIES) > 0:
                leaf.add(f"and {more} more policies", style="dim")
    head, advice = changes(answer, decisive)
    if advice:
        branch = tree.add(head)
        for change in advice:
            branch.add(change)
    if answer.requirements:
        branch = tree.add("required by")
        for requirement in answer.requirements:
            branch.add(with_sentence(requirement))
    return tree
