"""`AccessEnforcer`: answers CDAP's own checks, as its extension point asks them (architecture.md, decision 4)."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import LastWord
from ranger_cdap.cdap.answer import Answer, Missing, denied
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable, Unknown
from ranger_cdap.cdap.checks.master import MasterCreate, Previews, decide_create
from ranger_cdap.cdap.entity import EntityId, ResourceMapping, resolve_entity
from ranger_cdap.cdap.profile import Operation
from ranger_cdap.errors import InvalidInput

Rows = tuple[tuple[Operation, EntityId], ...]

_CREATE = "create"
_SEE = "see"
_NO_CHECK = "instance.check"
_INSTANCE = EntityId("instance", ())


@dataclass(frozen=True, slots=True)
class Enforced:
    """Whether CDAP may go on, and the answers to the operations its check stands for; denials name what is missing."""

    allowed: bool
    answers: tuple[Answer, ...]

    @property
    def reason(self) -> str:
        """Why not, in a sentence for the person who asked; empty where it is allowed."""
        denials = (answer for answer in self.answers if not answer.allowed)
        told = (map(str, answer.missing) if answer.missing else (answer.reason,) for answer in denials)
        return "; ".join(dict.fromkeys(chain.from_iterable(told)))

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The privileges that are missing."""
        return tuple(dict.fromkeys(m for answer in self.answers if not answer.allowed for m in answer.missing))

    @property
    def enforced(self) -> bool:
        """Whether all of it is enforced."""
        return all(answer.enforced for answer in self.answers)

    @property
    def lasting(self) -> bool:
        """Whether the same policies answer so at any time and from anywhere."""
        return _lasting(self.answers)


@dataclass(frozen=True, slots=True)
class VisibleEntities:
    """Of each entity whether somebody sees it; `lasting` as in `Enforced`, of all of them together."""

    of_each: list[bool]
    lasting: bool


class AccessEnforcer:
    """Decides checks by the operations they stand for; safe to share between threads.

    What CDAP's master user may create in user namespaces is decided by `mode` (docs/explanation/master-user.md).
    """

    def __init__(
        self, authorizer: Authorizer, mode: MasterCreate = MasterCreate.PREVIEW, clock: Callable[[], float] = time.time
    ) -> None:
        self._decider = authorizer.decider
        self._table = CheckTable(authorizer.decider.rules.profile)
        self._mode = mode
        self._clock = clock
        self._previews = Previews()
        self._unknown: Counter[Unknown] = Counter()
        self._lock = threading.Lock()

    @property
    def unknown(self) -> Mapping[Unknown, int]:
        """How often a check held a hint, a permission or an entity type that nobody knows."""
        with self._lock:
            return dict(self._unknown)

    def enforce(
        self,
        user: str,
        check: CdapCheck,
        *,
        groups: Collection[str] = (),
        client_ip: str | None = None,
        last_word: LastWord | None = None,
    ) -> Enforced:
        """Whether the user may do what the check stands for; audited.

        `last_word` is asked before the audit is written, if the check would be allowed and all of it is enforced.

        What is no check (an entity with too many or too few parts, a name CDAP does not allow, text that is no
        permission) is denied, and the reason says what is wrong with it.
        """
        try:
            rows = self._rows(check)
            settled = self._by_setting(user, check, client_ip, last_word)
        except InvalidInput as e:
            rows, settled = (), self._decider.settle(denied(_NO_CHECK, _INSTANCE, user, str(e)), client_ip)
        if settled is not None:
            return Enforced(settled.allowed, (settled,))
        answers = self._decider.check_rows(user, groups, rows, client_ip=client_ip, last_word=last_word)
        enforced = Enforced(all(answer.allowed for answer in answers), tuple(answers))
        if enforced.allowed:
            self._remember(user, check)
        return enforced

    def visible(
        self, user: str, entities: Sequence[tuple[str, Sequence[str]]], *, groups: Collection[str] = ()
    ) -> VisibleEntities:
        """Of each entity (CDAP's type and idParts) whether the user sees it; not audited.

        Nobody sees an entity with too many or too few parts, or with a name CDAP does not allow.
        """
        of_each = [False] * len(entities)
        itself: list[tuple[int, EntityId]] = []
        lasting = True
        for n, (kind, parts) in enumerate(entities):
            try:
                placed = resolve_entity(kind, parts)
                if placed.standing is ResourceMapping.ITSELF:
                    itself.append((n, placed.entity))
                    continue
                rows = self._rows(CdapCheck(kind, tuple(parts), ()))
            except InvalidInput:
                continue
            answers = self._decider.evaluate_rows(user, groups, rows)
            of_each[n] = all(answer.allowed for answer in answers)
            lasting = lasting and _lasting(answers)
        visibility_of = self._decider.visibility_of(user, groups, [entity for _, entity in itself], verb=_SEE)
        for (n, _), sight in zip(itself, visibility_of, strict=True):
            of_each[n] = sight.seen
        return VisibleEntities(of_each, lasting and all(sight.lasting for sight in visibility_of))

    def _rows(self, check: CdapCheck) -> Rows:
        resolved = self._table.resolve(check)
        self._count(resolved.unknown)
        return tuple((question.operation, question.entity) for question in resolved.questions)

    def _by_setting(
        self, user: str, check: CdapCheck, client_ip: str | None, last_word: LastWord | None
    ) -> Answer | None:
        """What `master.create` says of a check of the master user; None where the policies decide."""
        if user != self._decider.rules.master or self._decider.snapshot.engine is None:
            return None
        with self._lock:
            decision = decide_create(self._mode, check, self._previews, int(self._clock() * 1000))
            self._previews = decision.previews
        if decision.allowed is None:
            return None
        entity = resolve_entity(check.entity_type, check.id_parts).entity
        answer = Answer(
            allowed=decision.allowed,
            operation=f"{entity.type}.{_CREATE}",
            entity=entity,
            person=user,
            requirements=(),
            reason=decision.reason,
        )
        return self._decider.settle(answer, client_ip, last_word=last_word)

    def _remember(self, user: str, check: CdapCheck) -> None:
        with self._lock:
            now = int(self._clock() * 1000)
            self._previews = self._previews.remember(check, user, self._decider.rules.master, now)

    def _count(self, unknown: Collection[Unknown]) -> None:
        if unknown:
            with self._lock:
                self._unknown.update(unknown)


def _lasting(answers: Iterable[Answer]) -> bool:
    """Whether policies alone decided, without looking at conditions."""
    return all(answer.tried and not answer.conditional for answer in answers)
