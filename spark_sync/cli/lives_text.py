"""Lives as commands print them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.telemetry import ids_of_event
from spark_sync.ledger.grant_terms import OutdatedGrants
from spark_sync.ledger.ledger import LedgerChange, Right
from spark_sync.ledger.life import GrantTerms, Life, State

_NEXT: Final = {State.PENDING: "the next run sends it", State.CLOSING: "the next run revokes it"}
_LINE: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


def rows(lives: Iterable[Life]) -> Iterator[list[str]]:
    """Yield state, entity, creator (or the candidates) and reason of each life, for a table."""
    for life in lives:
        creator = life.creator or " or ".join(life.candidates) + ("?" if life.candidates else "")
        yield [life.state.value, str(life.entity), creator, life.reason or _NEXT.get(life.state, "")]


def policy_text(life: Life) -> str:
    """Return the id of the policy of a life, and its security zone; empty if the ledger has none."""
    where = f" in zone {life.zone}" if life.zone else ""
    return f"{life.policy_id}{where}" if life.policy_id >= 0 else ""


def terms_text(terms: GrantTerms | None) -> str:
    """Return settings of grants in a few words."""
    return "not recorded" if terms is None else str(terms)


def print_outdated(invocation: Invocation, outdated: OutdatedGrants | None) -> None:
    """Print how many grants are by former settings, by which, and the command that changes them; nothing for none."""
    if outdated and outdated.total:
        former = ", ".join(f"{terms_text(terms)}: {lives}" for terms, lives in outdated.former.items())
        invocation.console.print(
            f"outdated grants: {outdated.total}, by former settings ({former}) instead of those of today"
            f" ({outdated.now}); `ranger-cdap sync regrant` shows the changes"
        )


def outdated_json(outdated: OutdatedGrants | None) -> dict[str, object] | None:
    """Return the grants by former settings as JSON."""
    if outdated is None:
        return None
    former = [{"settings": terms_text(terms), "lives": lives} for terms, lives in outdated.former.items()]
    return {"lives": outdated.total, "former": former, "settings": str(outdated.now)}


def as_json(life: Life) -> dict[str, object]:
    """Return a life as JSON: `event` is the hash of the line that began it, `trace_id` the trace of its check."""
    return {
        "entity": str(life.entity),
        "life": life.number,
        "state": life.state.value,
        "creator": life.creator,
        "candidates": list(life.candidates),
        "accesses": list(life.accesses),
        "policy_id": life.policy_id if life.policy_id >= 0 else None,
        "zone": life.zone or None,
        "reason": life.reason,
        "source": life.source,
        "event": line_of_event(life.event) or None,
        "trace_id": f"{check.trace:032x}" if (check := ids_of_event(life.event)) else None,
    }


def line_of_event(event: str) -> str:
    """Return the id of the line that an event of the ledger is of, which is a hash; empty if there is none.

    An event's own id has the name of its entity.
    """
    line = event.partition("#")[0]
    return line if _LINE.fullmatch(line) else ""


def changes_json(changes: Iterable[LedgerChange]) -> list[dict[str, object]]:
    """Return changed lives as JSON: what they were, and which of ledger and Ranger is right from now on."""
    return [
        as_json(each.after) | {"was": each.before.state.value if each.before else None, "right": each.right.value}
        for each in changes
        if each.after
    ]


def print_changes(invocation: Invocation, changes: Collection[LedgerChange]) -> None:
    """Print the lives after a manual override, and the effect of the next run."""
    for life in (change.after for change in changes if change.after):
        match life.state:
            case State.CLOSING:
                invocation.console.print(f"{life.entity}: the grant of `{life.holder}` is to be revoked")
            case State.PENDING:
                invocation.console.print(f"{life.entity}: `{life.creator}` is its creator; their grant is pending")
            case _:
                invocation.console.print(f"{life.entity}: it has no creator")
    if any(change.right is Right.LEDGER for change in changes):
        invocation.console.print("the next `ranger-cdap sync run` sends it")
