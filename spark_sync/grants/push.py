"""`push`: send pending changes to Ranger and record the results. The next push repairs a kill at any point.

See docs/explanation/grants.md for what is written, what is never touched, and what needs manual attention.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple

from ranger_cdap.config import Settings
from ranger_cdap.errors import RangerAdminError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.sign_in import AccountSource
from spark_sync.grants.plan import PlanSettings, Step, plan
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.resultant import Resultant
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.grants.writer import StepOutcome
from spark_sync.ledger.ledger import Ledger, LedgerChange
from spark_sync.ledger.life import PUSH_STATES, Life, State

CHUNK: Final = 5_000
"""Outcomes recorded at a time; a kill in a long back-fill repeats at most these."""
SENDING: Final = "sending grants to Ranger"
_SHOWN: Final = 50
"""Grants from one progress message to the next."""
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
    planning: PlanSettings | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Pushed:
    """Send all pending changes and record the results.

    Args:
        ranger: where policies are written; the Ranger Admin of the settings if `None`.
        resultant: the accesses of creators; those decided by the installed plugins if `None`.
        planning: `plan_settings(settings, resultant)`, if that is known already.
        progress: receives short messages that begin with `SENDING`.

    Raises:
        ConfigError: the settings do not go together.
        PluginError: a plugin cannot be loaded.
    """
    pending: Sequence[Life] = ledger.lives(PUSH_STATES)
    if not pending:
        return Pushed([])
    of_all = f"of {len(pending):,}"
    planning = planning or plan_settings(settings, resultant)
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
                if len(last) % _SHOWN == 0:
                    progress(f"{SENDING}: {len(last):,} {of_all}")
                if len(chunk) == CHUNK:
                    _record(ledger, chunk)
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


def _has_more_to_do(outcome: StepOutcome) -> bool:
    """Return whether the step only recorded what comes next."""
    before, after = outcome.step.life, outcome.life
    return after.state is State.PENDING and (after.merged, after.policy_id) != (before.merged, before.policy_id)


def _record(ledger: Ledger, outcomes: list[StepOutcome]) -> None:
    ledger.record([LedgerChange(life.entity, (life,)) for step, life, _ in outcomes if life != step.life])
