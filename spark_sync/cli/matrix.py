"""`ranger-cdap matrix`: an access matrix of a namespace, instead of reading its policies."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.files import write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY_TYPE, FILE
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.questions.access_holders import members_of
from ranger_cdap.questions.answer_documents import entity_document
from ranger_cdap.questions.matrix import MOST_CELLS, Matrix, MatrixCell, MatrixStatus, MatrixSubject, matrix
from ranger_cdap.questions.matrix_names import named_entities, named_people
from ranger_cdap.questions.policy_index import PolicyIndex
from spark_sync.cli.matrix_page import page
from spark_sync.review.entities import read_entities

_MARKS = {MatrixStatus.ALLOWED: "", MatrixStatus.CONDITIONAL: "?", MatrixStatus.DENIED: "!", MatrixStatus.NONE: ""}


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
    names. The row `dataset:ns1.*` is for what every dataset gives. Nothing is audited.
    """
    wanted = entity_id("namespace", [namespace])
    now = time.time_ns() // 1_000_000
    with authorizer_by(invocation, files) as authorizer:
        snapshot, instance = authorizer.snapshot, authorizer.decider.config.instance
        if snapshot.engine is None or snapshot.documents is None:
            raise NotReady(snapshot.reason)
        book = PolicyIndex.of(snapshot.documents)
        entities = named_entities(book, wanted)
        if inventory is not None:
            there = read_entities(inventory, instance=instance, now=now)
            entities |= {entity for entity in there if entity.is_within(wanted)}
        named_users, named_groups = named_people(book, wanted)
        asked = (named_users | set(users), named_groups | set(groups))
        shown = sorted((e for e in entities if not kinds or e.type in kinds), key=_order)
        if not shown:
            raise InvalidInput(f"nothing of type {' or '.join(kinds)} is known in `{namespace}`; give `--inventory`")
        others = set(members_of(snapshot.documents, None if book.names_the_user else asked[1])) - asked[0]
        others |= {part for entity in shown for part in entity.parts} - asked[0] if book.names_the_user else set()
        if others and (1 + sum(map(len, (*asked, others)))) * len(shown) > MOST_CELLS:
            invocation.messages.print(
                f"note: the {len(others):,} members of the groups are too many columns; not shown"
            )
            others = set()
        with invocation.messages.status("asking about every user and entity") as progress:
            found = matrix(authorizer, shown, *asked, others=others, now=now, progress=progress.update)
    if out is not None:
        write_file(out, page(found, book).encode())
        invocation.messages.print(f"`{out}` shows {len(found.entities)} entities and {len(found.subjects)} columns")
    if invocation.as_json:
        invocation.print_json(_document(found, book))
    elif out is None:
        _print_matrix(invocation, found)


def _order(entity: EntityId | EntityPattern) -> tuple[bool, str, tuple[str, ...]]:
    """Return a sort key that puts the namespace first."""
    return entity.type != "namespace", entity.type, entity.parts


def _print_matrix(invocation: Invocation, found: Matrix) -> None:
    """Print the matrix on a terminal: a table or, if that is too wide, a list for each entity."""
    columns = ["entity", *(str(subject) for subject in found.subjects)]
    rows = [
        [str(entity), *("".join(letter + _MARKS[mark.standing] for letter, mark in cell.letters) for cell in row)]
        for entity, row in zip(found.entities, found.rows, strict=True)
    ]
    if sum(max(map(len, column)) + 2 for column in zip(columns, *rows, strict=True)) <= invocation.console.width:
        invocation.print_table(columns, rows)
    else:
        for entity, *cells in rows:
            shown = [f"{name} {letters}" for name, letters in zip(columns[1:], cells, strict=True) if letters]
            invocation.console.print(f"{entity}: {', '.join(shown) or 'no one'}")
    invocation.messages.print("R read, W write, A admin, X execute; ? depends on a condition or a time, ! is denied")


def _document(found: Matrix, book: PolicyIndex) -> dict[str, object]:
    return {
        "namespace": found.namespace,
        "service": found.service,
        "policy_version": found.policy_version,
        "time": found.taken,
        "columns": [_subject(subject) for subject in found.subjects],
        "rows": [
            {
                "entity": entity_document(entity),
                "cells": [
                    {**_subject(subject), "actions": _actions(cell, book)}
                    for subject, cell in zip(found.subjects, row, strict=True)
                    if not cell.is_empty
                ],
            }
            for entity, row in zip(found.entities, found.rows, strict=True)
        ],
    }


def _subject(subject: MatrixSubject) -> dict[str, object]:
    return {"kind": subject.kind, "name": subject.name, "groups": subject.groups}


def _actions(cell: MatrixCell, book: PolicyIndex) -> dict[str, object]:
    return {
        action: {
            "standing": mark.standing.value,
            "allowed_now": mark.allowed,
            "policy": book.document(mark.policy_id),
        }
        for action, mark in cell.marks
        if mark.standing is not MatrixStatus.NONE
    }
