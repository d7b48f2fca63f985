"""`push`: send pending changes to Ranger and record the results. The next push repairs a kill at any point.

See docs/explanation/grants.md for what is written, what is never touched, and what needs manual attention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from typing import Final, NamedTuple

from ranger_cdap.config import Settings
from ranger_cdap.errors import RangerAdminError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.sign_in import AccountSource
from spark_sync.grants.plan import PlanSettings, plan
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.grants.writer import StepOutcome
from spark_sync.ledger.ledger import Ledger, LedgerChange
from spark_sync.ledger.life import PUSH_STATES

CHUNK: Final = 5_000
"""Outcomes recorded at a time; a kill in a long back-fill repeats at most these."""
AT_A_TIME: Final = 4
"""Grants sent concurrently."""
PATIENCE: Final = 60.0
"""Seconds that Ranger Admin may be unavailable before a run ends; pending grants stay in the ledger."""
SENDING: Final = "sending grants to Ranger"
_SHOWN: Final = 50
"""Grants from one progress message to the next."""


def ranger_admin(settings: Settings, *, rate: float = 0.0) -> RangerAdmin:
    """Return a Ranger Admin client for `sync.username`, with at most `rate` requests per second; nothing is sent yet.

    Raises:
        ConfigError: the address or a file of certificates cannot be used.
    """
    return RangerAdmin.connect(
        settings, settings.sync.username, settings.sync.password, rate=rate, source=AccountSource.SYNC
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
    planning: PlanSettings | None = None,
    executor: StepExecutor | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Pushed:
    """Send all pending changes and record the results.

    Args:
        ranger: where policies are written; the Ranger Admin of the settings if `None`.
        planning: `plan_settings(settings)`, if that is known already.
        executor: carries the steps out; one of `AT_A_TIME` and `PATIENCE` if `None`.
        progress: receives short messages that begin with `SENDING`.

    Raises:
        ConfigError: the settings do not go together.
        PluginError: a plugin cannot be loaded.
    """
    if not (pending := ledger.lives(PUSH_STATES)):
        return Pushed([])
    steps = plan(pending, planning or plan_settings(settings))
    lanes = (list(lane) for _, lane in groupby(steps, key=lambda step: step.life.entity))
    executor = executor or StepExecutor(AT_A_TIME, PATIENCE)
    connection: AbstractContextManager[PolicyRest] = (
        nullcontext(ranger) if ranger else ranger_admin(settings, rate=settings.sync.rate)
    )
    outcomes: list[StepOutcome] = []
    with connection as rest:
        for outcome in executor.carry_out(lanes, rest):
            outcomes.append(outcome)
            if len(outcomes) % _SHOWN == 0:
                progress(f"{SENDING}: {len(outcomes):,} of {len(pending):,}")
            if len(outcomes) % CHUNK == 0:
                _record(ledger, outcomes[-CHUNK:])
        _record(ledger, outcomes[len(outcomes) // CHUNK * CHUNK :])
    return Pushed(outcomes, executor.error)


def _record(ledger: Ledger, outcomes: Iterable[StepOutcome]) -> None:
    changed = (life for step, life, _ in outcomes if life != step.life)
    ledger.record([LedgerChange(life.entity, (life,)) for life in changed])
