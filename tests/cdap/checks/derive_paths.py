"""Derives `ranger_cdap/cdap/checks/recorded_paths.toml` from the recorded calls.

    .venv/bin/python -m tests.cdap.checks.derive_paths > ranger_cdap/cdap/checks/recorded_paths.toml

Rules. An entity is the operation's own, in a role that `cdap-enforce-operations.toml` names, above the operation's own,
a fixed one of CDAP, or else in the role of its type. Left out are checks of types of datasets that CDAP brings along
(a denial changes nothing), of entities that a list shows besides, operations without a row, and those that repeat the
checks of an earlier one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase

from msgspec.structs import replace

from ranger_cdap.cdap.checks.recorded_paths import By, RecordedCheck, RecordedPath
from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import EntityId, parse_entity, resolve_entity
from ranger_cdap.cdap.pattern import EntityPattern
from tests.cdap.checks.test_replay import (
    CHECKS,
    DEFAULT,
    OPERATIONS,
    PROFILES,
    RECORDED,
    Call,
    is_for_a_type_of_cdap,
    related,
    row_of,
)

Roles = dict[str, tuple[EntityId | EntityPattern, ...]]

# An entity of CDAP itself; every other name comes from the sample.
FIXED = (parse_entity("namespace:system"),)
IMPERSONATED = "svc"
# Roles between which CDAP's way to deploy differs.
DEPLOYED_FROM = ("artifact", "jar")
# What a program does with its data, by the operation that the check stands for; any other check is made for each use.
ONLY_FOR = {"dataset.read": "read_datasets", "dataset.write": "written_datasets"}
# One local dataset is read, written, created and deleted.
ALWAYS = ("local_datasets",)

HEAD = """\
# The checks that CDAP 6.11.1 made on the path of each recorded operation. Made of tests/data/cdap-enforce-calls.jsonl:
#   .venv/bin/python -m tests.cdap.checks.derive_paths > ranger_cdap/cdap/checks/recorded_paths.toml
# The head of that file has the rules. `on`: `entity`, the type of an entity above it, or a role of the context.
"""


def paths() -> tuple[RecordedPath, ...]:
    """Every recorded operation that has a row and is not the same as one before, in the order of the recording."""
    found = [path for recorded in RECORDED for path in _of(recorded)]
    impersonated = {(path.operation, path.given) for path in found if path.impersonated}
    differing = {operation for operation, _ in impersonated}
    first: dict[object, RecordedPath] = {}
    for path in found:
        by = bool(path.impersonated) if path.operation in differing else None
        first.setdefault((path.operation, path.given, by, path.checks), replace(path, impersonated=by))
    return tuple(first.values())


def _of(recorded: str) -> Iterator[RecordedPath]:
    for row, entity, roles in taking_part(recorded):
        found = [check for call in _calls(recorded) for check, _ in _checks(call, recorded, row, entity, roles)]
        yield RecordedPath(
            row,
            recorded,
            tuple(dict.fromkeys(found)),
            tuple(role for role in DEPLOYED_FROM if role in roles),
            any(check.by == "impersonated" for check in found),
        )


def taking_part(recorded: str) -> Iterator[tuple[str, EntityId, Roles]]:
    """The row of a recorded operation, its entity, and the entities that have a role in it by the file."""
    mine = [one for one in OPERATIONS.replayed() if recorded in (one.calls_of or (one.recorded,))]
    for row in dict.fromkeys(one.row for one in mine):
        (entity,) = {parse_entity(one.entity) for one in mine if one.row == row}
        roles: Roles = {}
        for one in mine:
            roles |= related(one)
        yield row, entity, roles


def all_roles(recorded: str, row: str, entity: EntityId, roles: Roles) -> Roles:
    """The entities by role, also those that have one by their type."""
    found = {role: dict.fromkeys(entities) for role, entities in roles.items()}
    for call in _calls(recorded):
        for check, asked in _checks(call, recorded, row, entity, roles):
            if check.on in ROLES and check.on not in roles:
                found.setdefault(check.on, {})[asked] = None
    return {role: tuple(entities) for role, entities in found.items()}


def _calls(recorded: str) -> list[Call]:
    return [call for call in RECORDED[recorded].calls if not is_for_a_type_of_cdap(call)]


def _checks(
    call: Call, recorded: str, row: str, entity: EntityId, roles: Roles
) -> Iterator[tuple[RecordedCheck, EntityId]]:
    # The calls of a running program have no request.
    running = not RECORDED[recorded].request
    for kind, parts in call.visible:
        seen = resolve_entity(kind, parts).entity
        if seen == entity or any(seen in named for named in roles.values()):
            for on in _parts(seen, row, entity, roles, ""):
                yield RecordedCheck(_by(call, row, on, running=running), on, visible=True), seen
    if not call.visible:
        asked = resolve_entity(*call.entity).entity
        operation = CHECKS[DEFAULT].resolve(call.check).operations[0].operation.name
        for on in _parts(asked, row, entity, roles, operation):
            by = _by(call, row, on, running=running)
            yield RecordedCheck(by, on, call.permissions, call.child, call.hint), asked


def _parts(asked: EntityId, row: str, entity: EntityId, roles: Roles, operation: str) -> list[str]:
    """What the entity is in the operation; in several roles, if it has several."""
    if asked == entity:
        return ["entity"]
    named = [role for role, entities in roles.items() if any(_is(asked, one) for one in entities)]
    only = ONLY_FOR.get(operation)
    if named:
        return [role for role in named if only in (None, role) or role in ALWAYS]
    if asked == entity.ancestor(asked.type):
        return [asked.type]
    if asked in FIXED:
        return [str(asked)]
    used = [privilege.target for profile in PROFILES for a in row_of(row, profile).alternatives for privilege in a]
    of_type = [role for role, kind in ROLES.items() if kind == asked.type]
    return sorted(of_type, key=lambda role: (role not in used, of_type.index(role)))[:1]


def _is(asked: EntityId, one: EntityId | EntityPattern) -> bool:
    same_type = asked.type == one.type
    return same_type and all(fnmatchcase(part, wanted) for part, wanted in zip(asked.parts, one.parts, strict=True))


def _by(call: Call, row: str, on: str, *, running: bool) -> By:
    """Who is checked. The recorded CDAP ran programs in its own process, as who started them."""
    if call.by == IMPERSONATED:
        return "impersonated"
    alternatives = (row_of(row, profile).alternatives for profile in PROFILES)
    executing = {p.target for several in alternatives for each in several for p in each if p.person == "executing"}
    return "executing" if running or on in executing or (executing and on == "principal") else "requesting"


def written(found: tuple[RecordedPath, ...]) -> str:
    return HEAD + "".join(map(_path, found))


def _path(path: RecordedPath) -> str:
    lines = ["", "[[path]]", f"operation = {json.dumps(path.operation)}", f"recorded = {json.dumps(path.recorded)}"]
    if path.given:
        lines.append(f"given = {json.dumps(path.given)}")
    if path.impersonated is not None:
        lines.append(f"impersonated = {json.dumps(path.impersonated)}")
    return "\n".join([*lines, "checks = [", *map(_check, path.checks), "]", ""])


def _check(check: RecordedCheck) -> str:
    members = {"by": check.by, "on": check.on}
    if check.visible:
        members["visible"] = True
    else:
        members |= {"permissions": check.permissions, "child": check.child, "hint": check.hint}
    texts = [f"{name} = {json.dumps(value)}" for name, value in members.items() if value is not None]
    return f"  {{ {', '.join(texts)} }},"


if __name__ == "__main__":
    sys.stdout.write(written(paths()))
