"""A model of CDAP: entities with one true creator, requests with a check, a moment of effect and an end.

The model knows what really happened; the pipeline sees only what CDAP, its extension and its router write of it. All
times here are true milliseconds; a clock adds its own offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from ranger_cdap.cdap.entity import EntityId

MASTER = "root"
ADMIN = "carol"
FOREVER = 2**62


class Act(StrEnum):
    """What a request asks of CDAP."""

    CREATE = "create"
    UPLOAD = "upload"
    DELETE = "delete"
    DELETE_VERSION = "delete one version"
    DELETE_ALL = "delete all datasets"
    TRUNCATE = "truncate"


class Failure(StrEnum):
    """How a request that was allowed fails."""

    NO = "no"
    BEFORE = "refused before it took effect"
    BROKEN = "broken after it took effect"
    DIED = "its process died"


@dataclass
class Incarnation:
    """An entity from its creation to its deletion."""

    entity: EntityId
    creator: str
    born: int
    request: Request | None = None
    died: int = FOREVER
    versions: set[str] = field(default_factory=set)


@dataclass
class Request:
    """A request; `principal` is whom CDAP's check names, `user` who sent it.

    `propagated`: CDAP runs even an upload as the user who sent it. `pooled`: the user of a pool whom the router names.
    """

    name: str
    user: str
    act: Act
    entities: tuple[EntityId, ...]
    arrived: int
    checked: int
    effect: int
    ended: int
    version: str = ""
    failure: Failure = Failure.NO
    principal: str = ""
    status: int = 0
    allowed: bool = False
    process: int = 0
    took_effect: bool = False
    propagated: bool = False
    pooled: str = ""
    record_lost: bool = False
    line_lost: bool = False
    listed: tuple[EntityId, ...] = ()
    affected: list[EntityId] = field(default_factory=list)

    @property
    def deletes(self) -> bool:
        return self.act in (Act.DELETE, Act.DELETE_VERSION, Act.DELETE_ALL)

    def overlaps(self, other: Request) -> bool:
        return self.checked <= other.ended and other.checked <= self.ended


@dataclass
class Cdap:
    """The state of CDAP, changed by the effects of requests, in the order of true time."""

    alive: dict[EntityId, Incarnation] = field(default_factory=dict)
    past: list[Incarnation] = field(default_factory=list)

    def take_effect(self, request: Request, now: int) -> None:
        """Do what the request asks, and set its answer as CDAP does."""
        request.took_effect = True
        match request.act:
            case Act.CREATE | Act.UPLOAD:
                status = self._create(request, now)
            case Act.DELETE:
                status = self._delete(request, request.entities[0], now)
            case Act.DELETE_VERSION:
                status = self._delete_version(request, now)
            case Act.DELETE_ALL:
                status = self._delete_all(request, now)
            case Act.TRUNCATE:
                status = 200 if request.entities[0] in self.alive else 404
        request.status = 500 if request.failure is Failure.BROKEN else status

    def creators_of(self, entity: EntityId) -> set[str]:
        return {each.creator for each in self.incarnations() if each.entity == entity}

    def incarnations(self) -> Iterator[Incarnation]:
        yield from self.past
        yield from self.alive.values()

    def _create(self, request: Request, now: int) -> int:
        for entity in request.entities:
            namespace = entity.parent
            if entity.type != "namespace" and namespace is not None and namespace not in self.alive:
                return 404
        for entity in request.entities:
            if entity not in self.alive:
                self.alive[entity] = Incarnation(entity, request.user, now, request)
                request.affected.append(entity)
            if entity.type == "artifact":
                self.alive[entity].versions.add(request.version)
        return 200

    def _delete(self, request: Request, entity: EntityId, now: int) -> int:
        if entity not in self.alive:
            return 404
        inside = [each for each in self.alive if each == entity or each.is_within(entity)]
        # What breaks while a namespace is deleted leaves some of it behind.
        if request.failure is Failure.BROKEN and entity.type == "namespace":
            inside = [each for each in inside if each != entity][: len(inside) // 2]
        for each in inside:
            self.die(request, each, now)
        return 200

    def _delete_version(self, request: Request, now: int) -> int:
        (artifact,) = request.entities
        found = self.alive.get(artifact)
        if found is None or request.version not in found.versions:
            return 404
        found.versions.remove(request.version)
        if not found.versions:
            self.die(request, artifact, now)
        return 200

    def _delete_all(self, request: Request, now: int) -> int:
        # CDAP drops what it listed, and checked, when the request came.
        for entity in request.listed:
            if entity in self.alive:
                self.die(request, entity, now)
        return 200

    def die(self, request: Request, entity: EntityId, now: int) -> None:
        gone = self.alive.pop(entity)
        gone.died = now
        self.past.append(gone)
        request.affected.append(entity)
