"""Task of the review: decisions of the engine, compiled once per process, about entities. Without Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ranger_cdap.analysis.subject import Subject
from ranger_cdap.authz.access_review import reviewed
from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.engine import AccessRequest, AccessStatus, EngineOptions, PolicyEngine
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.policies.refresh.documents import Documents, compile_set, pieces
from ranger_cdap.policies.refresh.ended import without_ended
from ranger_cdap.questions.dependence import Dependences
from ranger_cdap.questions.policy_index import PolicyIndex, TagPolicy
from spark_sync.review.people import ReviewedUser

PEOPLE_AT_ONCE = 1000

Unit = tuple[str, tuple[str, ...], int]
"""An entity's type and parts, and the index of the first user to evaluate: small enough for one row."""

Row = tuple[str, str | None, str, str, list[str], list[str], list[str], list[bool], list[int], list[bool], list[str]]
"""Instance, namespace, entity, type, parts; then one item per answer: user, action, allowed, policy id, conditional,
and on what it depends.
"""


@dataclass(frozen=True, slots=True)
class Basis:
    """Common inputs of all answers; `now` in epoch milliseconds.

    `conditions` are the classes of conditions of the driver's plugins, `digest` identifies the policies.
    """

    service: str
    instance: str
    documents: Documents
    conditions: frozenset[str]
    people: tuple[ReviewedUser, ...]
    now: int
    digest: bytes


def basis(
    service: str,
    instance: str,
    documents: Documents,
    conditions: frozenset[str],
    people: tuple[ReviewedUser, ...],
    now: int,
) -> Basis:
    """Return a basis for Spark: the policies in one piece, without ended ones and without the user store."""
    policies = b"".join(pieces(without_ended(documents, now).policies))
    sent = Documents(policies, documents.roles, documents.tags)
    digest = hashlib.sha256(service.encode())
    for content in (policies, documents.roles, documents.tags or b""):
        digest.update(len(content).to_bytes(8))
        digest.update(content)
    return Basis(service, instance, sent, conditions, people, now, digest.digest())


def units(entities: Iterable[EntityId], people: int) -> list[Unit]:
    """Split the work: each entity with all people, at most `PEOPLE_AT_ONCE` per unit."""
    starts = range(0, people, PEOPLE_AT_ONCE)
    return [(entity.type, entity.parts, start) for entity in entities for start in starts]


def answer(basis: Basis, work: Iterable[Unit]) -> Iterator[Row]:
    """Return a row for each unit, decided by policies alone: no veto, no operation, no client address.

    Raises:
        PluginError: this process has other plugins than the one that loaded the policies.
    """
    compiled = _compiled_set(basis)
    return (_row(compiled, basis, unit) for unit in work)


def _row(compiled: _CompiledSet, basis: Basis, unit: Unit) -> Row:
    engine = compiled.engine
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
            if entry is not None and entry.status is AccessStatus.CONDITIONAL:
                subject = Subject(person.name, person.groups)
                conditional.append(True)
                depends.append(compiled.dependences.of(subject, resource, access, entry.policy_id).text)
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


@dataclass(frozen=True)
class _CompiledSet:
    """Policies of a process, and the finder of what conditional answers depend on."""

    engine: PolicyEngine
    documents: Documents

    @cached_property
    def dependences(self) -> Dependences:
        """Finder of dependences."""
        return Dependences(self.engine, self._tagged)

    def _tagged(self, policy_id: int) -> TagPolicy:
        return self._index.tagged(policy_id)

    @cached_property
    def _index(self) -> PolicyIndex:
        return PolicyIndex.of(self.documents)


def _compiled_set(basis: Basis) -> _CompiledSet:
    """Return the policies compiled by this process; it keeps the last ones."""
    key = (basis.digest, basis.conditions)
    if key not in _compiled:
        makers = condition_factories(plugin_manager())
        if differing := basis.conditions ^ frozenset(makers):
            names = ", ".join(f"`{name}`" for name in sorted(differing))
            raise PluginError(f"Spark's executors and its driver differ in their plugins: conditions {names}")
        options = EngineOptions(conditions=makers)
        engine = compile_set(basis.documents, basis.service, options).engine
        _compiled.clear()
        _compiled[key] = _CompiledSet(engine, basis.documents)
    return _compiled[key]


_ACCESSES = tuple((action, action.lower()) for action in ACTIONS)
_compiled: dict[tuple[bytes, frozenset[str]], _CompiledSet] = {}
