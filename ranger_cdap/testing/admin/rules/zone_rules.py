"""Ranger Admin's validator of security zones as pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.testing.admin.model.documents import AdminServiceDef, Zone
from ranger_cdap.testing.admin.model.validation import ValidationFailure, failure
from ranger_cdap.testing.admin.rules.definitions import hierarchies
from ranger_cdap.testing.admin.rules.grant_rules import matches

Row = Mapping[str, Sequence[str]]


def check_zone(zone: Zone, definitions: Mapping[str, AdminServiceDef]) -> Iterator[ValidationFailure]:
    """Yield every rule that a zone violates by itself, in Ranger's order; `definitions` has those of its services."""
    yield from (
        failure(3038, part)
        for part in ("admin", "audit")
        if not any(getattr(zone, f"{part}_{kind}") for kind in ("users", "user_groups", "roles"))
    )
    for name, own in zone.services.items():
        if name in definitions:
            yield from _check_rows(name, own.resources, definitions[name])
        else:
            yield failure(3040, name)


def _check_rows(service: str, rows: Sequence[Row], definition: AdminServiceDef) -> Iterator[ValidationFailure]:
    for at, row in enumerate(rows):
        if not any(row.keys() == set(path[: len(row)]) for path in hierarchies(definition.resources)):
            yield failure(3042, service, f"[{', '.join(row)}]")
        yield from (
            failure(3039, level, subfield="resources")
            for level, values in row.items()
            if not any(map(str.strip, values))
        )
        if row in rows[:at]:
            yield failure(3052, _text(row), service, subfield="resources")


def check_overlap(zones: Sequence[Zone], service: str) -> Iterator[ValidationFailure]:
    """Yield a failure for the first resource of each zone that another zone matches too.

    Its values are taken as names, wildcards included, as by Ranger: `?in1` beside `fin*` is not noticed.
    """
    for zone in zones:
        for row in zone.rows(service):
            found = [other.name for other in zones if any(_matches(own, row) for own in other.rows(service))]
            if len(found) > 1:
                yield failure(3046, f"[{', '.join(found)}]", _text(row))
                break


def _matches(patterns: Row, row: Row) -> bool:
    shared = patterns.keys() & row.keys()
    return bool(shared) and all(
        any(matches(PolicyResource(values=[*patterns[at]]), value) for value in row[at]) for at in shared
    )


def _text(row: Row) -> str:
    levels = (f"{level}=[{', '.join(values)}]" for level, values in row.items())
    return f"{{{', '.join(levels)}}}"
