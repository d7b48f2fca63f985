"""`push`: send pending changes to Ranger and record the results. The next push repairs a kill at any point.

See docs/explanation/grants.md for what is written, what is never touched, and what needs manual attention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple

from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError, RangerAdminError, UnsafeGrant
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.sign_in import AccountSource
from spark_sync.grants.plan import PlanSettings, Step, group_for, plan
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.resultant import Resultant, resultant_of, resultant_plugins
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.grants.writer import StepOutcome
from spark_sync.ledger.ledger import Ledger, LedgerChange
from spark_sync.ledger.life import PUSH_STATES, Life, State

CHUNK: Final = 5_000
"""Outcomes recorded at a time; a kill in a long back-fill repeats at most these."""
ROUNDS: Final = 5
"""Most rounds for lives that need several steps (`spark_sync.grants.merger`); two are needed."""


def ranger_admin(settings: Settings, *, rate: float = 0.0) -> RangerAdmin:
    """Return a Ranger Admin client for `sync.username`, with at most `rate` requests per second; nothing is sent yet.

    Raises:
        ConfigError: the address or a file of certificates cannot be used.
    """
    return RangerAdmin.connect(
        settings.ranger, settings.sync.username, settings.sync.password, rate=rate, source=AccountSource.SYNC
    )


class Pushed(NamedTuple):
    """Resulting lives in order; `error` is why the push stopped early, `None` if it did not."""

    outcomes: list[StepOutcome]
    error: RangerAdminError | None = None

    @property
    def trouble(self) -> str:
        """Return the error's message, empty without one."""
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
        resultant: the accesses of creators; those decided by the installed plugins if `None`.
        progress: receives short progress messages.

    Raises:
        ConfigError: the settings do not go together.
        PluginError: a plugin cannot be loaded.
    """
    pending: Iterable[Life] = ledger.lives(PUSH_STATES)
    if not pending:
        return Pushed([])
    planning = plan_settings(settings, resultant)
    error = None
    last: dict[tuple[object, int], StepOutcome] = {}
    connection: AbstractContextManager[PolicyRest] = (
        nullcontext(ranger) if ranger else ranger_admin(settings, rate=settings.sync.rate)
    )
    with connection as rest:
        for _ in range(ROUNDS):
            executor = StepExecutor(settings.sync.concurrency, settings.sync.patience)
            chunk: list[StepOutcome] = []
            for outcome in executor.carry_out(plan(pending, planning), rest):
                chunk.append(outcome)
                last[outcome.life.entity, outcome.life.number] = outcome
                if len(chunk) == CHUNK:
                    _record(ledger, chunk)
                    progress(f"{len(last)} grants are up to date")
                    chunk = []
            _record(ledger, chunk)
            pending = [outcome.life for outcome in last.values() if _has_more_to_do(outcome)]
            error = executor.error
            if error or not pending:
                break
    return Pushed(list(last.values()), error)


def planned(ledger: Ledger, settings: Settings, *, resultant: Resultant | None = None) -> list[Step]:
    """Return the first steps of a push by the ledger alone, without knowing Ranger's policies.

    Raises:
        ConfigError: the settings do not go together.
        PluginError: a plugin cannot be loaded.
    """
    return list(plan(ledger.lives(PUSH_STATES), plan_settings(settings, resultant)))


def plan_settings(settings: Settings, resultant: Resultant | None = None) -> PlanSettings:
    """Return the settings of the plan.

    Raises:
        ConfigError: `sync.merge_into_foreign` lacks an account, or the extra group is not a single group.
        PluginError: a plugin cannot be loaded.
    """
    sync = settings.sync
    if sync.merge_into_foreign and not sync.username:
        raise ConfigError("`sync.merge_into_foreign` needs `sync.username`, in whose name Ranger adds the grants")
    try:
        group_for(EntityId("namespace", ("ns1",)), sync.extra_group)
    except UnsafeGrant as e:
        raise ConfigError(str(e)) from None
    plugins = ""
    if resultant is None:
        manager = plugin_manager()
        resultant, plugins = resultant_of(manager), resultant_plugins(manager)
    return PlanSettings(
        instance=settings.cdap.instance,
        service=settings.ranger.service,
        non_creators=non_creators(settings),
        delegate_admin=sync.delegate_admin,
        extra_group=sync.extra_group,
        grantor=sync.username,
        merge_into_foreign=sync.merge_into_foreign,
        resultant=resultant,
        profile=settings.cdap.profile,
        gives=given_accesses(settings),
        plugins=plugins,
    )


def given_accesses(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return the access types of a creator by the profile, by entity type.

    Raises:
        ConfigError: there is no such profile.
    """
    profile = load_profile(settings.cdap.profile)
    return {name: profile.resultant(name) for name in entity_types()}


def non_creators(settings: Settings) -> frozenset[str]:
    """Return the users who never receive grants; the user CDAP runs as is one of them."""
    return frozenset(settings.sync.non_creators) | {settings.master.name}


def _has_more_to_do(outcome: StepOutcome) -> bool:
    """Return whether the step only recorded what comes next."""
    before, after = outcome.step.life, outcome.life
    return after.state is State.PENDING and (after.merged, after.policy_id) != (before.merged, before.policy_id)


def _record(ledger: Ledger, outcomes: list[StepOutcome]) -> None:
    ledger.record([LedgerChange(life.entity, (life,)) for step, life, _ in outcomes if life != step.life])
