"""Plays a scenario: CDAP acts, lines travel, the sync job runs, is killed, and runs again until all is quiet."""

from __future__ import annotations

import hashlib
import heapq
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Secret as ConfigSecret
from ranger_cdap.config import SourceSettings
from ranger_cdap.wire.watermark import Watermark
from spark_sync.grants.zones import moves_into, zones_of
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.life import UNDECIDED_STATES, Life, State
from spark_sync.reconcile.confirmation import CdapAnswer, Round, events_of, questions
from spark_sync.sources import service_watermarks
from spark_sync.sources.audit import read as read_audit
from spark_sync.sources.data_plane import read as read_data_plane
from spark_sync.sources.http_access import read as read_http_access
from spark_sync.sources.line_reader import read_line
from tests.simulation.cdap import ADMIN, MASTER, Act, Cdap, Failure, Incarnation, Request
from tests.simulation.lines import (
    AUDITOR,
    ENFORCER,
    INSTANCE,
    MARKER,
    Stamps,
    check_of,
    message,
    principal_of,
    record_of,
    router_line,
)
from tests.simulation.namespace_deletion import NamespaceDeletion
from tests.simulation.pipeline import _PLANNING, Killed, MemoryLedger, Pipeline, Row
from tests.simulation.scenario import ADVERSARY, HONEST, LIB, MINUTE, START, Deployment, Forgery, Scenario, Secret

UNFINISHED = 600_000
SERVICES = ("data-plane", "second")
SOURCES = {
    **{name: (read_data_plane, SourceSettings(name=name, kind="data-plane", callers=(AUDITOR,))) for name in SERVICES},
    "router": (read_http_access, SourceSettings(name="router", kind="http-access", marker=ConfigSecret(MARKER))),
    "edge": (read_http_access, SourceSettings(name="edge", kind="http-access", marker=ConfigSecret(MARKER))),
    "audit": (read_audit, SourceSettings(name="audit", kind="audit")),
}
RANKS = {"audit": 10, **dict.fromkeys(SERVICES, 20), "router": 30, "edge": 40}
QUIET_RUNS = 6
ZONE_ROWS: tuple[Row, ...] = tuple(
    {"instance": [INSTANCE], "namespace": [namespace], **levels}
    for namespace, levels in (
        ("n*", {}),
        ("n1", {}),
        ("n1", {"dataset": ["kv"]}),
        ("n1", {"dataset": ["*"]}),
        ("n1", {"application": ["Shop"]}),
        ("other", {}),
    )
)
"""The resources that zones have."""


@dataclass
class Stream:
    """The lines of one source, with the time from which a run finds them, and how many were read."""

    lines: list[tuple[int, str]] = field(default_factory=list)
    read: set[int] = field(default_factory=set)


class Simulation:
    """One scenario, from its beginning to the quiet after its end."""

    def __init__(self, scenario: Scenario, settings: dict[str, Any] | None = None) -> None:
        self.scenario = scenario
        self.rng = random.Random(f"ids {scenario.seed}")
        self.zone_moves = random.Random(f"zone moves {scenario.seed}")
        self.cdap = Cdap()
        self.stamps = Stamps(self.rng, scenario.process_offsets, scenario.steps)
        self.process = 0
        self.streams = {name: Stream() for name in SOURCES}
        self.services = SERVICES[: scenario.services]
        self.received = dict.fromkeys(self.services, 0)
        self.happened: Counter[str] = Counter()
        self.checks: dict[str, list[dict[str, Any]]] = {}
        self.garbled: set[str] = set()
        self.unordered: set[str] = set()
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._n = 0
        self.now = START
        logs = {"audit": scenario.topic, "router": scenario.router, "edge": scenario.edge}
        names = (*self.services, *(name for name, is_read in logs.items() if is_read))
        self.configured = [SOURCES[name][1] for name in names]
        self.pipeline = Pipeline(
            FoldSettings(
                non_creators=frozenset({MASTER, "cdap"}),
                ranks={name: RANKS[name] for name in names},
                skew=scenario.skew,
                unfinished_after=UNFINISHED,
                uncorroborated=not scenario.deployment.is_journalled,
                recordless=frozenset(() if self._delivers_records else self.services),
                **(settings or {}),
            ),
            look_up=self._confirm if scenario.confirm else None,
            zones=scenario.zones,
        )
        self.listed: tuple[Life, ...] = ()
        self.history: list[tuple[int, dict[tuple[str, ...], str]]] = []
        self.owners: dict[tuple[EntityId, int], set[str]] = {}
        self.unreported: list[str] = []
        self.refused: list[NamespaceDeletion] = []

    def play(self, quiet_runs: int = QUIET_RUNS) -> Simulation:
        scenario = self.scenario
        for entity in scenario.known:
            self.cdap.alive[entity] = Incarnation(entity, "before", START - MINUTE, versions={"1.0"})
        taken = START - 5 * MINUTE + scenario.sync_offset
        versions = {LIB: ("1.0",)} if scenario.seed % 2 else {}
        self.pipeline.ledger.enter_baseline(taken, scenario.known, versions)
        self.listed = tuple(self.pipeline.ledger.rows.values())
        for request in scenario.requests:
            self.at(request.checked, lambda request=request: self._check(request))
        for at, _ in scenario.steps:
            self.at(at, lambda: self.happened.update(["clock set"]))
        for at in scenario.zone_changes:
            self.at(at, self._change_zone)
        for at in scenario.inventories:
            self.at(at, self._take_inventory)
        for at in scenario.restarts:
            self.at(at, self._restart)
        for forgery in scenario.forgeries:
            self.at(forgery.at, lambda forgery=forgery: self._forge(forgery))
        for n, at in enumerate(scenario.runs):
            self.at(at, lambda n=n: self.run(scenario.kills.get(n)))
        while self._queue:
            self.now, _, step = heapq.heappop(self._queue)
            step()
        self.settle(quiet_runs)
        return self

    def settle(self, runs: int = QUIET_RUNS) -> None:
        """Enough runs, far enough apart, for everything that will ever be known to be known."""
        for _ in range(runs):
            self.now += 6 * MINUTE
            self.run(None)

    def request(self, request: Request) -> None:
        """One more request, alone."""
        self.scenario.requests.append(request)
        self.at(request.checked, lambda: self._check(request))
        while self._queue:
            self.now, _, step = heapq.heappop(self._queue)
            step()

    def run(self, killed_at: int | None) -> None:
        """A run of the sync job; where it is killed, what it had read is read again."""
        rng = random.Random(f"run {self.scenario.seed} {self.now}")
        marks = {name: self._service_time(name) - rng.randrange(1_500) for name in self.services}
        if len(marks) > 1 and rng.random() < 0.3:
            marks[rng.choice(self.services)] -= rng.randrange(self.scenario.silent or 90_000)
        self._marks = {
            name: Watermark(v=1, service=name, watermark=self._stepped(name, mark), records=self._delivers_records)
            for name, mark in marks.items()
            if self.scenario.deployment is not Deployment.UNJOURNALLED
        }
        found = {name: self._new_lines(name, marks.get(name, 0) + rng.randrange(500)) for name in SOURCES}
        events = [event for name, lines in found.items() for n in lines for event in self._events(name, n)]
        self.pipeline.killer.at, self.pipeline.killer.steps = killed_at, 0
        now = self.now + self.scenario.sync_offset
        held = {key: life for key, life in self.pipeline.ledger.rows.items() if life.state is State.APPLIED}
        known = service_watermarks.horizons(
            self.configured, self._marks, now=now, hold_back=self.scenario.hold_back, skew=self.scenario.skew
        )
        try:
            self.pipeline.run(
                events,
                journals=known.journals,
                horizons=known.horizons,
                held=known.held,
                until=known.until,
                latest=known.latest,
                named_elsewhere=known.named_elsewhere,
            )
        except Killed:
            self.happened["kill"] += 1
            return
        finally:
            self.pipeline.killer.at = None
            self._note_owners()
        for name, lines in found.items():
            self.streams[name].read |= lines
        self.history.append((self.now, self.pipeline.ranger.grants()))
        self._note_doubts(held)

    def _take_inventory(self) -> None:
        self.happened["inventory"] += 1
        found = {entity: tuple(sorted(known.versions)) for entity, known in self.cdap.alive.items() if known.versions}
        taken = self.now - 5 * MINUTE + self.scenario.sync_offset
        self.pipeline.ledger.enter_baseline(taken, tuple(self.cdap.alive), found)

    def _note_owners(self) -> None:
        for key, life in self.pipeline.ledger.rows.items():
            if life.creator and life.state is not State.UNCONFIRMED:
                self.owners.setdefault(key, set()).add(life.creator)

    def _note_doubts(self, held: dict[tuple[EntityId, int], Life]) -> None:
        """Note whose grant this run should have revoked and reported: of lives applied before it and in doubt after."""
        for (entity, number), before in held.items():
            life = self.pipeline.ledger.rows[entity, number]
            if life.state not in (State.CONTESTED, State.SUSPENDED):
                continue
            self.happened[f"late evidence: {life.state}"] += 1
            if self.pipeline.ranger.holder(entity):
                self.unreported.append(f"{before.creator} keeps {entity}, which is {life.state}")
            if (entity, number) not in self.pipeline.runs[-1].revoked:
                self.unreported.append(f"the grant of {before.creator} on {entity} is not reported as revoked")

    # Security zones

    def _change_zone(self) -> None:
        """An administrator makes, changes, renames or deletes a zone, or moves what waits for it into it."""
        rng, ranger, ledger = (
            random.Random(f"zone {self.scenario.seed} {self.now}"),
            self.pipeline.ranger,
            self.pipeline.ledger,
        )
        name, row, new = next(iter(ranger.zones), ""), rng.choice(ZONE_ROWS), f"zone {self.now}"
        move = rng.choice(("changed", "renamed", "deleted", "replaced", "moved", "moved")) if name else "made"
        self.happened[f"zone {move}"] += 1
        if move == "moved":
            zones = zones_of(_PLANNING, ranger)
            ledger.record(moves_into(name, list(ledger.rows.values()), zones))
        elif move in ("deleted", "replaced"):
            ranger.change_zone(name)
        if move in ("made", "replaced"):
            ranger.change_zone("", new, row)
        elif move in ("changed", "renamed"):
            ranger.change_zone(
                name, name if move == "changed" else new, row if move == "changed" else ranger.zones[name]
            )

    # CDAP

    def _check(self, request: Request) -> None:
        if request.effect < self.now:
            return
        request.process = self.process
        request.principal = principal_of(request)
        request.allowed = self._may(request)
        stamps = []
        service = self._service()
        time = self._service_time(service)
        if self._stepped(service, time) != time:
            self.unordered.add(request.name)
        request.listed = self._checked(request)
        for entity in request.listed:
            stamps.append(check_of(entity, request, self.stamp()))
            self.journal(stamps[-1], ENFORCER, service)
        self.checks[request.name] = stamps
        if not request.allowed:
            request.status = 403
            self.at(self.now + 1, lambda: self._finish(request))
            return
        if self.scenario.stepwise and request.act is Act.DELETE and request.entities[0].type == "namespace":
            NamespaceDeletion(self, request).begin()
        else:
            self.at(request.effect, lambda: self._act(request))
        self.at(request.ended, lambda: self._finish(request))

    def _checked(self, request: Request) -> tuple[EntityId, ...]:
        if request.act is Act.DELETE_ALL:
            return tuple(entity for entity in request.entities if entity in self.cdap.alive)
        return request.entities

    def _may(self, request: Request) -> bool:
        if not request.deletes and request.act is not Act.TRUNCATE:
            return request.user in (*HONEST, ADVERSARY, ADMIN)
        ranger = self.pipeline.ranger
        holders = {ranger.holder(entity, ranger.zone_of(entity)) for entity in self._checked(request)}
        return request.user == ADMIN or holders == {request.user}

    def _act(self, request: Request) -> None:
        if request.process != self.process or request.failure is Failure.DIED:
            return
        if request.failure is Failure.BEFORE:
            request.status = 400
            return
        before = dict(self.cdap.alive)
        self.happened["overlap"] += any(
            other is not request
            and other.allowed
            and request.overlaps(other)
            and {*other.entities} & {*request.entities}
            for other in self.scenario.requests
        )
        self.cdap.take_effect(request, self.now)
        if request.affected:
            self.happened["deletion" if request.deletes else "creation"] += 1
            again = any(entity in {each.entity for each in self.cdap.past} for entity in request.affected)
            self.happened["recreation"] += not request.deletes and again
        elif request.act is Act.CREATE and request.entities[0] in before:
            self.happened["200 for what exists"] += 1
        if request.act is Act.CREATE and request.entities[0].type == "dataset" and request.affected:
            self._message(request, "CREATE")
        elif request.act in (Act.DELETE, Act.DELETE_ALL):
            self._message(request, "DELETE")

    def _finish(self, request: Request) -> None:
        if request.failure is Failure.DIED:
            return
        if request.process != self.process:
            request.failure = Failure.DIED
            self.happened["request without end"] += 1
            return
        rng = random.Random(f"path of {request.name}")
        clock = self.stamps.clock(request.process, request.arrived), self.stamps.clock(request.process, self.now)
        if request.record_lost:
            self.happened["lost record"] += 1
        elif self._delivers_records:
            stamped = self.scenario.deployment is not Deployment.UNSTAMPED or self.scenario.seed % 2 == 0
            line = record_of(request, self.checks[request.name], (min(clock), clock[1]), stamped=stamped)
            delay = min(self.scenario.latest, rng.choice([100, 4_000, 4_000, 4_000, 40_000, 5 * MINUTE, 12 * MINUTE]))
            copies = 2 if rng.random() < self.scenario.repeat else 1
            garbled = rng.random() < self.scenario.garbage
            for copy in range(copies):
                at = self.now + delay + copy * 4_000
                self.at(at, lambda: self.store(line, AUDITOR, garbled=garbled))
            self.happened["repeated record"] += copies > 1
            if garbled:
                self.garbled.add(request.name)
                self.happened["rejected line"] += 1
        arrived = request.arrived + self.scenario.router_offset
        if self.scenario.edge:
            edge = random.Random(f"edge of {request.name}")
            request.pooled = edge.choice((*HONEST, ADVERSARY))
            line_ = router_line(request, arrived, request.user)
            self.streams["edge"].lines.append((self.now + edge.choice([10, 5_000, MINUTE]), line_))
        if self.scenario.router:
            line_ = router_line(request, arrived, request.pooled or request.user)
            if rng.random() >= self.scenario.loss:
                self.streams["router"].lines.append((self.now + rng.choice([10, 5_000, MINUTE]), line_))
            else:
                request.line_lost = True

    def _restart(self) -> None:
        self.process += 1
        self.happened["restart"] += 1

    def _message(self, request: Request, kind: str) -> None:
        if self.scenario.topic:
            entities = [entity for entity in request.affected if entity.type == "dataset"]
            for entity in entities:
                rng = random.Random(f"message of {request.name} {entity}")
                at = self.stamps.clock(request.process, self.now)
                line = message(request.principal, entity, at, kind)
                self.streams["audit"].lines.append((self.now + rng.choice([10, 3_000, MINUTE]), line))

    # The decision service

    @property
    def _delivers_records(self) -> bool:
        return self.scenario.deployment is not Deployment.RECORDLESS

    def _service(self) -> str:
        """The service that answers: a process of CDAP asks the next one where one does not."""
        self._n += 1
        return random.Random(f"service {self.scenario.seed} {self._n}").choice(self.services)

    def _service_time(self, service: str) -> int:
        return self.now + self.scenario.service_offsets[SERVICES.index(service)]

    def _stepped(self, service: str, time: int) -> int:
        """The time of a service where its clock may be ahead, and what it stamps never goes back."""
        ahead = self.scenario.ahead
        if ahead is None or SERVICES[ahead.service] != service:
            return time
        offset = self.scenario.service_offsets[ahead.service]
        if time - offset < ahead.since:
            return time
        return max(time, min(time, ahead.until + offset) + ahead.by)

    def _stamp(self, service: str) -> int:
        now = self._stepped(service, self._service_time(service))
        self.happened["clock ahead"] += now != self._service_time(service)
        self.received[service] = max(self.received[service] + 1, now)
        return self.received[service]

    def stamp(self) -> dict[str, Any]:
        """The stamp of a check that CDAP makes now."""
        at = self.stamps.clock(self.process, self.now)
        return {"id": self.stamps.id(), "process": self.stamps.process(self.process), "at": at}

    def journal(self, check: dict[str, Any], caller: str, service: str = "") -> None:
        """Journal a check that is allowed, or refused where CDAP may be deleting a namespace."""
        ends = check["type"] != "NAMESPACE" and check["permissions"] == ["STANDARD.DELETE"]
        if not self.scenario.deployment.is_journalled or not (check["allowed"] or ends):
            return
        service = service or self._service()
        said = {"v": 1, "instance": INSTANCE, "frame": ""}
        said |= {name: check[name] for name in ("process", "at", "principal", "type", "parts", "permissions")}
        said |= {} if check["allowed"] else {"allowed": False}
        line = {"id": check["id"], "caller": caller, "received": self._stamp(service), "check": said}
        self._put(line, service)

    def store(self, record: dict[str, Any], caller: str, *, garbled: bool = False) -> None:
        name = hashlib.sha256(json.dumps([caller, record]).encode()).hexdigest()
        service = self._service()
        line = {"id": name, "caller": caller, "received": self._stamp(service), "record": record}
        self._put(line, service, garbled=garbled)

    def _put(self, line: dict[str, Any], service: str, *, garbled: bool = False) -> None:
        text = json.dumps(line)
        if garbled:
            rng = random.Random(f"garbage {line['received']}")
            text = rng.choice([text[: len(text) // 2], text.replace('"code": ', '"code": "x", "code": '), "\x00"])
        steps = self.scenario.ahead is not None and SERVICES[self.scenario.ahead.service] == service
        self.streams[service].lines.append((self._service_time(service) if steps else line["received"], text))

    # The adversary

    def _forge(self, forgery: Forgery) -> None:
        self.happened["forgery"] += 1
        entity = forgery.entity
        act = Act.DELETE if forgery.deletes else Act.CREATE
        act = Act.DELETE_VERSION if forgery.deletes and entity.type == "artifact" else act
        request = Request(
            f"forged {self._n}", forgery.user, act, (entity,), self.now, self.now, self.now, self.now, version="1.0"
        )
        request.principal, request.allowed, request.status = forgery.user, True, 200
        if forgery.refuses:
            self._forge_refusal(replace(request, act=Act.DELETE_ALL, allowed=False, status=403))
            return
        stamp = {"id": self.stamps.id(), "process": self.stamps.process(self.process), "at": self.now}
        match self.scenario.secret:
            case Secret.AUDIT:
                self.store(record_of(request, [check_of(entity, request, stamp)], (self.now, self.now + 1)), AUDITOR)
            case Secret.ENFORCE:
                self.journal(check_of(entity, request, stamp), ENFORCER, self._service())
            case Secret.ROUTER:
                self.streams["router"].lines.append((self.now, router_line(request, self.now, request.user)))
            case Secret.TOPIC if entity.type == "dataset":
                kind = "DELETE" if forgery.deletes else "CREATE"
                self.streams["audit"].lines.append((self.now, message(forgery.user, entity, self.now, kind)))
            case _:
                pass

    def _forge_refusal(self, request: Request) -> None:
        """Say that CDAP was refused a dataset: whoever holds a secret of CDAP may know its processes and clocks."""
        check, at = check_of(request.entities[0], request, self.stamp()), self.stamps.clock(self.process, self.now)
        if self.scenario.secret is Secret.AUDIT:
            self.store(record_of(request, [check], (at, at), by_cdap=True), AUDITOR)
        else:
            self.journal(check, ENFORCER)

    # The sync job

    def _new_lines(self, name: str, published: int) -> set[int]:
        stream = self.streams[name]
        until = published if name in SERVICES else self.now
        return {n for n, (at, _) in enumerate(stream.lines) if at <= until and n not in stream.read}

    def _events(self, name: str, n: int) -> tuple[EntityEvent, ...]:
        reader, settings = SOURCES[name]
        line, now = self.streams[name].lines[n][1].encode(), self.now + self.scenario.sync_offset
        return read_line(reader, line, settings, INSTANCE, now).events

    def _confirm(self, ledger: MemoryLedger, settings: FoldSettings) -> list[EntityEvent]:
        found = [mark for mark in self._marks.values() if mark.watermark <= settings.latest]
        if not found:
            return []
        journal = max(found, key=lambda mark: mark.watermark)
        ended = self._service_time(journal.service) + 1
        asked = Round(f"round {self.now}", journal.service, journal.watermark, ended)

        def look_up(entity: EntityId) -> CdapAnswer:
            found = self.cdap.alive.get(entity)
            self.happened["confirmation"] += 1
            if found is None or entity.type != "application" or found.request is None:
                return CdapAnswer(found is not None)
            author = found.request.principal
            return CdapAnswer(True, author, self.stamps.clock(found.request.process, found.born))

        about = questions(ledger.lives(UNDECIDED_STATES))
        found = {entity: answer for entity in about if (answer := look_up(entity)) is not None}
        return list(events_of(found, asked))

    def at(self, time: int, step: Callable[[], None]) -> None:
        self._n += 1
        heapq.heappush(self._queue, (time, self._n, step))
