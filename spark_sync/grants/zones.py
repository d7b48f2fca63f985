"""`Zones`: the security zone in which a grant has an effect, by the engine's own table. Pure, except for reading.

Law: a grant is written into the zone of its entity, where alone it decides. A zone that comes over an existing grant is
its administrator's decision, so the life waits for one; a grant that is in no zone any more is written outside again.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.engine.view import UNREADABLE_ZONE, UNZONED, ZoneTable
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import seen
from spark_sync.grants.own_right import gives, service_model
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import DOUBTED_STATES, GRANTING_STATES, WAITS_FOR_ZONE, Life, State

if TYPE_CHECKING:
    from spark_sync.grants.plan import PlanSettings


@dataclass(frozen=True, slots=True)
class Zones:
    """The zones of a service. `follow`: grants follow a zone that comes over them."""

    table: ZoneTable
    names: frozenset[str]
    instance: str
    follow: bool

    def of(self, entity: EntityId) -> tuple[str, str]:
        """Return the zone whose policies decide on an entity; empty for those outside all zones, as above a zone.

        The second is the reason if no zone is certain, so that a grant might have no effect; else it is empty.
        """
        if not self.names:
            return UNZONED, ""
        resource = to_resource(entity, self.instance)
        path = service_model().path_of(frozenset(resource)) or ()
        found = self.table.of(path, tuple(resource[level] for level in path))
        if not found or UNZONED in found:
            return UNZONED, ""
        if found[0] == UNREADABLE_ZONE:
            return UNZONED, (
                f"{WAITS_FOR_ZONE}unknown: it may be in a zone with an unreadable resource, where everything is denied;"
                " correct that zone in Ranger"
            )
        if len(found) > 1:
            named = ", ".join(found)
            return UNZONED, f"{WAITS_FOR_ZONE}unclear: it is in several ({named}); correct their resources in Ranger"
        return found[0], ""

    def places_of(self, life: Life) -> tuple[str, ...]:
        """Return the zones in which policies of a life may be."""
        is_in_zones = life.zone or life.moves or life.is_from_backup
        return tuple(sorted({UNZONED, life.zone, *self.names})) if is_in_zones else (UNZONED,)


def zones_of(planning: PlanSettings, ranger: PolicyRest) -> Zones:
    """Return the zones that Ranger has now.

    Raises:
        RangerAdminError: Ranger Admin cannot be read.
    """
    found = ranger.security_zones(planning.service)
    table = ZoneTable(found, service_model(), lenient=False)
    return Zones(table, frozenset(found), planning.instance, planning.follow_zones)


def all_policies(ranger: PolicyRest, service: str, zones: Zones) -> list[Policy]:
    """Return the policies outside of zones and in them, which Ranger lists one zone at a time.

    Raises:
        RangerAdminError: Ranger Admin cannot be read.
    """
    return [policy for zone in (UNZONED, *zones.names) for policy in ranger.list_policies(service, zone)]


def placed(life: Life, zones: Zones) -> Life:
    """Return a life with the zone that its next policy is to be in; meanwhile one may be elsewhere.

    A zone that comes over a grant is followed only if `zones` are. If the grant's own zone is gone, it may be that zone
    with another name, in which a person deleted the policy: then nothing is followed.
    """
    where, problem = zones.of(life.entity)
    # A life that waits without a policy was never granted, unless people moved its policy away.
    is_granted = life.policy_id >= 0 or (life.waits_for_zone and life.copy)
    asks = where and is_granted and not (zones.follow and life.zone in (UNZONED, *zones.names))
    stays = life.state in DOUBTED_STATES or life.is_from_backup or life.taken
    if problem or where == life.zone or asks or stays:
        return life
    return replace(life, zone=where, moves=True, policy_id=-1, policy_version=-1)


def blocked(life: Life, zones: Zones) -> str:
    """Return the reason if the grant of a life is not in its entity's zone; empty if it is."""
    where, problem = zones.of(life.entity)
    if problem or where == life.zone:
        return problem
    inside = f"is in zone {life.zone}, without effect" if life.zone in zones.names else f"went with zone `{life.zone}`"
    there = inside if life.zone else "is outside of zones, without effect"
    moved = f"`ranger-cdap sync rezone --zone {shlex.quote(where)}` writes it there"
    return f"{WAITS_FOR_ZONE}{where}: its grant {there}; {moved}"


def settled(before: Life, after: Life, zones: Zones) -> Life:
    """Return a life after a look as its entity's zone leaves it: as it is, to be moved, or waiting for a decision."""
    if before.waits_for_zone and after.state in (State.APPLIED, State.PENDING):
        after = after.become(State.BLOCKED, reason=before.reason)
    if after.state is not State.APPLIED and not after.waits_for_zone:
        return after
    there = placed(after, zones)
    if reason := blocked(there, zones):
        return after.become(State.BLOCKED, reason=reason)
    return after if there == after and after.state is State.APPLIED else there.become(State.PENDING, reason="")


def elsewhere(life: Life, mine: Iterable[Policy], zones: Zones) -> Policy | None:
    """Return a policy of a life's guid in another zone, as a restore brings it back: not what it left to people."""
    return next((each for each in mine if each.zone_name != life.zone and gives(each, life, zones.instance)), None)


def moves_into(zone: str, lives: Iterable[Life], zones: Zones) -> list[LedgerChange]:
    """Return the lives that wait for a decision about a zone, with their grants to be moved into it.

    Raises:
        InvalidInput: there is no such zone.
    """
    if zone not in zones.names:
        raise InvalidInput(f"Ranger's service has no security zone `{zone}`")
    changes = (
        LedgerChange(life, placed(life.become(State.PENDING, reason="", policy_id=-1), zones))
        for life in lives
        if life.waits_for_zone and not life.is_from_backup
    )
    return [change for change in changes if change.after and change.after.zone == zone]


def followed(life: Life, mine: Sequence[Policy], zones: Zones) -> tuple[Life, Policy | None]:
    """Return a life and its policy in Ranger where its zone was renamed, or went and took the policy along.

    Args:
        mine: the policies of the life's guid, of which each zone may have one.
    """
    if life.state is State.PENDING and life.policy_id < 0 and placed(life, zones) != life:
        # It is not new if a killed run has granted it, or a move that did not end.
        known = next((each for each in mine if gives(each, life, zones.instance)), None)
        life = life if known is None else replace(life, zone=known.zone_name, **seen(known))
    there = next((each for each in mine if each.zone_name == life.zone), None)
    renamed = next((each for each in mine if each.id == life.policy_id), None)
    if there is None and renamed is not None:
        return replace(life, zone=renamed.zone_name), renamed
    is_gone = there is None and life.zone and life.zone not in zones.names and life.policy_id >= 0
    if not is_gone or life.taken or life.state not in GRANTING_STATES:
        return life, there or elsewhere(life, mine, zones)
    # One from a backup went as well, so that nothing is to be revoked there before it is written again.
    proven, reason = max(life.policy_version, 0), f"{WAITS_FOR_ZONE}{life.zone} is gone"
    waiting = life.become(State.BLOCKED, reason=reason, applied=(), written="", policy_version=proven)
    return settled(waiting, waiting, zones), None
