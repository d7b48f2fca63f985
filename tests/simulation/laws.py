"""What must be so when a simulation is over, whatever happened in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.life import State
from tests.simulation.cdap import Act, Failure, Request
from tests.simulation.scenario import ADVERSARY, HONEST, MINUTE, NAMES, NS, OTHER_APP, OUTSIDER, Deployment, Secret
from tests.simulation.simulator import UNFINISHED, Simulation

ALL = (*NAMES, OTHER_APP)


def breaches(simulation: Simulation) -> Iterator[str]:
    """Every breach of a law, as a sentence; none is as it must be."""
    yield from _only_creators(simulation)
    yield from _no_owner_moves(simulation)
    yield from _clean_creations_are_granted(simulation)
    yield from _what_was_refused_is_kept(simulation)
    yield from _in_one_zone(simulation)
    if is_confirmed(simulation):
        yield from _nothing_stays_in_doubt(simulation)


def is_confirmed(simulation: Simulation) -> bool:
    """Whether CDAP is asked: its answers are dated by a journal, so that without one, or its time, it is not."""
    is_lost = simulation.scenario.ahead is not None and simulation.scenario.services == 1
    return simulation.scenario.confirm and simulation.scenario.deployment.is_journalled and not is_lost


def _only_creators(simulation: Simulation) -> Iterator[str]:
    """Law 1 and 5: a user who holds a grant, or is the creator in the ledger, is the one whose request took effect.

    At any time, except that the deletion of what they created may not be known for as long as its record may take.
    """
    cdap, pipeline = simulation.cdap, simulation.pipeline
    for entity in ALL:
        holder, found = pipeline.ranger.holder(entity), cdap.alive.get(entity)
        if holder and (found is None or found.creator != holder):
            whose = f"belongs to {found.creator}" if found else "does not exist"
            yield f"law 1: {holder} holds {entity}, which {whose}"
    for life in pipeline.ledger.rows.values():
        if life.creator and life.state is not State.UNCONFIRMED and life.creator not in cdap.creators_of(life.entity):
            yield f"law 1: life {life.number} of {life.entity} has the creator {life.creator}, who never created it"
    longest = UNFINISHED + 5 * MINUTE + simulation.scenario.silent + 2 * simulation.scenario.skew
    for at, grants in simulation.history:
        for entity in ALL:
            holder = _holder(grants, entity)
            theirs = [each for each in cdap.incarnations() if (each.entity, each.creator) == (entity, holder)]
            if holder and not any(each.born <= at for each in theirs):
                yield f"law 1: {holder} held {entity} at {at} and had not created it"
            elif holder and max(each.died for each in theirs) < at - longest:
                yield f"law 1: {holder} still held {entity} at {at}, long after it was deleted"


def _no_owner_moves(simulation: Simulation) -> Iterator[str]:
    """Law 6: a life has one owner at most, ever, and no request begins two lives; a doubt after a grant is reported."""
    for (entity, number), users in simulation.owners.items():
        if len(users) > 1:
            yield f"law 6: life {number} of {entity} belonged to {sorted(users)} in turn"
    yield from (f"law 6: {sentence}" for sentence in simulation.unreported)
    begun = Counter((life.entity, life.event) for life in simulation.pipeline.ledger.rows.values() if life.event)
    for (entity, event), count in begun.items():
        if count > 1:
            yield f"law 6: one request began {count} lives of {entity}: {event}"


def _what_was_refused_is_kept(simulation: Simulation) -> Iterator[str]:
    """Law 8: a refused check spares what CDAP had not deleted: whoever held it then still holds it.

    Once all records have come, and unless evidence is lost or forged, or other requests touched the entity.
    """
    scenario = simulation.scenario
    if scenario.secret is not Secret.NONE or scenario.loss or scenario.garbage or scenario.steps or scenario.ahead:
        return
    for deletion in simulation.refused:
        request = deletion.request
        if request.process != simulation.process or request.failure is not Failure.NO:
            continue
        rivals = [each for each in touching(simulation, NS) if each is not request and each.deletes]
        if any(each.overlaps(request) for each in rivals):
            continue
        for entity, (found, holder) in deletion.spared.items():
            about = [each for each in touching(simulation, entity) if each not in (request, found.request)]
            if not holder or holder != found.creator or any(each.ended >= found.born for each in about if each.allowed):
                continue
            # What came late is seen by the run after it, and what it restores by the one after that.
            since = max(request.ended, deletion.recorded + 20 * MINUTE if deletion.recorded > request.ended else 0)
            lost = [at for at, grants in simulation.history if at > since and _holder(grants, entity) != holder]
            if lost:
                yield f"law 8: {holder} lost {entity} at {lost[0]}, after a deletion that was refused: {request.name}"


def _holder(grants: dict[tuple[str, ...], str], entity: EntityId) -> str:
    names = {"application": ("namespace", "application")}.get(entity.type, ("namespace", entity.type))
    levels = [f"{level}={part}" for level, part in zip(names, entity.parts, strict=False)]
    return grants.get(tuple(sorted([*levels, *(["program=*"] if entity.type == "application" else [])])), "")


def honest(simulation: Simulation) -> Iterator[tuple[EntityId, bool]]:
    """The entities that honest users' creations of this scenario left, and whether their creators hold them."""
    for entity, found in simulation.cdap.alive.items():
        if found.request is not None and found.creator in HONEST:
            if found.request.act is Act.UPLOAD and not simulation.scenario.router:
                continue
            yield entity, simulation.pipeline.ranger.holder(entity) == found.creator


def _clean_creations_are_granted(simulation: Simulation) -> Iterator[str]:
    """Law 2: whose creation overlaps nothing and whose record arrives holds the entity in the end.

    Where CDAP delivers no records, what it answers stands for them. A clock far ahead orders nothing.
    """
    if simulation.scenario.deployment is Deployment.RECORDLESS and not is_confirmed(simulation):
        return
    if simulation.scenario.inventories:  # what one finds that is not decided yet is nobody's
        return
    for entity, found in simulation.cdap.alive.items():
        request = found.request
        if request is None or request.act is Act.UPLOAD or _is_troubled(simulation, entity):
            continue
        about = [each for each in touching(simulation, entity) if each.allowed]
        if any(_near(simulation, one, other) for one, other in combinations(about, 2) if one.deletes or other.deletes):
            continue
        if any(_near(simulation, request, other) for other in about if other is not request):
            continue
        ranger = simulation.pipeline.ranger
        if ranger.holder(entity, ranger.zone_of(entity)) != found.creator and not _waits_for_zone(simulation, entity):
            yield f"law 2: {found.creator} does not hold {entity}, created by {request.name}, which overlaps nothing"


def _waits_for_zone(simulation: Simulation, entity: EntityId) -> bool:
    """Whether a zone came over the grant, or replaced its own, and the ledger says what its administrator can do."""
    zone = simulation.pipeline.ranger.zone_of(entity)
    lives = [life for life in simulation.pipeline.ledger.lives_of(entity) if life.is_open and life.waits_for_zone]
    asked = (life for life in lives if simulation.pipeline.zones == "ask" or "its grant went with zone" in life.reason)
    return bool(zone) and any(f"sync rezone --zone '{zone}'" in life.reason for life in asked)


def _in_one_zone(simulation: Simulation) -> Iterator[str]:
    """Law 6: in the end a grant is in one zone, that of its entity, unless the zone's administrator has not decided."""
    ranger = simulation.pipeline.ranger
    for entity in ALL:
        zone = ranger.zone_of(entity)
        where = {each for each in ("", *ranger.zones) if ranger.holder(entity, each)}
        if where - {zone} and (len(where) > 1 or not _waits_for_zone(simulation, entity)):
            yield f"law 6: the grant on {entity} is in {where}, and its zone is `{zone}`"


def touching(simulation: Simulation, entity: EntityId) -> list[Request]:
    """The requests that were about the entity, or deleted what it is in."""
    return [
        request
        for request in simulation.scenario.requests
        if any(entity == each or (request.deletes and entity.is_within(each)) for each in request.entities)
    ]


def _near(simulation: Simulation, one: Request, other: Request) -> bool:
    """Whether two requests overlapped, or were too near to be told apart by different clocks.

    Without records nobody can tell the first creation from one that failed, or what a deletion left, if all was asked
    for before CDAP was.
    """
    skew, late = simulation.scenario.skew, 13 * MINUTE
    match simulation.scenario.deployment:
        case Deployment.RECORDLESS if one.user != other.user or one.deletes or other.deletes:
            return True
        case Deployment.RECORDLESS:
            late = UNFINISHED + 2 * skew + MINUTE
        case Deployment.UNJOURNALLED | Deployment.UNSTAMPED:
            # Without a check its arrival counts, which may be long before; what is not stamped and a line are two.
            late = 2 * skew + (UNFINISHED if simulation.scenario.router else 0)
            return one.arrived <= other.ended + late and other.arrived <= one.ended + late
        case _ if one.process == other.process and not _clock_set_between(simulation, one, other):
            return one.overlaps(other)
        case Deployment.TWO_SERVICES if _clock_set_between(simulation, one, other):
            late += 2 * 60 * MINUTE  # either of two services may have the wrong clock, by an hour and the next step
        case _:
            pass
    return one.checked <= other.ended + late and other.checked <= one.ended + late


def _clock_set_between(simulation: Simulation, one: Request, other: Request) -> bool:
    """Whether CDAP's clock was set between the first check and the last end: it then orders neither."""
    first, last = min(one.checked, other.checked), max(one.ended, other.ended)
    return any(first <= at <= last for at, _ in simulation.scenario.steps)


def _is_troubled(simulation: Simulation, entity: EntityId) -> bool:
    about = touching(simulation, entity)
    recordless = simulation.scenario.deployment is Deployment.RECORDLESS
    lost = any(
        (request.line_lost if recordless else request.record_lost)
        or request.failure in (Failure.BROKEN, Failure.DIED)
        or request.name in simulation.garbled
        or request.name in simulation.unordered
        or request.act in (Act.UPLOAD, Act.DELETE_VERSION, Act.DELETE_ALL)
        or (request.failure is Failure.BEFORE and request.deletes)
        for request in about
    )
    forged = any(entity == each.entity or entity.is_within(each.entity) for each in simulation.scenario.forgeries)
    return lost or (forged and simulation.scenario.secret is not Secret.NONE)


def _nothing_stays_in_doubt(simulation: Simulation) -> Iterator[str]:
    """Law 3: where CDAP is asked nothing stays suspended, and only what really overlapped is contested."""
    if simulation.scenario.secret is not Secret.NONE:
        return
    cdap = simulation.cdap
    for life in simulation.pipeline.ledger.rows.values():
        if not life.is_open:
            continue
        # No clock orders what was journalled far ahead.
        unordered = any(each.name in simulation.unordered for each in touching(simulation, life.entity))
        if life.state is State.SUSPENDED and not unordered:
            yield f"law 3: {life.entity} is suspended although CDAP was asked: {life.reason}"
        # Without records a denied or failed request is under way until it counts as lost.
        recordless = simulation.scenario.deployment is Deployment.RECORDLESS
        about = touching(simulation, life.entity)
        is_set = any(_clock_set_between(simulation, one, other) for one, other in combinations(about, 2))
        if life.state is State.CONTESTED and not (recordless or unordered or is_set):
            users = {user for each in touching(simulation, life.entity) if each.allowed for user in _names(each)}
            users |= {"before"} & cdap.creators_of(life.entity)
            if len(users) < 2:
                yield f"law 3: {life.entity} is contested although only {users} touched it: {life.reason}"
            if OUTSIDER in life.candidates:
                yield f"law 4: {OUTSIDER} is a candidate for {life.entity}"


def _names(request: Request) -> set[str]:
    """Whom the sources name: a request that CDAP runs as its master user, or that comes from a pool, has two users."""
    return {request.user, request.principal, request.pooled} - {""}


def gains(simulation: Simulation) -> set[EntityId]:
    """What the adversary holds."""
    return {entity for entity in ALL if simulation.pipeline.ranger.holder(entity) == ADVERSARY}
