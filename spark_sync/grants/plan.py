"""`plan`: turns pending changes of the ledger into the steps of a push. Pure, except for plugins' hooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES, Grant, check_grantee, grant_for
from ranger_cdap.engine.model.wire import Policy
from ranger_cdap.errors import PluginError, UnsafeGrant
from spark_sync.grants.grant_policy import content_of, guid_of, policy_for
from spark_sync.grants.resultant import Resultant, as_the_profile_says
from spark_sync.ledger.life import DOUBTED_STATES, Life, State

_NOTHING_WRITTEN: Final[dict[str, Any]] = {
    "applied": (),
    "merged": (),
    "written": "",
    "policy_id": -1,
    "policy_version": -1,
}


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """Where grants go and what they may hold.

    `extra_group`: a group that gets the same, `{namespace}` in it stands for the entity's; empty for none. `grantor`:
    the account in whose name grants are added to other people's policies, if `merge_into_foreign`, and taken out.
    """

    instance: str
    service: str
    non_creators: frozenset[str] = frozenset()
    delegate_admin: bool = False
    extra_group: str = ""
    grantor: str = ""
    merge_into_foreign: bool = False
    resultant: Resultant = as_the_profile_says


@dataclass(frozen=True, slots=True)
class CreateGrant:
    """Create this policy, or bring ours up to date: the life's creator is to have their grant.

    `former`: contents of ours that may be replaced (`content_of`). `may_merge`: somebody else's policy on the resource
    may get the grant instead.
    """

    life: Life
    grant: Grant
    policy: Policy
    former: frozenset[str] = frozenset()
    may_merge: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """Bring what somebody else's policy gives the creator up to date; what of it is ours stands in `life.merged`."""

    life: Life
    grant: Grant
    service: str
    grantor: str


@dataclass(frozen=True, slots=True)
class RevokePolicy:
    """Delete the policy with this guid, if it is there with one of these contents; then the life stands as `done`."""

    life: Life
    service: str
    guid: str
    contents: frozenset[str]
    done: Life


@dataclass(frozen=True, slots=True)
class RevokeMerged:
    """Take this grant, which is what we added, out of somebody else's policy; then the life stands as `done`."""

    life: Life
    grant: Grant
    service: str
    grantor: str
    done: Life


@dataclass(frozen=True, slots=True)
class NoOp:
    """Nothing is sent; the life is to stand as `done` in the ledger."""

    life: Life
    done: Life


Step = CreateGrant | Merge | RevokePolicy | RevokeMerged | NoOp


def plan(owed: Iterable[Life], settings: PlanSettings) -> Iterator[Step]:
    """A step for each life, lives of one entity in the order of their numbers.

    A life whose grant does not pass the allow-list is never sent: it is `blocked`, or `closed` if its entity is gone.
    """
    for life in sorted(owed, key=lambda life: (life.entity, life.number)):
        closing, doubted = life.state is State.CLOSING, life.state in DOUBTED_STATES
        if doubted and not life.revoke:
            continue
        try:
            if closing or doubted:
                yield _closing(life, settings) if closing else _revoking(life, settings)
            else:
                yield _giving(life, settings)
        except UnsafeGrant as e:
            if doubted:  # what does not pass the allow-list was never sent
                yield NoOp(life, life.become(life.state, revoke=False))
                continue
            state, reason = (State.CLOSED, "") if closing else (State.BLOCKED, str(e))
            yield NoOp(life, life.become(state, reason=reason))
        except PluginError as e:
            yield NoOp(life, life.become(State.PENDING, reason=str(e)))


def _closing(life: Life, settings: PlanSettings) -> Step:
    return _taking_back(life, life.become(State.CLOSED, reason=""), settings)


def _revoking(life: Life, settings: PlanSettings) -> Step:
    """The grant of a life that is contested or suspended; the life itself stays as it is."""
    return _taking_back(life, life.become(life.state, revoke=False, **_NOTHING_WRITTEN), settings)


def _giving(life: Life, settings: PlanSettings) -> Step:
    user = life.creator or ""
    check_grantee(user, non_creators=settings.non_creators)
    wanted = settings.resultant(life.entity, user, life.accesses) if life.accesses else ()
    if not wanted:
        reason = f"{'a plugin' if life.accesses else 'the profile'} gives its creator nothing"
        return _taking_back(life, life.become(State.KNOWN, reason=reason, **_NOTHING_WRITTEN), settings)
    grant = _grant(life, wanted, settings)
    if life.merged:
        return Merge(life, grant, settings.service, settings.grantor)
    former = frozenset({life.written} - {""})
    return CreateGrant(life, grant, _policy(life, grant, settings), former, settings.merge_into_foreign)


def _taking_back(life: Life, done: Life, settings: PlanSettings) -> Step:
    if life.merged:
        return RevokeMerged(life, _grant(life, life.merged, settings), settings.service, settings.grantor, done)
    contents = frozenset(_contents(life, settings))
    return RevokePolicy(life, settings.service, guid_of(life, settings.instance), contents, done)


def _contents(life: Life, settings: PlanSettings) -> Iterator[str]:
    """The life's policy as it is if it was not edited; a run may have been killed before it wrote that down."""
    if life.written:
        yield life.written
    possible = {ACCESS_TYPES, life.accesses or ACCESS_TYPES}
    with suppress(PluginError):  # what plugins say now need not be what they said then
        possible.add(settings.resultant(life.entity, _owner(life), life.accesses) or ACCESS_TYPES)
    try:
        for accesses in possible:
            yield content_of(_policy(life, _grant(life, accesses, settings), settings))
    except UnsafeGrant:
        if not life.written:  # what does not pass the allow-list was never sent
            raise


def _grant(life: Life, accesses: tuple[str, ...], settings: PlanSettings) -> Grant:
    # A user configured as a non-creator since was none when we wrote their policy, so it is still revoked.
    return grant_for(life.entity, _owner(life), settings.instance, accesses, non_creators=())


def _owner(life: Life) -> str:
    """The creator or, of a contested life, who had the grant before."""
    return life.creator or life.former


def _policy(life: Life, grant: Grant, settings: PlanSettings) -> Policy:
    return policy_for(
        life,
        grant,
        service=settings.service,
        delegate_admin=settings.delegate_admin,
        group=group_for(life.entity, settings.extra_group),
    )


def group_for(entity: EntityId, pattern: str) -> str:
    """The group that gets what the creator of an entity gets; empty for none.

    Raises:
        UnsafeGrant: it does not stand for exactly one group.
    """
    if not pattern or entity.namespace is None:
        return ""
    group = pattern.replace("{namespace}", entity.namespace)
    try:
        check_grantee(group, non_creators=())
    except UnsafeGrant as e:
        raise UnsafeGrant(f"`sync.extra_group`: {e}") from None
    return group
