"""Rows of the console's answers as people read them, in the words of the commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from ranger_cdap.authz.answer_documents import verdict as answer_verdict
from ranger_cdap.authz.explanation import Explanation
from ranger_cdap.authz.policy_index import ItemFound
from ranger_cdap.console.answer_rows import AskAnswer, WhoAnswer
from ranger_cdap.tools.analysis.row_text import SIDES
from ranger_cdap.tools.questions.access_holders import AccessHolder
from ranger_cdap.tools.questions.impact_text import limits  # noqa: F401 - templates call it


def item_place(item: ItemFound) -> str:
    """Return `deny item 2`."""
    return f"{SIDES[item.side]} item {item.number}"


def verdict(asked: AskAnswer) -> str:
    """Return `allowed`, `denied` or `not ready`, and mention where it is not enforced."""
    return answer_verdict(asked.answer) if asked.answer.ready else "not ready"


def lacked(asked: AskAnswer) -> Iterator[tuple[str, Explanation | None]]:
    """Yield what is missing as `eve needs READ on dataset:ns1.kv`, each with the reason."""
    evaluated = [one for alternative in asked.alternatives for one in alternative if not one.examined.held]
    for one in asked.answer.missing:
        wanted = (one.person, one.actions, one.entity)
        found = (
            each for each in evaluated if (each.examined.person, each.examined.actions, each.examined.entity) == wanted
        )
        yield str(one), next(found, None)


@dataclass(frozen=True, slots=True)
class HolderLine:
    """Accesses of a holder that one policy decides alike."""

    holder: AccessHolder
    accesses: tuple[str, ...]
    verdict: str
    state: str
    policy_id: int


def holder_lines(found: WhoAnswer) -> Iterator[HolderLine]:
    """Yield the lines of holders; one without any access has none."""
    for one in found.holders:
        held = ((name, entry) for name, entry in one.accesses.items() if name in found.accesses)
        for (state, policy_id), group in groupby(held, key=lambda pair: (one.status(pair[0]), pair[1].policy_id)):
            pairs = list(group)
            yield HolderLine(one, tuple(name for name, _ in pairs), pairs[0][1].verdict, state, policy_id)
