"""`push`: sends pending changes to Ranger and records the results. A kill at any point is repaired by the next one.

See docs/explanation/grants.md for what is written, what is never touched, and what remains for people to see to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError, RangerAdminError, UnsafeGrant
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from spark_sync.grants.plan import PlanSettings, Step, group_for, plan
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.rate_limit import RateLimitedRanger, RateLimiter
from spark_sync.grants.resultant import Resultant, installed_resultant
from spark_sync.grants.step_executor import Outcome, StepExecutor
from spark_sync.ledger.ledger import Change, Ledger
from spark_sync.ledger.life import OWED, Life, State

CHUNK: Final = 5_000
"""Outcomes recorded at a time: a kill in a long back-fill costs no more than looking at those again."""
ROUNDS: Final = 5
"""How often a life may say what it is going to do next (`spark_sync.grants.merger`); two are needed."""


def ranger_admin(settings: Settings) -> RangerAdmin:
    """Ranger Admin as `sync.username`; nothing is sent yet.

    Raises:
        ConfigError: the address or a file of certificates cannot be used.
    """
    return RangerAdmin.connect(settings.ranger, settings.sync.username, settings.sync.password)


class Pushed(NamedTuple):
    """The resulting lives, in order; `error` is why it stopped before its end, None if it did not."""

    outcomes: list[Outcome]
    error: RangerAdminError | None = None

    @property
    def trouble(self) -> str:
        """The error in words, empty without one."""
        return str(self.error or "")


def push(
    ledger: Ledger,
    settings: Settings,
    ranger: PolicyRest | None = None,
    *,
    resultant: Resultant | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Pushed:
    """Send all pending changes and record the results.

    Args:
        ranger: where policies are written; the Ranger Admin of the settings if `None`.
        resultant: what creators get in the end; what the installed plugins make of it if `None`.
        progress: receives short progress messages.

    Raises:
        ConfigError: the settings do not go together.
        PluginError: a plugin cannot be loaded.
    """
    owed: Iterable[Life] = ledger.lives(OWED)
    if not owed:
        return Pushed([])
    planning = plan_settings(settings, resultant)
    error = None
    last: dict[tuple[object, int], Outcome] = {}
    connection: AbstractContextManager[PolicyRest] = nullcontext(ranger) if ranger else ranger_admin(settings)
    with connection as rest:
        paced = RateLimitedRanger(rest, RateLimiter(settings.sync.rate))
        for _ in range(ROUNDS):
            executor = StepExecutor(settings.sync.concurrency, settings.sync.patience)
            chunk: list[Outcome] = []
            for outcome in executor.carry_out(plan(owed, planning), paced):
                chunk.append(outcome)
                last[outcome.life.entity, outcome.life.number] = outcome
                if len(chunk) == CHUNK:
                    _record(ledger, chunk)
                    progress(f"{len(last)} grants are up to date")
                    chunk = []
            _record(ledger, chunk)
            owed = [outcome.life for outcome in last.values() if _has_more_to_do(outcome)]
            error = executor.error
            if error or not owed:
                break
    return Pushed(list(last.values()), error)


def planned(ledger: Ledger, settings: Settings, *, resultant: Resultant | None = None) -> list[Step]:
    """The first steps of a push, from the ledger alone: Ranger is not asked, so its policies are unknown.

    Raises:
        ConfigError: the settings do not go together.
        PluginError: a plugin cannot be loaded.
    """
    return list(plan(ledger.lives(OWED), plan_settings(settings, resultant)))


def plan_settings(settings: Settings, resultant: Resultant | None = None) -> PlanSettings:
    """The settings that the plan needs.

    Raises:
        ConfigError: grants are to be added to other people's policies without an account, or the extra group is none.
        PluginError: a plugin cannot be loaded.
    """
    sync = settings.sync
    if sync.merge_into_foreign and not sync.username:
        raise ConfigError("`sync.merge_into_foreign` needs `sync.username`, in whose name Ranger adds the grants")
    try:
        group_for(EntityId("namespace", ("ns1",)), sync.extra_group)
    except UnsafeGrant as e:
        raise ConfigError(str(e)) from None
    return PlanSettings(
        instance=settings.cdap.instance,
        service=settings.ranger.service,
        non_creators=non_creators(settings),
        delegate_admin=sync.delegate_admin,
        extra_group=sync.extra_group,
        grantor=sync.username,
        merge_into_foreign=sync.merge_into_foreign,
        resultant=resultant or installed_resultant(),
    )


def non_creators(settings: Settings) -> frozenset[str]:
    """Users who never get anything for what they create; the user CDAP runs as is one of them."""
    return frozenset(settings.sync.non_creators) | {settings.master.name}


def _has_more_to_do(outcome: Outcome) -> bool:
    """Whether the step only made known what comes next."""
    before, after = outcome.step.life, outcome.life
    return after.state is State.PENDING and (after.merged, after.policy_id) != (before.merged, before.policy_id)


def _record(ledger: Ledger, outcomes: list[Outcome]) -> None:
    ledger.record([Change(life.entity, (life,)) for step, life in outcomes if life != step.life])
