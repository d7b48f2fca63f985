"""`ranger-cdap matrix`: an access matrix of a namespace, instead of reading its policies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.cdap.inventory import read_entities
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.files import write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY_TYPE, FILE
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.questions.matrix import ActionAccess
from ranger_cdap.questions.matrix_document import MARKS, MatrixNotes, matrix_document
from ranger_cdap.questions.namespace_matrix import NamespaceMatrix, namespace_matrix
from spark_sync.cli.matrix_page import page

_LEGEND: Final = (
    "R read, W write, A admin, X execute; ? depends on a condition or a time, / for a part of the row's entities,"
    " ~ may be, ! is denied"
)


@click.command(
    "matrix",
    cls=Command,
    examples=(
        "ranger-cdap matrix ns1 --out ns1.html",
        "ranger-cdap matrix ns1 --inventory inventory.jsonl --user alice --type dataset --json",
    ),
    exits={ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@click.argument("namespace", metavar="NAMESPACE")
@click.option("--out", type=FILE, metavar="FILE", help="Write the matrix as a self-contained HTML page.")
@click.option(
    "--inventory",
    type=FILE,
    metavar="FILE",
    help="Inventory (`sync inventory`); without it, only entities named by policies are shown.",
)
@click.option("--user", "users", multiple=True, metavar="USER", help="Another user. Repeatable.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Another group. Repeatable.")
@click.option("--type", "kinds", type=ENTITY_TYPE, multiple=True, help="Only entities of this type. Repeatable.")
@policy_files
@pass_invocation
def matrix_command(
    invocation: Invocation,
    namespace: str,
    out: Path | None,
    inventory: Path | None,
    users: tuple[str, ...],
    groups: tuple[str, ...],
    kinds: tuple[str, ...],
    files: PolicyFiles | None,
) -> None:
    """Show which users and groups can read, write, administer and execute which entities of NAMESPACE.

    Entities are those that policies about the namespace name, and those of the inventory; users and groups are those
    that these policies and their roles name, the members of these groups in Ranger's user store whose access differs
    from everybody's, and those given. A user counts with the groups Ranger knows them to be in
    (`plugin.use_ranger_groups`), a group alone is for a user with nothing else, and everybody is anyone no policy
    names. The row `dataset:ns1.*` is for all datasets without a row of their own. Nothing is audited.
    """
    wanted = entity_id("namespace", [namespace])
    now = time.time_ns() // 1_000_000
    with authorizer_by(invocation, files) as authorizer:
        there = (
            () if inventory is None else read_entities(inventory, instance=authorizer.decider.config.instance, now=now)
        )
        with invocation.messages.status("asking about every user and entity") as progress:
            found = namespace_matrix(
                authorizer,
                wanted,
                entities=there,
                users=users,
                groups=groups,
                kinds=kinds,
                now=now,
                progress=progress.update,
            )
    for note in found.notes:
        invocation.messages.print(note)
    shown = found.matrix
    if out is not None:
        write_file(out, page(shown, found.index).encode())
        invocation.messages.print(f"`{out}` shows {len(shown.entities)} entities and {len(shown.subjects)} columns")
    if invocation.as_json:
        invocation.print_json(matrix_document(shown, found.index))
    elif out is None:
        _print_matrix(invocation, found)


def _print_matrix(invocation: Invocation, found: NamespaceMatrix) -> None:
    """Print the matrix on a terminal: a table or, if that is too wide, a list for each entity; then the notes."""
    shown, notes = found.matrix, MatrixNotes(found.index)

    def letter(name: str, mark: ActionAccess) -> str:
        return f"{name}{MARKS.get(mark.standing, '')}{notes.number(mark) or ''}"

    columns = ["entity", *(str(subject) for subject in shown.subjects)]
    rows = [
        [str(entity), *("".join(letter(*pair) for pair in cell.letters) for cell in row)]
        for entity, row in zip(shown.entities, shown.rows, strict=True)
    ]
    if sum(max(map(len, column)) + 2 for column in zip(columns, *rows, strict=True)) <= invocation.console.width:
        invocation.print_table(columns, rows)
    else:
        for entity, *cells in rows:
            texts = [f"{name} {letters}" for name, letters in zip(columns[1:], cells, strict=True) if letters]
            invocation.console.print(f"{entity}: {', '.join(texts) or 'no one'}")
    for number, text in enumerate(notes.texts, 1):
        invocation.console.print(f"{number}: {text}")
    invocation.messages.print(_LEGEND)
