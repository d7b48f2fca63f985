"""Rows of access as blocks of text and as JSON; no name from a policy acts on the terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.grant import CREATORS_LABEL, is_creators_policy
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cli.display import visible
from ranger_cdap.engine import Verdict
from ranger_cdap.keyed import grouped
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.questions.access_holders import AccessHolder
from ranger_cdap.tools.questions.effective_access import EffectiveAccess
from ranger_cdap.tools.questions.impact_text import limits
from ranger_cdap.tools.questions.known_user import KnownUser, PolicyView

WIDTH: Final = 100


def wrapped(text: str, indent: str = "", width: int = WIDTH) -> list[str]:
    """Return a text on lines of so many columns, without control characters; no name is broken, however long it is."""
    return textwrap.wrap(
        visible(text, keep=""),
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _blocks(
    rows: Iterable[AccessRow], head: Callable[[AccessRow, Sequence[str]], str], by: Callable[[AccessRow], str]
) -> Iterator[str]:
    """Yield the lines of rows; those that differ in their places only are one block, and `head` gets the places."""
    groups = grouped(((row.by, row.who, row.accesses, row.conditions, row.exceptions, row.doubts), row) for row in rows)
    for group in groups.values():
        first = group[0]
        yield from wrapped(head(first, [row.resource for row in group]))
        yield from wrapped(by(first), "  ")
        for note in limits(first):
            yield from wrapped(note, "  ")


def user_lines(view: PolicyView, known: KnownUser, found: EffectiveAccess, most: int | None) -> Iterator[str]:
    """Yield the access of a user, then what is taken away; more than `most` grants of the sync job are counted."""
    allowed, denied = found.allowed, found.denied
    yield from wrapped(str(known))
    grants = [row for row in allowed if _is_grant(row, view)]
    counted = grants if most is not None and len(grants) > most else []
    shown = [row for row in allowed if row not in counted]

    def head(row: AccessRow, places: Sequence[str]) -> str:
        may = "may have " if not row.examples else ""
        return f"{may}{', '.join(row.accesses)} on {', '.join(places)}"

    def by(row: AccessRow) -> str:
        who = " or ".join(known.through(principal, view.roles) for principal in row.who)
        return f"by {row.by}" + (f", as {who}" if who and row.policy_id is not None else "")

    yield "allowed" if allowed else "allowed: nothing"
    yield from (f"  {line}" for line in _blocks(shown, head, by))
    if counted:
        yield from (f"  {line}" for line in _summary(counted))
    if denied:
        yield "denied, though other items allow it"
        yield from (f"  {line}" for line in _blocks(denied, head, by))


def _is_grant(row: AccessRow, view: PolicyView) -> bool:
    policy = None if row.policy_id is None else view.index.policies.get(row.policy_id)
    return policy is not None and is_creators_policy(policy)


def _summary(rows: Sequence[AccessRow]) -> Iterator[str]:
    """Yield the number of entities by access types, of policies that have the sync job's label."""
    counts = Counter((row.accesses, row.path[-1]) for row in rows)
    by_accesses = grouped((accesses, f"{n} of type {kind}") for (accesses, kind), n in sorted(counts.items()))
    for accesses, kinds in by_accesses.items():
        yield from wrapped(f"{', '.join(accesses)} on {', '.join(kinds)}")
    policies = len({row.policy_id for row in rows})
    yield from wrapped(f"by {policies} policies labelled `{CREATORS_LABEL}`; `--all` shows each", "  ")


def pattern_lines(rows: Iterable[AccessRow]) -> list[str]:
    """Return the access of anyone to a pattern."""
    return list(_blocks(rows, _who_has, lambda row: f"by {row.by}"))


def _who_has(row: AccessRow, places: Sequence[str]) -> str:
    verb = "has" if len(row.who) == 1 else "have"
    may = f"{verb} " if row.examples else "may have "
    where = f"all of {row.resource}" if row.whole else ", ".join(places)
    return f"{', '.join(row.who)} {may}{', '.join(row.accesses)} on {where}"


def holder_rows(holders: Iterable[AccessHolder], accesses: Sequence[str], index: PolicyIndex) -> list[list[str]]:
    """Return a table row for each holder of an entity and each of these access types."""
    return [
        [one.kind, one.name, access, one.status(access), index.named(entry.policy_id), ", ".join(one.groups)]
        for one in holders
        for access, entry in one.accesses.items()
        if access in accesses
    ]


def reach_document(
    view: PolicyView, known: KnownUser | None, pattern: EntityPattern | None, found: EffectiveAccess
) -> dict[str, Any]:
    """Return the access of a user or anyone as JSON; `whole` is true for a row that covers all that was asked about."""
    subject = known.subject if known is not None else None
    return {
        "user": subject.user if subject else None,
        "groups": sorted(subject.groups) if subject else [],
        "roles": sorted(view.engine.view.roles.of(subject.user, subject.groups)) if subject else [],
        "entity": str(pattern) if pattern else None,
        "allowed": msgspec.to_builtins(found.allowed),
        "denied": msgspec.to_builtins(found.denied),
    }


def holder_document(one: AccessHolder, index: PolicyIndex, accesses: Collection[str]) -> dict[str, object]:
    """Return a holder of access to one entity as JSON, with these access types of theirs."""
    return {
        "kind": one.kind,
        "name": one.name,
        "groups": one.groups,
        "accesses": {
            access: {
                "verdict": entry.verdict,
                "policy": index.document(entry.policy_id),
                **({"depends": one.depends.get(access)} if entry.verdict is Verdict.CONDITIONAL else {}),
            }
            for access, entry in one.accesses.items()
            if access in accesses
        },
    }
