"""Task of the review: decisions of the engine about entities. Without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial

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
    people = basis.people[start : start + PEOPLE_AT_ONCE]
    answers = [_answer(engine, basis, resource, person, action) for person in people for action in ACTIONS]
    users, actions, allowed, policies, conditional, depends = map(list, zip(*answers, strict=True))
    return (
        *(basis.instance, entity.namespace, str(entity), kind, list(parts)),
        *(users, actions, allowed, policies, conditional, depends),
    )


def _answer(
    engine: PolicyEngine, basis: Basis, resource: dict[str, str], person: ReviewedUser, action: str
) -> tuple[str, str, bool, int, bool, str]:
    """Return user, action, whether it is allowed, the deciding policy, whether that is conditional, and on what."""
    access = action.lower()
    request = AccessRequest(
        resource, access, person.name, person.groups, access_time=basis.now, groups_known=person.groups_known
    )
    decision, entry = reviewed(engine, request)
    depends = None
    if entry is not None and entry.verdict is Verdict.CONDITIONAL:
        subject = Subject(person.name, person.groups)
        depends = _dependences(basis.policies).of(subject, resource, access, entry.policy_id).text
    return person.name, action, is_allowed(decision), decision.policy_id, depends is not None, depends or ""


@lru_cache(maxsize=1)
def _dependences(sent: SentPolicies) -> Dependences:
    """Return the finder of what answers depend on; a process keeps the last one."""
    index = cache(partial(PolicyIndex.of, sent.documents))
    return Dependences(compiled(sent), lambda policy_id: index().tagged(policy_id))
