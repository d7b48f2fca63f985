"""`plan`: from what the ledger owes Ranger to the steps of a push. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ranger_cdap.cdap.grant import grant_for
from ranger_cdap.engine.wire import Policy
from ranger_cdap.errors import UnsafeGrant
from spark_sync.grant_policy import policy_for
from spark_sync.life import Life, State


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """Where grants go and what they may hold."""

    instance: str
    service: str
    non_creators: frozenset[str] = frozenset()
    delegate_admin: bool = False


@dataclass(frozen=True, slots=True)
class Give:
    """Create this policy: the life's creator is to have his grant."""

    life: Life
    policy: Policy


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Delete this policy, if it is there as we wrote it: the life's entity is gone."""

    life: Life
    policy: Policy


@dataclass(frozen=True, slots=True)
class Settle:
    """Nothing is sent: the life is to stand like this in the ledger."""

    life: Life


Step = Give | TakeBack | Settle


def plan(owed: Iterable[Life], settings: PlanSettings) -> Iterator[Step]:
    """A step for each life, lives of one entity in the order of their numbers.

    A life whose grant does not pass the allow-list is never sent: it is `blocked`, or `closed` if its entity is gone.
    """
    for life in sorted(owed, key=lambda life: (life.entity, life.number)):
        # A user who is configured later as a non-creator was none when we wrote his policy, so it is still taken back.
        excluded = frozenset() if life.state is State.CLOSING else settings.non_creators
        try:
            grant = grant_for(life.entity, life.creator or "", settings.instance, life.accesses, non_creators=excluded)
        except UnsafeGrant as e:
            state = State.CLOSED if life.state is State.CLOSING else State.BLOCKED
            yield Settle(replace(life, state=state, reason=str(e)))
            continue
        policy = policy_for(life, grant, service=settings.service, delegate_admin=settings.delegate_admin)
        yield TakeBack(life, policy) if life.state is State.CLOSING else Give(life, policy)
