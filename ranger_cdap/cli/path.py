"""`ranger-cdap path`: the ways by which a user has access to an entity, what stands against them, and what ends it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import click

from ranger_cdap.analysis.reach_rows import applying
from ranger_cdap.analysis.symbols.symbolic import ALLOW_EXCEPTIONS
from ranger_cdap.analysis.ways import Cell, CellFinder, CellItem, CellStatus
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cli.access_text import wrapped
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY, GROUPS
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.engine import AccessRequest
from ranger_cdap.errors import InvalidInput
from ranger_cdap.questions.analysis_documents import witness_document
from ranger_cdap.questions.answer_documents import entity_document
from ranger_cdap.questions.cell_text import conditions_of_item, dependence, item_of_cell
from ranger_cdap.questions.known_user import KnownUser, PolicyView, access_types
from ranger_cdap.ranger_model.document import replaced

_ANSWERS = {
    CellStatus.ALLOWED: "allowed",
    CellStatus.DENIED: "denied",
    CellStatus.NO_POLICY: "no policy allows it",
}


def _address(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    try:
        return None if text is None else str(ip_address(text))
    except ValueError:
        raise InvalidInput(f"`{text}` is not an address; write it like 10.1.2.3") from None


@click.command(
    "path",
    cls=Command,
    examples=(
        "ranger-cdap path alice dataset:ns1.purchases",
        "ranger-cdap path alice dataset:ns1.purchases --access read --policies download.json --json",
    ),
    exits={ExitCode.OK: "shown, whatever the answer", ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@click.argument("user")
@click.argument("entity", type=ENTITY, metavar="ENTITY")
@GROUPS
@click.option("--access", "accesses", multiple=True, metavar="TYPE", help="Only this access type. Repeatable.")
@click.option(
    "--client-ip", callback=_address, metavar="ADDRESS", help="Answer for a request from this address now, not for any."
)
@policy_files
@pass_invocation
def path_command(
    invocation: Invocation,
    user: str,
    entity: EntityId,
    groups: tuple[str, ...],
    accesses: tuple[str, ...],
    client_ip: str | None,
    files: PolicyFiles | None,
) -> None:
    """Show by which ways USER has access to ENTITY: each policy and item, and the group, role, tag and zone by which it
    applies; the denials that stand against it; and the items that must no longer apply for the access to end.

    Conditions are named; `--client-ip` evaluates them instead. The access `_admin` is the right to edit policies on the
    entity. For the privileges of an operation use `ranger-cdap explain`.
    """
    with authorizer_by(invocation, files) as authorizer:
        view = PolicyView.of(authorizer)
        wanted = access_types(accesses, view.engine)
        known = KnownUser.of(authorizer, view, user, groups)
    for note in (*known.notes, *view.notes):
        invocation.messages.print(note)
    cells, resource = CellFinder(view.engine), to_resource(entity, view.instance)
    if client_ip is None:
        found = [cells.cell(known.subject, resource, access) for access in wanted]
    else:
        now = time.time_ns() // 1_000_000
        asked = AccessRequest(resource, "", user, known.subject.groups, client_ip=client_ip, access_time=now)
        found = [cells.lookup(replaced(asked, access_type=access)) for access in wanted]
    report = _PathReport(view, known)
    if invocation.as_json:
        document = {
            "user": user,
            "groups": sorted(known.subject.groups),
            "entity": entity_document(entity),
            "accesses": [report.document(cell) for cell in found],
        }
        invocation.print_json(document)
        return
    silent = [cell for cell in found if not (cell.allowing or cell.denying)]
    lines = wrapped(f"{known}, on {entity}")
    lines += [line for cell in found if cell not in silent for line in report.lines(cell)]
    if silent:
        lines += wrapped(f"{', '.join(cell.access for cell in silent)}: {_ANSWERS[CellStatus.NO_POLICY]}")
    for line in lines:
        click.echo(line)


@dataclass(frozen=True, slots=True)
class _PathReport:
    """Text and JSON of cells of one user."""

    _view: PolicyView
    _known: KnownUser

    def lines(self, cell: Cell) -> Iterator[str]:
        may = "may be " if cell.status is CellStatus.MAY else ""
        answer = _ANSWERS.get(cell.status) or f"{may}allowed {dependence(cell)}".rstrip()
        yield from wrapped(f"{cell.access}: {answer}")
        for one in cell.ways:
            yield from wrapped(f"by {self._item(one, cell)}", "  ")
        for one in cell.allowing:
            if not one.effective:
                yield from wrapped(f"without effect: {self._item(one, cell)}", "  ")
        for one in cell.denying:
            excepts = one.item is not None and one.item.side == ALLOW_EXCEPTIONS
            what = ("excepted by" if excepts else "denied by") if one.effective else "overridden:"
            yield from wrapped(f"{what} {self._item(one, cell)}", "  ")
        if cell.removals:
            yield from wrapped(f"to end it: {self._removal(cell)}", "  ")

    def _removal(self, cell: Cell) -> str:
        """Return the sets of items that must no longer apply."""
        texts = [" and ".join(map(item_of_cell, group)) for group in cell.removals]
        if len(texts) > 1:
            return f"one of these must no longer apply to {self._known.subject.user}: {'; or '.join(texts)}"
        count = len(cell.removals[0])
        if count == 1:
            return f"{texts[0]} must no longer apply to {self._known.subject.user}; it is the only way"
        return f"all {count} ways must no longer apply to {self._known.subject.user}"

    def _item(self, one: CellItem, cell: Cell) -> str:
        who = " or ".join(self._principals(one))
        texts = conditions_of_item(one, cell.access)
        return item_of_cell(one) + (f", as {who}" if who else "") + (f", if {' and '.join(texts)}" if texts else "")

    def _principals(self, one: CellItem) -> Sequence[str]:
        if one.item is None:
            return ()
        found = applying(one.item, self._view.engine, self._known.subject)
        return [self._known.through(principal, self._view.roles) for principal in found]

    def document(self, cell: Cell) -> dict[str, Any]:
        """Return a cell as JSON; `removals` have the positions of ways."""
        positions = {id(one): n for n, one in enumerate(cell.ways)}
        return {
            "access": cell.access,
            "answer": cell.status.value,
            "policy": self._view.index.document(cell.decided_by),
            "depends": None if cell.status in _ANSWERS else dependence(cell),
            "ways": [self._item_document(one, cell) for one in cell.ways],
            "without_effect": [self._item_document(one, cell) for one in cell.allowing if not one.effective],
            "denials": [{**self._item_document(one, cell), "overridden": not one.effective} for one in cell.denying],
            "removals": [[positions[id(one)] for one in group] for group in cell.removals],
            "witness": witness_document(cell.witness) if cell.witness is not None else None,
        }

    def _item_document(self, one: CellItem, cell: Cell) -> dict[str, Any]:
        return {
            "policy": self._view.index.document(one.policy_id),
            "list": one.item.side if one.item else None,
            "item": one.item.number if one.item else None,
            "tags": sorted({each.tag.type for each in one.occurrences}),
            "zone": one.zone or None,
            "as": self._principals(one),
            "conditions": conditions_of_item(one, cell.access),
        }
