"""`AccessEnforcer`: answers CDAP's own checks, as its extension point makes them (architecture.md, decision 4)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import FinalCheck
from ranger_cdap.authz.denial_text import before_creation
from ranger_cdap.cdap.answer import Answer, Missing, denied
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable, Resolved, Unknown
from ranger_cdap.cdap.checks.master import MasterCreate, MasterDecision, Previews, decide_create
from ranger_cdap.cdap.enforcement import INVALID
from ranger_cdap.cdap.entity import EntityId, ResolvedEntity, ResourceMapping, inner_types, resolve_entity, type_of
from ranger_cdap.cdap.existence import ExistenceOf, unknown_existence
from ranger_cdap.cdap.profile import SYNONYMS, Operation
from ranger_cdap.errors import InvalidInput
from ranger_cdap.forks import ForkLock

_CREATE = "create"
_INSTANCE = EntityId("instance", ())


class Enforced(msgspec.Struct, frozen=True, gc=False):
    """Result of a check, with the answers to the operations it maps to; denials name the missing privileges."""

    check: CdapCheck
    allowed: bool
    answers: tuple[Answer, ...]

    @property
    def reason(self) -> str:
        """Return the reason of a denial, as a sentence for the user; empty if allowed."""
        denials = [answer for answer in self.answers if not answer.allowed]
        reasons = [list(map(str, answer.missing)) or [answer.reason] for answer in denials]
        advice = before_creation(self.check, denials) if denials else ""  # most checks are allowed
        return "; ".join(filter(None, dict.fromkeys((*chain.from_iterable(reasons), advice))))

    @property
    def missing(self) -> tuple[Missing, ...]:
        """Return the missing privileges."""
        return tuple(dict.fromkeys(m for answer in self.answers if not answer.allowed for m in answer.missing))

    @property
    def enforced(self) -> bool:
        """Return true if all operations of the check are enforced."""
        return all(answer.enforced for answer in self.answers)

    @property
    def lasting(self) -> bool:
        """Return true if the same policies decide so at any time and from anywhere."""
        return _lasting(self.answers)


@dataclass(frozen=True, slots=True)
class VisibleEntities:
    """Visibility of each entity for a user; `lasting` as in `Enforced`, for all of them together."""

    of_each: list[bool]
    lasting: bool


class AccessEnforcer:
    """Enforcer of CDAP's checks, by the operations they map to; safe to share between threads.

    `mode` decides what CDAP's master user may create in user namespaces (docs/explanation/master-user.md).
    """

    def __init__(
        self, authorizer: Authorizer, mode: MasterCreate = MasterCreate.PREVIEW, clock: Callable[[], float] = time.time
    ) -> None:
        self._decider = authorizer.decider
        self._table = CheckTable(authorizer.decider.config.profile)
        self._mode = mode
        self._clock = clock
        self._previews = Previews()
        self._unknown: Counter[Unknown] = Counter()
        self._lock = ForkLock()

    @property
    def unknown(self) -> Mapping[Unknown, int]:
        """Return how often a check contained an unknown hint, permission or entity type."""
        with self._lock:
            return dict(self._unknown)

    def enforce(
        self,
        user: str,
        check: CdapCheck,
        *,
        groups: Collection[str] = (),
        client_ip: str | None = None,
        final_check: FinalCheck | None = None,
        existence: ExistenceOf = unknown_existence,
    ) -> Enforced:
        """Decide if the user may perform what the check maps to; audited.

        `final_check` is called before the audit is written, if the check would be allowed and all of it is enforced.
        `existence` is asked where CDAP may be about to replace an entity: an existing one needs the operation that
        updates it, one of which nothing is known needs both.

        An invalid check (an entity with too many or too few parts, a name CDAP does not allow, a malformed permission)
        is denied, and the reason names the defect.
        """
        try:
            resolved = self._resolved(check, existence)
        except InvalidInput as e:
            refused = denied(f"{_kind_of(check)}.{INVALID}", _INSTANCE, user, str(e))
            override = self._decider.record_override(refused, client_ip)
            return Enforced(check, override.allowed, (override,))
        by_setting = self._by_setting(user, check, resolved.target.entity, client_ip, final_check)
        if by_setting is not None:
            return Enforced(check, by_setting.allowed, (by_setting,))
        answers = self._decider.check_rows(user, groups, _rows(resolved), client_ip=client_ip, final_check=final_check)
        enforced = Enforced(check, all(answer.allowed for answer in answers), tuple(answers))
        if enforced.allowed:
            self._remember(user, check, resolved.target)
        return enforced

    def visible(
        self, user: str, entities: Sequence[tuple[str, Sequence[str]]], *, groups: Collection[str] = ()
    ) -> VisibleEntities:
        """Return whether a list shows each entity (CDAP's type and idParts) to the user; not audited.

        The profile's row for listing such entities decides, with the options of lists. An entity with too many or too
        few parts, or with a name CDAP does not allow, is invisible.
        """
        of_each = [False] * len(entities)
        itself: list[tuple[int, EntityId]] = []
        lasting = True
        for n, (kind, parts) in enumerate(entities):
            try:
                resolved = resolve_entity(kind, parts)
                if resolved.mapping is ResourceMapping.ITSELF:
                    itself.append((n, resolved.entity))
                    continue
                rows = _rows(self._resolved(CdapCheck(kind, tuple(parts), ())))
            except InvalidInput:
                continue
            answers = self._decider.evaluate_rows(user, groups, rows)
            of_each[n] = all(answer.allowed for answer in answers)
            lasting = lasting and _lasting(answers)
        listed = [e for _, e in itself]
        visibilities = self._decider.visibility_of(user, groups, listed, self._table.list_row)
        for (n, _), visibility in zip(itself, visibilities, strict=True):
            of_each[n] = visibility.visible
        return VisibleEntities(of_each, lasting and all(visibility.lasting for visibility in visibilities))

    def _resolved(self, check: CdapCheck, existence: ExistenceOf | None = None) -> Resolved:
        resolved = self._table.resolve(check, existence)
        self._count(resolved.unknown)
        return resolved

    def _by_setting(
        self, user: str, check: CdapCheck, entity: EntityId, client_ip: str | None, final_check: FinalCheck | None
    ) -> Answer | None:
        """Return the answer of `master.create` to a check of the master user; None if the policies decide. Audited."""
        if user != self._decider.config.master or self._decider.snapshot.engine is None:
            return None
        with self._lock:
            decision = decide_create(self._mode, check, entity, self._previews, int(self._clock() * 1000))
            self._previews = decision.previews
        answer = answer_of_setting(user, check, entity, decision)
        return answer and self._decider.record_override(answer, client_ip, final_check=final_check)

    def _remember(self, user: str, check: CdapCheck, target: ResolvedEntity) -> None:
        with self._lock:
            now = int(self._clock() * 1000)
            self._previews = self._previews.remember(check, target, user, self._decider.config.master, now)

    def _count(self, unknown: Collection[Unknown]) -> None:
        if unknown:
            with self._lock:
                self._unknown.update(unknown)


def _rows(resolved: Resolved) -> list[tuple[Operation, EntityId]]:
    return [(operation.operation, operation.entity) for operation in resolved.operations]


def answer_of_setting(user: str, check: CdapCheck, entity: EntityId, decision: MasterDecision) -> Answer | None:
    """Return the answer of `master.create`; None if it leaves the check to the policies."""
    if decision.allowed is None:
        return None
    name = f"{_kind_of(check)}.{_CREATE}"
    return Answer(
        allowed=decision.allowed,
        operation=SYNONYMS.get(name, name),
        entity=entity,
        person=user,
        requirements=(),
        given_reason=decision.reason,
    )


def _lasting(answers: Iterable[Answer]) -> bool:
    """Return true if policies alone decided, without conditions."""
    return all(answer.alternatives and not answer.conditional for answer in answers)


def _kind_of(check: CdapCheck) -> str:
    """Return the entity type that a check is about: of a check on the parent, the child's."""
    name = (check.child_type or check.entity_type).upper()
    inner = inner_types().get(name)
    return type_of(inner.within if inner else name)[0] or _INSTANCE.type
