"""Creations and deletions in a record or a journalled check. Pure; shared with the sync job's source `data-plane`.

The table `creations.toml` lists the requests and checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal
from urllib.parse import unquote

import msgspec

from ranger_cdap.cdap.creations import ChangeKind, RequestPattern, RequestRow, load_creations
from ranger_cdap.cdap.deletions import deletion_steps, may_be_refused
from ranger_cdap.cdap.entity import EntityId, EntityType, entity_id
from ranger_cdap.errors import InvalidEntity
from ranger_cdap.wire.event_wire import CheckRecord, JournalledCheck, Record

Outcome = Literal["done", "unclear", "nothing"]

NO_STATUS: Final = -1
"""Status of a request whose answer is unknown."""

UNFINISHED_AFTER: Final = 600.0
"""Seconds after which an allowed request without a record of its result counts as lost."""

_Fitting = tuple[RequestRow, Mapping[str, str]]
_SAFE: Final = ("GET", "HEAD", "OPTIONS")
"""Methods of requests that create nothing."""

_NO_ROWS: Final[tuple[RequestRow, ...]] = ()


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """Effect of a request on an entity, as far as its check and its answer show; times are epoch milliseconds.

    The entity's name may be one that CDAP does not allow (`is_well_formed`). The effect is not before `started` and not
    after `ended`, by the clock of process `clock`; `requested` is when the request began. `requester` sent it, if
    `user` is a user whom CDAP impersonates for them. `check` is the check's id, `request` method, path and status.
    `version`: the one that was created or, for a deletion, the only one that was deleted. `child`: the check is about
    entities of that type below. `refused`: the check was refused, on an entity of that type in this one.
    """

    kind: ChangeKind
    entity: EntityId
    outcome: Outcome
    user: str
    started: int
    ended: int
    clock: str
    check: str
    requester: str = ""
    request: str = ""
    version: str = ""
    child: str = ""
    requested: int = 0
    refused: str = ""

    @property
    def time(self) -> int:
        """Return its time in the order of changes: a creation by its start, a deletion by its end."""
        return self.started if self.kind is ChangeKind.CREATE else self.ended


@dataclass(frozen=True, slots=True)
class _About:
    kind: ChangeKind
    entity: EntityId
    outcome: Outcome
    version: str = ""
    child: str = ""


def changes_in(record: Record) -> Iterator[RecordedChange]:
    """Yield the changes that the allowed checks of a record stand for; most records have none.

    A check with an id that may have been journalled is one even if the request changed nothing: the record is the end
    of that check.
    """
    checks = [check for check in record.checks if _may_change(check)]
    if not checks:
        return
    path = record.uri.partition("?")[0]
    rows = _rows().get(record.method, _NO_ROWS)
    fitting = [(row, named) for row in rows if (named := names_in_path(row.request, path)) is not None]
    for check in checks:
        by_row = next((found for each in fitting if (found := _by_row(each, record, check))), None)
        abouts = [by_row] if by_row else []
        if by_row is None or _is_about_one_below(by_row, check):
            # The check has ended, also for anything else it may have been about.
            abouts += _only_checked(check, may_create=record.method not in _SAFE and not 300 <= record.code < 500)
        for about in abouts:
            started = record.started if check.at is msgspec.UNSET else check.at
            yield RecordedChange(
                kind=about.kind,
                entity=about.entity,
                outcome=about.outcome,
                user=check.principal,
                started=started,
                ended=max(started, record.ended),
                requester=_requester(record, check),
                clock=check.process or "",
                check=check.id or "",
                request=request_text(record.method, path, record.code),
                version=about.version,
                child=about.child,
                requested=record.started,
            )


def refusals_in(record: Record) -> Iterator[RecordedChange]:
    """Yield the refused checks by which the deletion of a namespace may have ended: this request, or one of it."""
    if not 300 <= record.code < 500 or all(check.allowed for check in record.checks):
        return
    path = record.uri.partition("?")[0]
    if not any(_deletes_a_namespace(row, record, path) for row in _rows().get(record.method, _NO_ROWS)):
        return
    for check in record.checks:
        if check.allowed or not (check.id and check.process and check.at) or isinstance(check.child_type, str):
            continue
        if refusal := refusal_of_check(check, check.id, check.process, check.at, max(check.at, record.ended)):
            text = request_text(record.method, path, record.code)
            yield replace(refusal, request=text, requested=record.started)


def refusal_of_check(
    check: JournalledCheck | CheckRecord, id_: str, process: str, at: int, ended: int
) -> RecordedChange | None:
    """Return the refusal of a check in the deletion of a namespace; `None` if that needs no such check.

    It was made `at` that time of the `process`.
    """
    row = load_creations().journal_row(check.type, check.permissions)
    if row is None or row.kind is not ChangeKind.DELETE or not may_be_refused(row.checked.name) or not check.parts:
        return None
    return RecordedChange(
        kind=ChangeKind.DELETE,
        entity=EntityId("namespace", (check.parts[0],)),
        outcome="nothing",
        user=check.principal,
        started=at,
        ended=ended,
        clock=process,
        check=id_,
        refused=row.checked.name,
    )


def creations_and_deletions(record: Record) -> Iterator[RecordedChange]:
    """Yield the successful creations and deletions of whole entities, without skipped entities."""
    skips = load_creations().skips
    for change in changes_in(record):
        whole = change.kind is ChangeKind.CREATE or not change.version
        if change.outcome == "done" and whole and is_well_formed(change.entity) and not skips(change.entity):
            yield change


def change_of_check(check: JournalledCheck, id_: str, never: int) -> RecordedChange | None:
    """Return the change that a journalled check may begin; `never` is the end of a request whose end is unknown."""
    row = load_creations().journal_row(check.type, check.permissions)
    if row is None:
        return None
    entity, version = _checked_entity(row.checked, check.parts)
    can_be = not row.child or check.frame in load_creations().frames.schedule
    return RecordedChange(
        kind=row.kind,
        entity=entity,
        outcome="unclear" if can_be else "nothing",
        user=check.principal,
        started=check.at,
        ended=never,
        clock=check.process,
        check=id_,
        version=version,
        child=row.child,
    )


def names_in_path(request: RequestPattern, path: str) -> dict[str, str] | None:
    """Return the decoded names in the path of such a request, by variable; `None` for another request's path.

    A name that cannot be decoded stays as it is, which is not a name that CDAP allows.
    """
    match = _pattern(request.uri).fullmatch(path)
    return None if match is None else dict(zip(request.variables, map(_decoded, match.groups()), strict=True))


def outcome_of(request: RequestPattern, code: int, *, several: bool) -> Outcome:
    """Return the effect of a listed request, by its status: only a status between 300 and 499 means none.

    A request on `several` entities may have changed some before it failed.
    """
    if code in request.codes:
        return "done"
    return "nothing" if 300 <= code < 500 and not several else "unclear"


def request_text(method: str, path: str, code: int) -> str:
    """Return method, path and status, which match views of one request; empty if the status is unknown."""
    return "" if code == NO_STATUS else f"{method} {path} {code}"


def is_well_formed(entity: EntityId) -> bool:
    """Return true if the entity has the parts of its type, each a name that CDAP allows."""
    try:
        entity_id(entity.type, entity.parts)
    except InvalidEntity:
        return False
    return True


def _deletes_a_namespace(row: RequestRow, record: Record, path: str) -> bool:
    """Return true if a request deletes a namespace, or CDAP sends it to itself to delete what is in one."""
    if not row.several or row.kind is not ChangeKind.DELETE or names_in_path(row.request, path) is None:
        return False
    step = deletion_steps().get(row.entity.name)
    # The router adds the address of the client, so that no user's request passes for one of CDAP.
    return row.entity.name == "namespace" or (step is not None and step.separate and not record.user_ip)


def _may_change(check: CheckRecord) -> bool:
    """Return true if a check was allowed and the table has a row for it."""
    if not check.allowed or isinstance(check.child_type, str):
        return False
    journalled = load_creations().journalled
    return any((check.type, permission) in journalled for permission in check.permissions)


def _by_row(fitting: _Fitting, record: Record, check: CheckRecord) -> _About | None:
    """Return the subject of the check, if it is of the row and the names in the path agree with it."""
    row, named = fitting
    levels = row.checked.path[1:]
    versions = 1 if row.checked.version_at else 0
    matches = (
        check.type in row.checked.cdap_names
        and row.permission in check.permissions
        and len(levels) <= len(check.parts) <= len(levels) + versions
    )
    if not matches:
        return None
    given = dict(zip(levels, check.parts, strict=False))
    version = check.parts[-1] if len(check.parts) > len(levels) and row.entity == row.checked else ""
    if row.of_version:
        # Without its version the deletion of one version would pass for that of the whole entity.
        given["version"] = version = version or named["version"]
    elif row.kind is ChangeKind.DELETE:
        version = ""
    if any(given.get(level, name) != name for level, name in named.items()):
        return None
    outcome = outcome_of(row.request, record.code, several=row.several)
    given = dict(named) | given
    if not given.keys() >= {*row.entity.path[1:]}:
        entity, _ = _checked_entity(row.checked, check.parts)
        return _About(row.kind, entity, outcome, child=row.entity.name)
    parts = tuple(given[level] for level in row.entity.path[1:])
    return _About(row.kind, EntityId(row.entity.name, parts), outcome, version)


def _is_about_one_below(about: _About, check: CheckRecord) -> bool:
    """Return true if a request was about one entity, and its check about the contents of another one."""
    row = load_creations().journal_row(check.type, check.permissions)
    return row is not None and bool(row.child) and not about.child


def _only_checked(check: CheckRecord, *, may_create: bool) -> Iterator[_About]:
    """Yield the changes of a check that no row of the record's request is about.

    An unlisted request that succeeded may have created what it was allowed to: CDAP deploys applications under more
    paths than one. Other operations checked as a deletion delete nothing (truncate, remove metadata).
    """
    row = load_creations().journal_row(check.type, check.permissions)
    if row is None or not check.id:
        return
    entity, version = _checked_entity(row.checked, check.parts)
    unclear = may_create and row.kind is ChangeKind.CREATE and not row.child
    yield _About(row.kind, entity, "unclear" if unclear else "nothing", version, row.child)


def _checked_entity(kind: EntityType, parts: Sequence[str]) -> tuple[EntityId, str]:
    """Return the entity of a check, and its version if it names one; the parts may be too few or too many."""
    at = kind.version_at
    if at is not None and len(parts) == at + 1:
        return EntityId(kind.name, tuple(parts[:at])), parts[at]
    return EntityId(kind.name, tuple(parts)), ""


def _requester(record: Record, check: CheckRecord) -> str:
    """Return the only other user among the checks of a request; empty if there are several."""
    others = {each.principal for each in record.checks} - {check.principal}
    return next(iter(others)) if len(others) == 1 else ""


def _decoded(segment: str) -> str:
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        return segment


@cache
def _rows() -> Mapping[str, tuple[RequestRow, ...]]:
    table = load_creations().data_plane
    methods = {row.request.method for row in table}
    return {method: tuple(row for row in table if row.request.method == method) for method in methods}


@cache
def _pattern(uri: str) -> re.Pattern[str]:
    return re.compile(f"{uri}/?", re.ASCII)
