"""Events for tests of the fold, from short texts.

`alice+ 110-115`: alice's request to create the entity was checked at 110 and succeeded at 115, as journal and record
say. `-` for `+` deletes; `!500`, `!404`: another status; `110-`: no record has come. `alice~+ 110-115`: a record whose
check nobody journalled. `router:alice+ 110`, `audit:alice+ 110`: a line of the router's log, a message of CDAP.
`rejected:?+ 110`: what a rejected line lets one read. `exists 130-131`, `gone 130-131`: what CDAP answered.
At the end may stand `ns`, `app` (the entity), `v1` (one version), `p2` (another process), `at 900` (when received).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome, Stage

NAMESPACE = EntityId("namespace", ("ns1",))
DATASET = EntityId("dataset", ("ns1", "a.b"))
APPLICATION = EntityId("application", ("ns1", "App"))
SCHEDULE = EntityId("schedule", ("ns1", "App", "daily"))
ARTIFACT = EntityId("artifact", ("ns1", "lib"))
PLACES = {"ns": NAMESPACE, "app": APPLICATION}

JOURNAL = "data-plane"
_TEXT = re.compile(
    r"(?:(?P<source>router|audit|rejected):)?(?P<user>[a-z?]*)(?P<forged>~?)(?P<kind>[+-]) (?P<start>\d+)"
    r"(?P<dash>-?)(?P<end>\d*)(?: !(?P<status>\d+))?(?: (?P<place>ns|app))?(?: v(?P<version>\d+))?"
    r"(?: (?P<process>p\d))?(?: at (?P<received>\d+))?"
)
_ANSWER = re.compile(r"(?P<kind>exists|gone) (?P<start>\d+)-(?P<end>\d+)")


def events(texts: Iterable[str], entity: EntityId = DATASET) -> list[EntityEvent]:
    return [event for n, text in enumerate(texts) for event in _events(text, entity, n)]


def _events(text: str, entity: EntityId, n: int) -> list[EntityEvent]:
    if answer := _ANSWER.fullmatch(text):
        kind = ChangeKind.CREATE if answer["kind"] == "exists" else ChangeKind.DELETE
        asked, answered = int(answer["start"]), int(answer["end"])
        return [EntityEvent(entity, kind, Stage.ANSWER, "", asked, answered, "cdap", text, clock=JOURNAL)]
    found = _TEXT.fullmatch(text)
    assert found is not None, text
    start, end = int(found["start"]), int(found["end"] or 0)
    status = int(found["status"] or 200)
    about = PLACES.get(found["place"] or "", entity)
    kind = ChangeKind.CREATE if found["kind"] == "+" else ChangeKind.DELETE
    outcome = Outcome.DONE if status < 300 else Outcome.UNCLEAR if status >= 500 else Outcome.NOTHING
    user, version = found["user"].replace("?", ""), found["version"] or ""
    request = f"{'PUT' if kind is ChangeKind.CREATE else 'DELETE'} /{about} {status}"
    match found["source"]:
        case "router":
            line = EntityEvent(
                about, kind, Stage.REQUEST, user, start, NEVER, "router", text, outcome, request=request, received=start
            )
            return [line]
        case "audit":
            return [EntityEvent(about, kind, Stage.MESSAGE, user, start, start, "audit", text, received=start)]
        case "rejected":
            return [
                EntityEvent(about, kind, Stage.REJECTED, user, start, end or NEVER, "router", text, Outcome.UNCLEAR)
            ]
    check = EntityEvent(
        about,
        kind,
        Stage.CHECK,
        user,
        start,
        NEVER,
        JOURNAL,
        f"check {n}",
        Outcome.UNCLEAR,
        clock=found["process"] or "p1",
        check=f"{n}",
        version=version,
        received=start,
        caller="enforcer",
    )
    if not found["end"]:
        return [check]
    record = EntityEvent(
        about,
        kind,
        Stage.REQUEST,
        user,
        start,
        end,
        JOURNAL,
        f"record {n}",
        outcome,
        clock=check.clock,
        check=f"{n}" if not found["forged"] else f"forged {n}",
        request=request,
        version=version,
        received=int(found["received"] or end),
        caller="auditor",
        requested=start,
    )
    return [record] if found["forged"] else [check, record]
