"""`plan`: from pending changes of the ledger to the steps of a push. Pure, except for plugins' hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from ranger_cdap.cdap.grant import ACCESS_TYPES, Grant, check_grantee, grant_for, granted_resource
from ranger_cdap.config.sync import OnDeletion
from ranger_cdap.engine import NameTransformation
from ranger_cdap.errors import PluginError, UnsafeGrant
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, policy_for
from spark_sync.grants.own_right import OwnRight
from spark_sync.grants.resultant import Resultant
from spark_sync.grants.zones import Zones, blocked
from spark_sync.ledger.grant_terms import NO_ACCESS_BY_PLUGIN, NO_ACCESS_BY_PROFILE
from spark_sync.ledger.life import DOUBTED_STATES, MANUAL_TERMS, GrantTerms, Life, State

WITHOUT_GRANT: Final[dict[str, Any]] = {
    "applied": (),
    "written": "",
    "policy_id": -1,
    "policy_version": -1,
}
"""Fields of a life without a grant in Ranger."""


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """Settings of the plan.

    `gives`: the access types of a creator by the `profile`, by entity type; empty if grants need not follow it.
    `plugins`: those that may change them. `administrators`: names that Ranger shows for accounts of administrators.
    `zones`: those of Ranger, `None` if they were not read; `follow_zones`: grants follow a zone that comes over them.
    """

    instance: str
    service: str
    non_creators: frozenset[str]
    names: NameTransformation
    delegate_admin: bool
    resultant: Resultant
    on_deletion: OnDeletion | None
    administrators: frozenset[str]
    profile: str
    gives: Mapping[str, tuple[str, ...]]
    plugins: str
    follow_zones: bool
    zones: Zones | None = None

    @property
    def terms(self) -> GrantTerms:
        """Return the terms of the grants that are sent with these settings."""
        return GrantTerms(self.profile, self.delegate_admin, self.plugins)


@dataclass(frozen=True, slots=True)
class CreateGrant:
    """Create this policy, or bring ours up to date, to give the life's creator their grant.

    `former`: contents of ours that may be replaced (`content_of`). `right`: what an edited policy of ours gives the
    creator, so far. `terms`: those of the life once it is done. `elsewhere`: the revocation of what the life may have
    in other zones, once this is done.
    """

    life: Life
    grant: Grant
    policy: Policy
    former: frozenset[str]
    right: OwnRight
    terms: GrantTerms | None
    elsewhere: RevokePolicy | None


@dataclass(frozen=True, slots=True)
class RevokePolicy:
    """Delete the policies of the life that have one of these contents, and take the right out of edited ones.

    `policy`: the newest one of the life as it was written, without items. `done` is the resulting life. `zones`: where
    they may be.
    """

    life: Life
    policy: Policy
    contents: frozenset[str]
    right: OwnRight
    done: Life
    zones: Sequence[str]


@dataclass(frozen=True, slots=True)
class NoOp:
    """Send nothing; `done` is the resulting life."""

    life: Life
    done: Life


Step = CreateGrant | RevokePolicy | NoOp


def plan(pending: Iterable[Life], settings: PlanSettings) -> Iterator[Step]:
    """Return a step for each life, lives of one entity in the order of their numbers.

    A grant that does not pass the allow-list is never sent: its life is `blocked`, or `closed` if its entity is
    deleted.
    """
    for life in sorted(pending, key=lambda life: (life.entity, life.number)):
        closing, doubted = life.state is State.CLOSING, life.state in DOUBTED_STATES
        if doubted and not life.revoke:
            continue
        try:
            if closing and life.is_left_to_people:
                yield NoOp(life, life.become(State.CLOSED, reason=""))
            elif closing:
                yield _revocation(life, life.become(State.CLOSED, reason=""), settings)
            elif doubted:  # it stays contested or suspended
                yield _revocation(life, life.become(life.state, revoke=False, **WITHOUT_GRANT), settings)
            else:
                yield _granting(life, settings)
        except UnsafeGrant as e:
            if doubted:  # a grant that does not pass the allow-list was never sent
                yield NoOp(life, life.become(life.state, revoke=False))
                continue
            state, reason = (State.CLOSED, "") if closing else (State.BLOCKED, str(e))
            yield NoOp(life, life.become(state, reason=reason))
        except PluginError as e:
            yield NoOp(life, life.become(State.PENDING, reason=str(e)))


@dataclass(frozen=True, slots=True)
class Plan(Iterable[Step]):
    """The steps for lives that are read page by page, each time anew."""

    pages: Callable[[], Iterable[Iterable[Life]]]
    settings: PlanSettings

    def __iter__(self) -> Iterator[Step]:
        return (step for page in self.pages() for step in plan(page, self.settings))


def _granting(life: Life, settings: PlanSettings) -> Step:
    if life.is_from_backup:
        return _revocation(life, life.become(State.PENDING, reason="", **WITHOUT_GRANT), settings)
    user, terms = life.creator or "", _terms(life, settings)
    wanted = settings.resultant(life.entity, user, life.accesses) if life.accesses else ()
    if not wanted:
        # Also of a user who has become a non-creator: nothing is granted here.
        reason = NO_ACCESS_BY_PLUGIN if life.accesses else NO_ACCESS_BY_PROFILE
        return _revocation(life, life.become(State.KNOWN, reason=reason, terms=terms, **WITHOUT_GRANT), settings)
    if life.taken:
        return NoOp(life, life.become(State.BLOCKED, reason=life.taken))
    if settings.zones is not None and (reason := blocked(life, settings.zones)):
        return NoOp(life, life.become(State.BLOCKED, reason=reason))
    check_grantee(user, non_creators=settings.non_creators)
    grant = _grant(life, wanted, settings)
    former, right = frozenset(former_contents(life, settings)), own_right(life, settings, wanted)
    elsewhere = None
    if life.moves:
        others = _revocation(life, life, settings)
        elsewhere = replace(others, zones=[zone for zone in others.zones if zone != life.zone])
    return CreateGrant(life, grant, _policy(life, grant, settings), former, right, terms, elsewhere)


def own_right(life: Life, settings: PlanSettings, wanted: tuple[str, ...] = ()) -> OwnRight:
    """Return what a policy of the life that people have edited gives its creator by our doing.

    `wanted`: the access types that a killed run may have sent, if the ledger does not record any. In a policy of before
    a restore it may have been any.
    """
    accesses = frozenset((not life.is_from_backup and (life.applied or wanted or life.accesses)) or ACCESS_TYPES)
    return OwnRight(life.holder, accesses)


def former_contents(life: Life, settings: PlanSettings) -> Iterator[str]:
    """Return the contents of our policy before it is brought up to date.

    A run that was killed may not have recorded what it wrote; the ledger has the terms by which it did.
    """
    if life.written:
        yield life.written
    if life.terms not in (None, MANUAL_TERMS) and life.accesses:
        with suppress(PluginError, UnsafeGrant):
            wanted = settings.resultant(life.entity, life.holder, life.accesses)
            former = replace(settings, delegate_admin=life.terms.delegate_admin)
            yield possible_content(life, wanted, former)


def sent_contents(life: Life, settings: PlanSettings) -> set[str]:
    """Return the possible contents of the unedited policy of a life that a killed run may have sent."""
    (step,) = plan([life], settings)
    return {*former_contents(life, settings), *([content_of(step.policy)] if isinstance(step, CreateGrant) else [])}


def _terms(life: Life, settings: PlanSettings) -> GrantTerms:
    """Return the terms of a life when it is sent: its access types are still those of the profile that decided it."""
    if life.terms in (None, MANUAL_TERMS):
        return life.terms or settings.terms
    return replace(settings.terms, profile=life.terms.profile)


def _revocation(life: Life, done: Life, settings: PlanSettings) -> RevokePolicy:
    nothing = _policy(life, Grant(granted_resource(life.entity, settings.instance), "", ()), settings)
    return RevokePolicy(
        life,
        replaced(nothing, policy_items=[]),
        frozenset(_contents(life, settings)),
        own_right(life, settings),
        done,
        settings.zones.places_of(life) if settings.zones is not None else (life.zone,),
    )


def _contents(life: Life, settings: PlanSettings) -> Iterator[str]:
    """Return the possible contents of the unedited policy; a killed run may not have recorded what it wrote."""
    yield from former_contents(life, settings)
    possible = {ACCESS_TYPES, life.accesses or ACCESS_TYPES}
    with suppress(PluginError):  # plugins may decide differently now
        possible.add(settings.resultant(life.entity, life.holder, life.accesses) or ACCESS_TYPES)
    try:
        for accesses in possible:
            yield possible_content(life, accesses, settings)
    except UnsafeGrant:
        if not life.written:  # a grant that does not pass the allow-list was never sent
            raise


def possible_content(life: Life, accesses: tuple[str, ...], settings: PlanSettings) -> str:
    """Return the content of our policy if it gives these access types.

    Raises:
        UnsafeGrant: it does not pass the allow-list.
    """
    return content_of(_policy(life, _grant(life, accesses, settings), settings))


def _grant(life: Life, accesses: tuple[str, ...], settings: PlanSettings) -> Grant:
    # A user who became a non-creator after their policy was written must still lose it.
    return grant_for(life.entity, life.holder, settings.instance, accesses, non_creators=())


def _policy(life: Life, grant: Grant, settings: PlanSettings) -> Policy:
    return policy_for(life, grant, service=settings.service, delegate_admin=settings.delegate_admin)
