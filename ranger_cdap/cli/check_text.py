"""The answer of a permission check as text, with or without its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.tree import Tree

from ranger_cdap.authz.answer_documents import explanation_document, verdict
from ranger_cdap.authz.denial_text import denial_by
from ranger_cdap.authz.explanation import Explainer, Explanation, changes
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.additional_privileges import AdditionalPrivileges
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege, Missing
from ranger_cdap.cdap.context import CAPACITIES
from ranger_cdap.cdap.requirements import with_sentence
from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.engine import Problem
from ranger_cdap.ranger_model.policy import policy_text

_STYLES = {True: "green", False: "red"}
_MOST_POLICIES = 20


def print_answer(invocation: Invocation, answer: Answer, lacked: Sequence[Missing] | None = None) -> None:
    """Print the answer in one line, then one line per privilege that decided or that CDAP needs in addition."""
    invocation.console.print(_headline(answer))
    for examined in answer.decided_by:
        has = "has" if examined.held else "lacks"
        who = "" if examined.person == answer.person else f"{examined.person} "
        actions = examined.action if examined.held else " or ".join(examined.actions)
        invocation.console.print(f"  {who}{has} {actions} on {examined.entity}: {_policy(examined)}")
    if not answer.allowed and not answer.missing:
        invocation.console.print(f"  {answer.reason}")
    for missing in lacked or ():
        invocation.console.print(f"  {_in_addition(invocation, missing)}")


def print_explanation(
    invocation: Invocation,
    answer: Answer,
    explainer: Explainer,
    lacked: Sequence[Missing] | None,
    unknown: Sequence[UnknownName],
) -> None:
    """Print every privilege that was evaluated, with its reasons; problems as messages."""
    tried = [[explainer.of(examined) for examined in alternative] for alternative in answer.alternatives]
    decisive = [explainer.of(examined) for examined in answer.decided_by]
    _warn(invocation, explainer.problems, [explanation for alternative in tried for explanation in alternative])
    if invocation.as_json:
        invocation.print_json(explanation_document(answer, tried, decisive, explainer.index, lacked, unknown))
    else:
        tree = _tree(answer, tried, decisive, explainer.index)
        for missing in lacked or ():
            tree.add(_in_addition(invocation, missing))
        invocation.print_tree(tree)


def unknown_checks(more: AdditionalPrivileges) -> Iterator[str]:
    """Yield what is not known of CDAP's checks because entities are not named, or were never recorded."""
    if more.depends_on:
        yield f"CDAP's checks depend on {' or '.join(more.depends_on)}: name it by --with ROLE=ENTITY"
    if more.unnamed:
        yield f"CDAP also checks these, if there are any: {', '.join(more.unnamed)}; name them by --with ROLE=ENTITY"
    if more.unknown:
        yield f"not recorded with {', '.join(more.unknown)}: what CDAP checks on them is not known"


def _in_addition(invocation: Invocation, missing: Missing) -> str:
    """Return "allowed by profile `default`; CDAP also requires READ on dataset:ns1.kv"."""
    who = "" if missing.capacity == "requesting" else f" for {missing.person} ({CAPACITIES[missing.capacity]})"
    return f"allowed by profile `{invocation.settings.cdap.profile}`; CDAP also requires {missing.privilege}{who}"


def _headline(answer: Answer) -> str:
    return f"{verdict(answer)}: {answer.person} {answer.operation} on {answer.entity}"


def _policy(examined: EvaluatedPrivilege) -> str:
    """Return `policy 12 (zone finance, version 3)` and, if it denies, that; or that no policy matched."""
    decision = examined.decision
    if decision.policy_id < 0:
        return decision.reason or "no policy matches"
    named = policy_text(decision.policy_id, zone=decision.policy_zone, version=decision.policy_version)
    return named + denial_by(examined)


def _warn(invocation: Invocation, problems: Sequence[Problem], tried: Sequence[Explanation]) -> None:
    """Print the problems of the policies involved and those of no single policy; of the others, print the number."""
    looked_at = {entry.policy_id for explanation in tried for entry in explanation.others}
    looked_at |= {explanation.examined.decision.policy_id for explanation in tried}
    telling = [problem for problem in problems if problem.policy_id is None or problem.policy_id in looked_at]
    invocation.warn_of(telling)
    if more := len(problems) - len(telling):
        invocation.messages.print(f"note: problems with other policies: {more}; `ranger-cdap policies lint` shows them")


def _tree(answer: Answer, tried: list[list[Explanation]], decisive: list[Explanation], index: PolicyIndex) -> Tree:
    tree = Tree(_headline(answer))
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
    required = ("required by", [with_sentence(requirement) for requirement in answer.requirements])
    for title, texts in (changes(answer, decisive), required):
        if texts:
            branch = tree.add(title)
            for text in texts:
                branch.add(text)
    return tree
