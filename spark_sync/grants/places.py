"""Places of grants: the policy that each grant belongs into, and which lives wait for another one. Pure.

A place is recorded in the ledger before anything is sent, so that a revocation finds the grant where it may be. Grants
of equal terms fill one policy after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, groupby

from ranger_cdap.cdap.shared_policy import MOST_ENTITIES, PolicyPlace, SharedTerms
from spark_sync.grants.plan import CreateGrant, Join, PlanSettings, plan, shared_terms
from spark_sync.ledger.life import OWN_POLICY, Life, State

_UNSENT = (State.PENDING, State.FAILED)
LifeKey = tuple[object, int]


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Obstacles that a push has found in Ranger.

    `edited`: places whose policy a person changed or deleted. `taken`: new lives whose resource has a policy, so that
    only a policy of its own shows whether the grant may be written; `free`: those whose resource has none.
    """

    edited: set[str] = field(default_factory=set)
    taken: set[LifeKey] = field(default_factory=set)
    free: set[LifeKey] = field(default_factory=set)


def key_of(life: Life) -> LifeKey:
    """Return the key of a life in the ledger."""
    return life.entity, life.number


def housed(lives: Iterable[Life], settings: PlanSettings, sizes: Mapping[str, int], obstacles: Obstacles) -> list[Life]:
    """Return the lives with the place where their grant belongs as the last one; former places stay in front.

    A grant that Ranger may have stays in its layout: only `sync relayout` changes that.

    Args:
        sizes: how many grants each policy of several entities holds, or may hold.
    """
    taken = Counter(sizes)
    return [_housed(life, settings, taken, obstacles) for life in lives]


def may_be_shared(life: Life, settings: PlanSettings) -> bool:
    """Return whether the life's place depends on those of other lives."""
    return life.state in _UNSENT and not life.merged and (bool(life.home) or _is_new(life, settings))


def is_unplaced(life: Life, settings: PlanSettings) -> bool:
    """Return whether the life is to get a place among others, and may have been sent to a policy of its own before."""
    return may_be_shared(life, settings) and not life.places


def ready(pending: Iterable[Life]) -> tuple[list[Life], list[Life]]:
    """Return the lives that can be sent now, and those whose entity has an earlier life that must end first.

    Lives in policies of their own need not wait: they are sent one after another.
    """
    now, later = list[Life](), list[Life]()
    for _, group in groupby(sorted(pending, key=lambda life: (life.entity, life.number)), key=lambda life: life.entity):
        lives = list(group)
        waits = any(life.places for life in lives) and any(life.state is State.CLOSING for life in lives)
        for life in lives:
            (later if waits and life.state is not State.CLOSING else now).append(life)
    return now, later


def _is_new(life: Life, settings: PlanSettings) -> bool:
    return settings.layout == "creator" and life.policy_id < 0


def _housed(life: Life, settings: PlanSettings, taken: Counter[str], obstacles: Obstacles) -> Life:
    if not may_be_shared(life, settings) or (wanted := wanted_terms(life, settings)) is None:
        return life
    own = key_of(life) in obstacles.taken or (settings.layout == "entity" and life.policy_id < 0)
    if own:
        return _moved(life, OWN_POLICY) if life.places else life
    usable = [
        place
        for place in life.places
        if place != OWN_POLICY and place not in obstacles.edited and PolicyPlace.parse(place).key == wanted.key
    ]
    if usable:  # the newest one: it has a place there already
        return life if usable[-1] == life.home else _moved(life, usable[-1])
    home = free_place(wanted, taken, obstacles.edited)
    taken[home] += 1
    return _moved(life, home)


def _moved(life: Life, home: str) -> Life:
    places = (*(place for place in life.places if place != home), home)
    return replace(life, places=() if places == (OWN_POLICY,) else places)


def free_place(terms: SharedTerms, taken: Mapping[str, int], edited: Collection[str]) -> str:
    """Return the first place of these terms with room; `taken`: the grants of each place, `edited`: unusable places."""
    key = terms.key
    places = (str(PolicyPlace(key, number)) for number in count(1))
    return next(place for place in places if taken.get(place, 0) < MOST_ENTITIES and place not in edited)


def wanted_terms(life: Life, settings: PlanSettings) -> SharedTerms | None:
    """Return the terms of the grant that a life is to get; `None` if it gets none, or cannot get it now."""
    match next(plan([life], settings), None):
        case CreateGrant() as step:
            return shared_terms(life.entity, step.grant, settings)
        case Join() as step:
            return step.shared
    return None
