"""`push`: send pending changes to Ranger and record the results. The next push repairs a kill at any point.

See docs/explanation/grants.md for what is written, what is never touched, and what needs manual attention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Settings
from ranger_cdap.errors import RangerAdminError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.sign_in import AccountSource
from spark_sync.grants.outcome import StepOutcome
from spark_sync.grants.places import LifeKey, Obstacles, housed, is_unplaced, key_of, may_be_shared, ready
from spark_sync.grants.plan import CreateGrant, Join, Leave, PlanSettings, Step, plan, shared_terms
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.resultant import Resultant
from spark_sync.grants.rival_check import RivalCheck
from spark_sync.grants.shared_write import SharedWrite
from spark_sync.grants.step_executor import Lane, StepExecutor
from spark_sync.ledger.ledger import Ledger, LedgerChange
from spark_sync.ledger.life import PUSH_STATES, Life, State

CHUNK: Final = 5_000
"""Outcomes recorded at a time; a kill in a long back-fill repeats at most these."""
SENDING: Final = "sending grants to Ranger"
_SHOWN: Final = 50
"""Grants from one progress message to the next."""
ROUNDS: Final = 8
"""Most rounds for lives that need several steps, as additions to policies of others and moves do; three are needed."""


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
    sending = _Sending(ledger, planning or plan_settings(settings, resultant), progress, len(pending))
    error = None
    connection: AbstractContextManager[PolicyRest] = (
        nullcontext(ranger) if ranger else ranger_admin(settings, rate=settings.sync.rate)
    )
    with connection as rest:
        for _ in range(ROUNDS):
            look_up, executor = (StepExecutor(settings.sync.concurrency, settings.sync.patience) for _ in range(2))
            sending.look_up(pending, look_up, rest)
            error = look_up.error
            if not error:
                pending = sending.round(pending, executor, rest)
                error = executor.error
            if error or not pending:
                break
    return Pushed(sending.finish(), error)


@dataclass
class _Sending:
    """A push under way. `last`: the newest outcome of each life; `obstacles`: found in Ranger by it."""

    ledger: Ledger
    planning: PlanSettings
    progress: Callable[[str], None]
    size: int
    last: dict[LifeKey, StepOutcome] = field(default_factory=dict)
    obstacles: Obstacles = field(default_factory=Obstacles)

    def look_up(self, pending: Sequence[Life], executor: StepExecutor, ranger: PolicyRest) -> None:
        """Look up whether the resources of new grants have a policy already."""
        seen = self.obstacles.taken | self.obstacles.free
        new = [life for life in pending if is_unplaced(life, self.planning) and key_of(life) not in seen]
        checks: dict[str, list[CreateGrant]] = {}
        for step in plan(new, self.planning):
            if isinstance(step, CreateGrant):
                terms = shared_terms(step.life.entity, step.grant, self.planning)
                checks.setdefault(terms.key, []).append(step)
        for step, life, _ in executor.carry_out((RivalCheck(tuple(steps)) for steps in checks.values()), ranger):
            # One that could not be looked up gets a policy of its own, which is never wrong.
            (self.obstacles.free if life == step.life else self.obstacles.taken).add(key_of(life))

    def round(self, pending: Sequence[Life], executor: StepExecutor, ranger: PolicyRest) -> list[Life]:
        """Send the next step of each of these lives, and return those that need another one."""
        now, later = ready(pending)
        now = self._housed(now)
        again = list[Life]()
        stuck = set[EntityId]()
        chunk: list[StepOutcome] = []
        for outcome in executor.carry_out(self._lanes(now), ranger):
            chunk.append(outcome)
            self._note(outcome)
            if _has_more_to_do(outcome):
                again.append(outcome.life)
            elif outcome.life.state is State.CLOSING:
                stuck.add(outcome.life.entity)
            if len(self.last) % _SHOWN == 0:
                self.progress(f"{SENDING}: {len(self.last):,} of {self.size:,}")
            if len(chunk) == CHUNK:
                _record(self.ledger, chunk)
                chunk = []
        _record(self.ledger, chunk)
        return [*again, *(life for life in later if life.entity not in stuck)]

    def finish(self) -> list[StepOutcome]:
        """Return the outcomes; what has reached its new policy but not left the former one is pending in the ledger."""
        left = {key: outcome for key, outcome in self.last.items() if _is_on_the_way(outcome.life)}
        for key, (step, life, _) in left.items():
            pending = life.become(State.PENDING, reason=life.reason or step.life.reason)
            self.last[key] = StepOutcome(step, pending)
        _record(self.ledger, [self.last[key] for key in left])
        return list(self.last.values())

    def _housed(self, lives: Sequence[Life]) -> list[Life]:
        """Return the lives with their places, which the ledger has recorded before anything is sent."""
        shared = [life for life in lives if may_be_shared(life, self.planning)]
        if not shared:
            return list(lives)
        sizes = self.ledger.place_sizes({life.creator for life in shared if life.creator})
        placed = housed(lives, self.planning, sizes, self.obstacles)
        moved = [life for before, life in zip(lives, placed, strict=True) if life != before]
        self.ledger.record([LedgerChange(life.entity, (life,)) for life in moved])
        return placed

    def _lanes(self, lives: Iterable[Life]) -> Iterator[Lane]:
        """Yield the steps of each entity, then the changes to each policy of several entities."""
        shared: dict[str, list[Join | Leave]] = {}

        def own() -> Iterator[Step]:
            for step in plan(lives, self.planning):
                if isinstance(step, Join | Leave):
                    shared.setdefault(str(step.place), []).append(step)
                else:
                    yield step

        yield from (list(steps) for _, steps in groupby(own(), key=lambda step: step.life.entity))
        if shared:
            yield from shared_writes(shared, self.ledger.lives_in(shared), self.planning)

    def _note(self, outcome: StepOutcome) -> None:
        key = key_of(outcome.life)
        before = self.last.get(key)
        self.last[key] = outcome._replace(revoked=True) if before is not None and before.revoked else outcome
        if isinstance(outcome.step, Join) and str(outcome.step.place) not in outcome.life.places:
            self.obstacles.edited.add(str(outcome.step.place))


def shared_writes(
    steps: Mapping[str, Sequence[Join | Leave]], lives: Iterable[Life], settings: PlanSettings
) -> Iterator[SharedWrite]:
    """Yield the changes to each policy of several entities; `lives`: all whose grant may be in one of them."""
    members: dict[str, list[Life]] = {}
    for life in lives:
        for place in life.places:
            members.setdefault(place, []).append(life)
    for place, several in steps.items():
        concerned = {key_of(step.life) for step in several}
        yield SharedWrite(
            several[0].place,
            settings.instance,
            settings.service,
            joins=tuple(step for step in several if isinstance(step, Join)),
            leaves=tuple(step for step in several if isinstance(step, Leave)),
            others=tuple(life for life in members.get(place, ()) if key_of(life) not in concerned),
        )


def planned(ledger: Ledger, settings: Settings, *, resultant: Resultant | None = None) -> list[Step]:
    """Return the first steps of a push by the ledger alone, without knowing Ranger's policies.

    Raises:
        ConfigError: the settings do not go together.
        PluginError: a plugin cannot be loaded.
    """
    return first_steps(ledger, ledger.lives(PUSH_STATES), plan_settings(settings, resultant))


def first_steps(ledger: Ledger, lives: Sequence[Life], planning: PlanSettings) -> list[Step]:
    """Return the first step of each of these lives; nothing is recorded."""
    creators = {life.creator for life in lives if life.creator and may_be_shared(life, planning)}
    sizes = ledger.place_sizes(creators) if creators else {}
    return list(plan(housed(lives, planning, sizes, Obstacles()), planning))


def _has_more_to_do(outcome: StepOutcome) -> bool:
    """Return whether the step only recorded or did what comes before another one."""
    before, after = outcome.step.life, outcome.life
    moved = after.places != before.places
    match after.state:
        case State.PENDING:
            return moved or (after.merged, after.policy_id) != (before.merged, before.policy_id)
        case State.APPLIED:
            return after.is_moving and (moved or before.state is not State.APPLIED)
        case State.CLOSING:
            return moved
    return moved and after.revoke


def _is_on_the_way(life: Life) -> bool:
    return life.state is State.APPLIED and life.is_moving


def _record(ledger: Ledger, outcomes: Iterable[StepOutcome]) -> None:
    """Record outcomes; a grant that has not left its former policy is recorded when it has."""
    done = ((step, life) for step, life, _ in outcomes if life != step.life and not _is_on_the_way(life))
    ledger.record([LedgerChange(life.entity, (life,)) for _, life in done])
