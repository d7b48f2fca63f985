"""Task of the review: decisions of the engine about entities. Without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from ranger_cdap.authz.access_review import reviewed
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.engine import AccessRequest, PolicyEngine, Verdict
from ranger_cdap.tools.analysis.subject import Subject
from ranger_cdap.tools.questions.dependence import Dependences
from spark_sync.review.people import ReviewedUser
from spark_sync.spark.sent_policies import SentPolicies, compiled

PEOPLE_AT_ONCE = 1000

Unit = tuple[str, tuple[str, ...], int]
"""An entity's type and parts, and the index of the first user to evaluate: small enough for one row."""

Row = tuple[str, str | None, str, str, list[str], list[str], list[str], list[bool], list[int], list[bool], list[str]]
"""Instance, namespace, entity, type, parts; then one item per answer: user, action, allowed, policy id, conditional,
and on what it depends.
"""


@dataclass(frozen=True, slots=True)
class Basis:
    """Common inputs of all answers; `now` in epoch milliseconds."""

    instance: str
    policies: SentPolicies
    people: tuple[ReviewedUser, ...]
    now: int


def units(entities: Iterable[EntityId], people: int) -> list[Unit]:
    """Split the work: each entity with all people, at most `PEOPLE_AT_ONCE` per unit."""
    starts = range(0, people, PEOPLE_AT_ONCE)
    return [(entity.type, entity.parts, start) for entity in entities for start in starts]


def answer(basis: Basis, work: Iterable[Unit]) -> Iterator[Row]:
    """Return a row for each unit, decided by policies alone: no veto, no operation, no client address.

    Raises:
        PluginError: this process has other plugins than the one that loaded the policies.
    """
    engine = compiled(basis.policies)
    return (_row(engine, basis, unit) for unit in work)


def _row(engine: PolicyEngine, basis: Basis, unit: Unit) -> Row:
    kind, parts, start = unit
    entity = EntityId(kind, tuple(parts))
    resource = to_resource(entity, basis.instance)
    users: list[str] = []
    actions: list[str] = []
    allowed: list[bool] = []
    policies: list[int] = []
    conditional: list[bool] = []
    depends: list[str] = []
    for person in basis.people[start : start + PEOPLE_AT_ONCE]:
        for action, access in _ACCESSES:
            decision, entry = reviewed(
                engine,
                AccessRequest(
                    resource,
                    access,
                    person.name,
                    person.groups,
                    access_time=basis.now,
                    groups_known=person.groups_known,
                ),
            )
            users.append(person.name)
            actions.append(action)
            allowed.append(is_allowed(decision))
            policies.append(decision.policy_id)
            if entry is not None and entry.verdict is Verdict.CONDITIONAL:
                subject = Subject(person.name, person.groups)
                conditional.append(True)
                depends.append(_dependences(basis.policies).of(subject, resource, access, entry.policy_id).text)
            else:
                conditional.append(False)
                depends.append("")
    return (
        basis.instance,
        entity.namespace,
        str(entity),
        kind,
        list(parts),
        users,
        actions,
        allowed,
        policies,
        conditional,
        depends,
    )


@lru_cache(maxsize=1)
def _dependences(sent: SentPolicies) -> Dependences:
    """Return the finder of what answers depend on; a process keeps the last one."""

    @cache
    def index() -> PolicyIndex:
        return PolicyIndex.of(sent.documents)

    return Dependences(compiled(sent), lambda policy_id: index().tagged(policy_id))


_ACCESSES = tuple((action, action.lower()) for action in ACTIONS)
