"""`ranger-cdap explain`: why may this user do this, or why not, and what would change that?"""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.tree import Tree

from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cli.check import as_document, asked_for_by, entity_document, verdict
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.explanation import Explainer, Explanation, changes
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.cli.policy_index import PolicyIndex
from ranger_cdap.cli.question import Question, question
from ranger_cdap.engine import Problem
from ranger_cdap.errors import NotReady

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
@question
@policy_files
@pass_invocation
def explain(invocation: Invocation, asked: Question, files: PolicyFiles | None) -> None:
    """Show why USER may do OPERATION on ENTITY or not: every privilege that was tried, the policies that decide, by
    which of their items, and what to change in Ranger for the other answer.

    What is wrong with the policies that had a say is said on standard error. Nothing is audited.
    """
    with authorizer_by(invocation, files) as authorizer:
        answer = authorizer.explain(asked.user, asked.groups, asked.operation, asked.entity, context=asked.context)
        engine = authorizer.snapshot.engine
        if not answer.ready:
            raise NotReady(answer.reason.removeprefix("not ready: "))
        reasons = Explainer(authorizer, answer, asked.groups)
        tried = [[reasons.of(examined) for examined in alternative] for alternative in answer.tried]
        decisive = [reasons.of(examined) for examined in answer.decided_by]
        _warn(
            invocation, engine.problems if engine else (), [because for alternative in tried for because in alternative]
        )
    if invocation.as_json:
        invocation.print_json(_document(answer, tried, decisive, reasons.book))
    else:
        invocation.print_tree(_tree(answer, tried, decisive, reasons.book))


def _warn(invocation: Invocation, problems: Sequence[Problem], tried: Sequence[Explanation]) -> None:
    """The problems of the policies that took part in the decision, or of all; of the others only the number."""
    looked_at = {entry.policy_id for because in tried for entry in because.others}
    looked_at |= {because.examined.decision.policy_id for because in tried}
    telling = [problem for problem in problems if problem.policy_id is None or problem.policy_id in looked_at]
    for problem in telling:
        invocation.messages.print(f"warning: {problem}")
    if more := len(problems) - len(telling):
        invocation.messages.print(f"note: problems with other policies: {more}; `ranger-cdap policies lint` shows them")


def _tree(answer: Answer, tried: list[list[Explanation]], decisive: list[Explanation], book: PolicyIndex) -> Tree:
    tree = Tree(f"{verdict(answer)}: {answer.person} {answer.operation} on {answer.entity}")
    if answer.missing or not answer.allowed or not answer.enforced:
        tree.add(answer.reason)
    for number, alternative in enumerate(tried, 1):
        holds = "holds" if all(because.examined.held for because in alternative) else "does not hold"
        branch = tree.add(f"alternative {number} {holds}")
        for because in alternative:
            leaf = branch.add(str(because), style=_STYLES[because.examined.held])
            leaf.add(because.why, style="default")
            for item in because.items:
                place = (
                    "" if item.policy_id == because.examined.decision.policy_id else f"{book.named(item.policy_id)}: "
                )
                leaf.add(f"{place}{item}", style="default")
            for entry in because.others[:_MOST_POLICIES]:
                leaf.add(f"{book.named(entry.policy_id)} {entry.outcome}: {entry.reason}", style="dim")
            if (more := len(because.others) - _MOST_POLICIES) > 0:
                leaf.add(f"and {more} more policies", style="dim")
    head, advice = changes(answer, decisive)
    if advice:
        branch = tree.add(head)
        for change in advice:
            branch.add(change)
    tree.add(asked_for_by(answer.requirements))
    return tree


def _document(
    answer: Answer, tried: list[list[Explanation]], decisive: list[Explanation], book: PolicyIndex
) -> dict[str, object]:
    return {
        **as_document(answer),
        "alternatives": [[_reason(because, book) for because in alternative] for alternative in tried],
        "changes": changes(answer, decisive)[1],
    }


def _reason(because: Explanation, book: PolicyIndex) -> dict[str, object]:
    e = because.examined
    return {
        "user": e.person,
        "capacity": e.capacity,
        "actions": e.actions,
        "entity": entity_document(e.entity),
        "held": e.held,
        "policy": book.document(e.decision.policy_id),
        "why": because.why,
        "items": [
            {"policy": book.document(item.policy_id), "list": item.side, "number": item.number}
            for item in because.items
        ],
        "change": because.change,
        "others": [
            {"policy": book.document(entry.policy_id), "outcome": entry.outcome, "reason": entry.reason}
            for entry in because.others
        ],
    }
