"""What the company does on working days, as audit records: each access decided by its policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Final
from uuid import UUID

from company import INSTANCE, Company, Person

from ranger_cdap.audit.record import AuditedAccess, AuditedService, AuditRecord, record_of
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger_model.document import replaced

LEFT: Final = {"pia.costa": 50, "svc-logistics": 60}
"""Who stops working, and on which day."""
MOVED: Final = "hugo.costa"
"""Someone who needs what their new department has, and has not got it."""
_SATURDAY: Final = 5
_HABITS: Final = {"namespace": "read", "dataset": "read", "application": "read", "program": "execute", "topic": "read"}
_Habit = tuple[EntityId, str]


def records(company: Company, engine: PolicyEngine, *, first: date, days: int, seed: int) -> Iterator[AuditRecord]:
    """Yield the records of so many days in order of time, the same ones for the same seed."""
    random = Random(seed)  # noqa: S311 made-up accesses protect nothing
    habits = {person: _habits(random, person, company.entities) for person in company.people}
    for number in range(days):
        day = first + timedelta(days=number)
        at_work = [person for person in company.people if _works(random, person, day, number)]
        asked = sorted(((_moment(random, day, p), p) for p in at_work for _ in range(_asks(p))), key=lambda one: one[0])
        for moment, person in asked:
            entity, access = random.choice(habits[person])
            yield _record(random, engine, person, entity, access, moment)


def _habits(random: Random, person: Person, entities: Sequence[EntityId]) -> list[_Habit]:
    """Return what a person works with: few of the entities of their department, and one of another."""
    own = [entity for entity in entities if entity.parts[0] == person.department and entity.type in _HABITS]
    if person.is_service:
        own = [entity for entity in own if entity.type == "program" or entity.parts[-1].startswith("raw_")]
    elif any(group.endswith(("analysts", "managers")) for group in person.groups):
        own = [entity for entity in own if entity.type == "dataset" and not entity.parts[1].startswith("raw_")]
    found = [(entity, _HABITS[entity.type]) for entity in random.sample(own, min(12, len(own)))]
    if person.is_service or any(group.endswith("engineers") for group in person.groups):
        found += [(entity, "write") for entity, _ in found if entity.type == "dataset"]
    if person.name == MOVED:
        found += [
            (e, "read") for e in entities if e.parts[0] == "risk" and e.parts[-1] in ("mart_scores", "mart_claims")
        ]
    return found


def _works(random: Random, person: Person, day: date, number: int) -> bool:
    if number >= LEFT.get(person.name, number + 1):
        return False
    return person.is_service or (day.weekday() < _SATURDAY and random.random() < 0.85)


def _asks(person: Person) -> int:
    return 12 if person.is_service else 6


def _moment(random: Random, day: date, person: Person) -> int:
    """Return epoch milliseconds: office hours, or the night for a service."""
    hour = 1 if person.is_service else 8
    seconds = hour * 3600 + random.randrange(10 * 3600 if hour > 1 else 2 * 3600)
    return int(datetime.combine(day, time(), UTC).timestamp() + seconds) * 1000


def _record(
    random: Random, engine: PolicyEngine, person: Person, entity: EntityId, access: str, moment: int
) -> AuditRecord:
    request = AccessRequest(
        to_resource(entity, INSTANCE),
        access,
        user=person.name,
        groups=person.groups,
        access_time=moment,
        client_ip=f"10.{1 if person.is_service else 2}.0.{1 + random.randrange(200)}",
    )
    decision = engine.evaluate(request)
    audited = AuditedAccess(
        time=moment,
        user=person.name,
        access=f"{entity.type}.{access}",
        action=access,
        resource=(INSTANCE, *entity.parts),
        resource_type=entity.type,
        client_ip=request.client_ip,
    )
    why = "" if decision.allowed else f"{person.name} needs {access.upper()} on {entity}"
    name = str(UUID(int=random.getrandbits(128), version=4))
    found = record_of(decision, AuditedService.of(engine), audited, allowed=decision.allowed, reason=why, name=name)
    return replaced(found, agentHost="cdap-master-1")
