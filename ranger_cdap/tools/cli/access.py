"""`ranger-cdap access`: who has which access to which entities, in one form for all questions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import click
from msgspec import to_builtins

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.inventory import read_entities
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY_TYPE, FILE, GROUPS, EntityParameter, LocationParameter, refuse_unused
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.config import Location, StoreUrl
from ranger_cdap.engine import AccessRequest
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.tools.analysis.access_paths import CellFinder
from ranger_cdap.tools.cli.access_matrix import show_matrix
from ranger_cdap.tools.cli.access_text import (
    holder_document,
    holder_rows,
    pattern_lines,
    reach_document,
    user_lines,
)
from ranger_cdap.tools.cli.access_ways import WaysReport
from ranger_cdap.tools.questions.access_holders import access_holders
from ranger_cdap.tools.questions.effective_access import reached
from ranger_cdap.tools.questions.known_user import KnownUser, PolicyView, access_types
from ranger_cdap.tools.questions.namespace_matrix import namespace_matrix

_LIST: Final = "list"
_MATRIX: Final = "matrix"
_PARQUET: Final = "parquet"
_MOST_GRANTS: Final = 5
"""Rows of the sync job's policies that are shown one by one; more are counted, unless `--all`."""


class _EntityOrPattern(EntityParameter):
    """An entity, or a pattern of entities."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the entity or the pattern.

        Raises:
            InvalidInput: the text is neither.
        """
        return parse_pattern(value) if isinstance(value, str) else value


def _address(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    try:
        return None if text is None else str(ip_address(text))
    except ValueError:
        raise InvalidInput(f"`{text}` is not an address; write it like 10.1.2.3") from None


@dataclass(frozen=True, slots=True)
class _AccessQuestion:
    """The question, as typed."""

    users: tuple[str, ...]
    groups: tuple[str, ...]
    entity: EntityId | EntityPattern | None
    accesses: tuple[str, ...]
    ways: bool
    client_ip: str | None
    all_: bool
    kinds: tuple[str, ...]
    inventory: Path | None
    people: Path | None
    out: Location | None

    def refuse_unused(self, form: str) -> None:
        """Refuse options that the form of the answer has no use for, and a question that lacks one.

        Raises:
            InvalidInput: there is such an option, or one is missing.
        """
        is_entity, one_user = isinstance(self.entity, EntityId), len(self.users) == 1
        listed, tabled, written = form == _LIST, form == _MATRIX, form == _PARQUET
        is_namespace = isinstance(self.entity, EntityId) and self.entity.type == "namespace"
        refuse_unused(
            (self.client_ip, listed and is_entity and one_user, "`--client-ip` needs `--user` and an entity"),
            (self.ways, listed and is_entity and one_user, "`--ways` needs `--user` and an entity"),
            (self.all_, listed and one_user and not is_entity, "`--all` needs `--user` without an entity"),
            (self.accesses, listed, f"`--access` needs `--format {_LIST}`"),
            (self.groups, tabled or one_user, f"`--group` needs `--user`, or `--format {_MATRIX}`"),
            (self.kinds, tabled, f"`--type` needs `--format {_MATRIX}`"),
            (self.inventory or self.out, not listed, f"`--inventory` and `--out` need another format than {_LIST}"),
            (
                listed,
                one_user or (self.entity and not self.users),
                "name a user (`--user`), an entity (`--entity`), or both",
            ),
            (tabled, is_namespace, f"`--format {_MATRIX}` needs a namespace, like `--entity namespace:ns1`"),
            (written, self.inventory and self.out, f"`--format {_PARQUET}` needs `--inventory` and `--out`"),
            (isinstance(self.out, StoreUrl), written, f"`--out` with an address needs `--format {_PARQUET}`"),
            (self.people, written, f"`--users` needs `--format {_PARQUET}`"),
            (
                written,
                not (self.entity or self.users),
                f"`--format {_PARQUET}` takes entities from `--inventory` and users from `--users`",
            ),
        )


@click.command(
    "access",
    cls=Command,
    examples=(
        "ranger-cdap access --entity dataset:ns1.purchases",
        "ranger-cdap access --entity 'dataset:ns1.sales*' --access read",
        "ranger-cdap access --user alice --group etl --policies download.json --json",
        "ranger-cdap access --user alice --entity dataset:ns1.purchases --ways",
        "ranger-cdap access --entity namespace:ns1 --format matrix --out ns1.html",
        "ranger-cdap access --format parquet --inventory inventory.jsonl --out /var/lib/ranger-cdap/review/2026-11",
    ),
    exits={
        ExitCode.OK: "shown, also if there is no access",
        ExitCode.ERROR: "an engine contradicts the analysis, which is a fault of the analysis",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@click.option("--user", "users", multiple=True, metavar="USER", help="The access of this user. Repeatable in a matrix.")
@GROUPS
@click.option(
    "--entity", type=_EntityOrPattern(), metavar="ENTITY", help="Access to this entity, or pattern of entities."
)
@click.option("--access", "accesses", multiple=True, metavar="TYPE", help="Only this access type. Repeatable.")
@click.option("--ways", is_flag=True, help="Of a user and an entity: also denials, and what would end the access.")
@click.option(
    "--client-ip", callback=_address, metavar="ADDRESS", help="Answer for a request from this address now, not for any."
)
@click.option("--all", "all_", is_flag=True, help="Show each policy of the sync job, however many there are.")
@click.option(
    "--format",
    "form",
    type=click.Choice([_LIST, _MATRIX, _PARQUET]),
    default=_LIST,
    show_default=True,
    help="Rows of text; a matrix of a namespace; or every answer on an inventory.",
)
@click.option(
    "--out",
    type=LocationParameter(),
    metavar="FILE|DIR",
    help="A matrix: the HTML page to write. Parquet: a new directory, or its address in HDFS or S3.",
)
@click.option(
    "--inventory", type=FILE, metavar="FILE", help="Inventory (`sync inventory`): entities besides those policies name."
)
@click.option(
    "--type", "kinds", type=ENTITY_TYPE, multiple=True, help="In a matrix: only this entity type. Repeatable."
)
@click.option(
    "--users",
    "people",
    type=FILE,
    metavar="FILE",
    help="Parquet: users, one per line; or `.jsonl` with users and their groups. Default: those whom policies name.",
)
@policy_files
@pass_invocation
@click.pass_context
def access(
    context: click.Context,
    invocation: Invocation,
    /,
    form: str,
    files: PolicyFiles | None,
    **typed: Any,
) -> None:
    """Show who has which access to which entities, and by which policies and items.

    Of an entity: everybody, and all users, groups and roles with access. The row of a group or role is for a user with
    no other groups or roles; a user counts with the groups Ranger knows (`plugin.use_ranger_groups`). Of a pattern, as
    `dataset:ns1.sales*`: each item of a policy, and the part of the pattern on which it allows access.

    Of a user: all access, then what denials and exceptions take away; of a user and an entity, the items that allow it.
    Groups are those of Ranger's user store, of plugins and of `--group`. An access that several items allow is shown
    with the first of them. Conditions are named, unless `--client-ip` evaluates them. The access `_admin` is the right
    to edit policies. Rows were confirmed by evaluating a request, unless they say what is undecided.

    A matrix shows which users and groups can read, write, administer and execute which entities of a namespace: those
    that policies name, and those given. The row `dataset:ns1.*` is for all datasets without a row of their own. Parquet
    has every answer on all entities of an inventory: in DIR/answers, with a summary by namespace that is
    shown. Nothing is audited.
    """
    asked = _AccessQuestion(**typed)
    asked.refuse_unused(form)
    if form == _PARQUET:
        _write_answers(invocation, asked, files)
        return
    with authorizer_by(invocation, files) as authorizer:
        if form == _MATRIX:
            _show_matrix(invocation, asked, authorizer)
            return
        view = PolicyView.of(authorizer)
        wanted = access_types(asked.accesses, view.engine)
        known = KnownUser.of(authorizer, view, asked.users[0], asked.groups) if asked.users else None
        for note in (*(known.notes if known else ()), *view.notes):
            invocation.messages.print(note)
        unknown = view.names.unknown(asked.users, asked.groups, [asked.entity] if asked.entity else ())
        invocation.warn_of(unknown)
        if isinstance(asked.entity, EntityId):
            if known is None:
                _show_holders(invocation, authorizer, view, asked.entity, wanted, unknown)
            else:
                _show_ways(invocation, view, known, asked, wanted, unknown)
            return
    context.exit(_show_rows(invocation, view, known, asked, wanted, unknown))


def _show_rows(
    invocation: Invocation,
    view: PolicyView,
    known: KnownUser | None,
    asked: _AccessQuestion,
    wanted: Sequence[str],
    unknown: Sequence[UnknownName],
) -> ExitCode:
    """Show the access of a user, or of anyone to a pattern."""
    assert not isinstance(asked.entity, EntityId)
    found = reached(view, wanted, known, asked.entity)
    document = reach_document(view, known, asked.entity, found) | {"unknown": to_builtins(unknown)}
    if known is not None:
        invocation.show(document, user_lines(view, known, found, None if asked.all_ else _MOST_GRANTS))
    else:
        invocation.show(document, pattern_lines(found.allowed) or [f"no one has any access to {asked.entity}"])
    for sentence in found.errors:
        invocation.messages.print(sentence)
    return ExitCode.ERROR if found.errors else ExitCode.OK


def _show_holders(
    invocation: Invocation,
    authorizer: Authorizer,
    view: PolicyView,
    entity: EntityId,
    wanted: Sequence[str],
    unknown: Sequence[UnknownName],
) -> None:
    found = list(access_holders(authorizer, entity, view.index))
    holders = [holder_document(one, view.index, wanted) for one in found]
    invocation.show_table(
        {"entity": str(entity), "unknown": to_builtins(unknown), "holders": holders},
        ["who", "name", "access", "", "by", "in groups"],
        holder_rows(found, wanted, view.index),
        otherwise=f"no one has any access to {entity}",
    )


def _show_ways(
    invocation: Invocation,
    view: PolicyView,
    known: KnownUser,
    asked: _AccessQuestion,
    wanted: Sequence[str],
    unknown: Sequence[UnknownName],
) -> None:
    assert isinstance(asked.entity, EntityId)
    cells, resource = CellFinder(view.engine), to_resource(asked.entity, view.instance)
    if asked.client_ip is None:
        found = [cells.cell(known.subject, resource, each) for each in wanted]
    else:
        now = time.time_ns() // 1_000_000
        request = AccessRequest(
            resource, "", known.subject.user, known.subject.groups, client_ip=asked.client_ip, access_time=now
        )
        found = [cells.lookup(replaced(request, access_type=each)) for each in wanted]
    report = WaysReport(view, known, asked.entity, found)
    invocation.show(report.document() | {"unknown": to_builtins(unknown)}, report.lines(whole=asked.ways))


def _show_matrix(invocation: Invocation, asked: _AccessQuestion, authorizer: Authorizer) -> None:
    assert isinstance(asked.entity, EntityId)
    now, instance = time.time_ns() // 1_000_000, authorizer.decider.config.instance
    there = read_entities(asked.inventory, instance=instance, now=now) if asked.inventory is not None else ()
    with invocation.messages.status("asking about every user and entity") as progress:
        found = namespace_matrix(
            authorizer,
            asked.entity,
            entities=there,
            users=asked.users,
            groups=asked.groups,
            kinds=asked.kinds,
            now=now,
            progress=progress.update,
        )
    show_matrix(invocation, found, None if asked.out is None else Path(str(asked.out)))


def _write_answers(invocation: Invocation, asked: _AccessQuestion, files: PolicyFiles | None) -> None:
    written = invocation.plugins.hook.ranger_cdap_review(
        invocation=invocation, files=files, inventory=asked.inventory, people=asked.people, out=asked.out
    )
    if not written:
        raise InvalidInput(f"`--format {_PARQUET}` needs the sync job, which is not installed")
