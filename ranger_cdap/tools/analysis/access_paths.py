"""Ways: by which items one user has access to one resource, what stands against it, and which removals end it.

The answer is found from the formulas, and the law is that the engine gives the same; only the policy that decides is
named by the engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from msgspec import structs

from ranger_cdap.engine import NO_POLICY, AccessRequest, PolicyEngine, Verdict
from ranger_cdap.keyed import grouped
from ranger_cdap.tools.analysis.effective_access import granting_items, taking_items
from ranger_cdap.tools.analysis.equivalent_subjects import EquivalentSubjects
from ranger_cdap.tools.analysis.logic.atoms import AtomTable
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, any_of, negated
from ranger_cdap.tools.analysis.logic.witness import Witness
from ranger_cdap.tools.analysis.request_search import DEFAULT_TIME, SearchBudget
from ranger_cdap.tools.analysis.subject import Subject, SubjectRulingMaker, SubjectSearch, SubjectSpace, exactly
from ranger_cdap.tools.analysis.symbols.precedence import decision
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Region, TagOccurrence, TagRuling, Zone
from ranger_cdap.tools.analysis.symbols.symbolic import ALLOW_EXCEPTIONS, Ruling, RulingMaker, SymbolicItem

MAX_POLICIES: Final = 8
"""Policies of which every combination is tried for what ends an access; of more, each one and all."""

_BUDGET: Final = SearchBudget(search_steps=20_000)
_SUPER: Final = 0
"""Key of the super users among those of policies."""


@dataclass(frozen=True, slots=True, eq=False)
class CellItem:
    """An item that applies; without an item a policy that denies all else, without a policy the super users.

    A tag policy applies by the `occurrences` of its tags. An `effective` one that allows is part of what ends the
    access; one that denies does so in some circumstances.
    """

    zone: Zone
    ruling: Ruling | None
    item: SymbolicItem | None
    occurrences: tuple[TagOccurrence, ...] = ()
    effective: bool = False

    @property
    def priority(self) -> int:
        """Priority of the policy."""
        return self.ruling.policy.priority if self.ruling else 2**31

    @property
    def policy_id(self) -> int:
        """Id of the policy."""
        return self.ruling.policy.id if self.ruling else NO_POLICY


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """Answer for one user, resource and access type.

    Each of `removals` is a smallest set of allow items of which the removal of all ends the access, whatever else is
    removed or not. `decided_by` is the policy that decides in `witness`, a request that is allowed if any is.
    """

    verdict: Verdict
    access: str
    allowing: tuple[CellItem, ...]
    denying: tuple[CellItem, ...]
    removals: tuple[tuple[CellItem, ...], ...]
    decided_by: int
    witness: Witness | None

    @property
    def ways(self) -> tuple[CellItem, ...]:
        """Items by which access is allowed."""
        return tuple(one for one in self.allowing if one.effective)


class CellFinder:
    """Finder of cells in one set of policies."""

    def __init__(self, engine: PolicyEngine) -> None:
        self._engine = engine
        self._shared = PolicySpace(RulingMaker(engine, AtomTable(), engine.view.roles.names))
        self._alike = EquivalentSubjects(self._shared)

    def class_of(self, subject: Subject, resource: Mapping[str, str]) -> Hashable:
        """Return the class of a subject: those of one class have the same cells there, except for the witness."""
        return self._alike.class_of(subject, resource)

    def cell(self, subject: Subject, resource: Mapping[str, str], access: str, access_time: int = DEFAULT_TIME) -> Cell:
        """Return the answer in whatever circumstances: from any address, at any time, in any context."""
        base = AccessRequest(resource, access, subject.user, subject.groups, access_time=access_time)
        return self._found(SubjectRulingMaker.of(self._engine, subject, resource), base)

    def lookup(self, request: AccessRequest) -> Cell:
        """Return the answer on one request with a value per level; it never depends on anything."""
        subject = Subject(request.user, request.groups, request.roles, request.owner)
        context = self._engine.context_of(request)
        values = {name: value for name, value in request.resource.items() if isinstance(value, str)}
        return self._found(SubjectRulingMaker.of(self._engine, subject, values, context), request)

    def _found(self, maker: SubjectRulingMaker, base: AccessRequest) -> Cell:
        return _CellSearch.of(SubjectSpace(maker, self._shared), maker, base).found()


@dataclass(frozen=True, slots=True, eq=False)
class _ZoneRulings:
    """The rulings in one zone, and that it decides."""

    zone: Zone
    inside: Formula
    by_tags: tuple[TagRuling, ...]
    by_resource: tuple[Ruling, ...]


@dataclass(slots=True)
class _CellSearch:
    space: PolicySpace
    maker: SubjectRulingMaker
    base: AccessRequest
    pinned: Formula
    zones: tuple[_ZoneRulings, ...]

    @classmethod
    def of(cls, space: PolicySpace, maker: SubjectRulingMaker, base: AccessRequest) -> _CellSearch:
        access = base.access_type
        path = space.view.model.path_of(frozenset(maker.values)) if maker.values else ()
        if path is None:
            return cls(space, maker, base, TRUE, ())
        levels = space.view.model.levels
        elements = tuple(exactly(maker.values[name], levels[name]) for name in path)
        region = Region(path, elements)
        pinned = all_of(maker.table.level(name, one) for name, one in zip(path, elements, strict=True))
        zones = tuple(
            _ZoneRulings(
                zone,
                inside,
                tuple(space.tag_rulings(zone, region, access)),
                tuple(space.rulings(space.near(zone, region), path, access)),
            )
            for zone, inside in space.zones(region).items()
        )
        return cls(space, maker, base, pinned, zones)

    def found(self) -> Cell:
        """Return the cell."""
        allowed = self._allowed(frozenset())
        yes, no = self._solved(allowed), self._solved(negated(allowed))
        denying = _merged(self._denying(negated(allowed)))
        allowing = _merged(self._allowing())
        verdict = _verdict(yes, no, by_policy=any(one.effective and _denies(one) for one in denying))
        removals: tuple[tuple[CellItem, ...], ...] = ()
        if yes is not False:
            removals = tuple(self._removals(allowing))
            effective = {id(one) for group in removals for one in group}
            marked = {id(one): replace(one, effective=id(one) in effective) for one in allowing}
            allowing = tuple(marked.values())
            removals = tuple(tuple(marked[id(one)] for one in group) for group in removals)
        witness = yes if isinstance(yes, Witness) else no if isinstance(no, Witness) else None
        decided_by = self._decided_by(witness, denying)

        def in_order(items: Iterable[CellItem]) -> tuple[CellItem, ...]:
            return tuple(sorted(items, key=lambda one: (one.policy_id != decided_by, not one.effective, -one.priority)))

        return Cell(
            verdict, self.base.access_type, in_order(allowing), in_order(denying), removals, decided_by, witness
        )

    def _decided_by(self, witness: Witness | None, denying: Iterable[CellItem]) -> int:
        """Return the policy that decides on a request.

        Where a tag denies and a higher policy allows without being final (precedence.py), the engine names the latter.
        """
        if witness is None:
            return NO_POLICY
        engine = self.space.engine
        found = engine.evaluate(witness.request_to(engine))
        verdict = [one.policy_id for one in denying if one.effective and _denies(one)]
        denies_lower = verdict and not found.allowed and found.policy_id not in verdict
        return verdict[0] if denies_lower else found.policy_id

    # --- items --------------------------------------------------------------------------------------------------------

    def _allowing(self) -> Iterator[CellItem]:
        """Yield the items that would allow access if nothing denied it."""
        if self.space.superuser is TRUE:
            yield CellItem(None, None, None)
        for zone, one, ruling in self._each():
            granted = granting_items(one, self.space)
            yield from (
                CellItem(zone.zone, ruling, item, _occurrences(one))
                for item, formula in ruling.allowing_items
                if self._may_hold(all_of((zone.inside, granted, formula)))
            )

    def _denying(self, denied: Formula) -> Iterator[CellItem]:
        for zone, one, ruling in self._each():
            for item, formula in taking_items(ruling, self.base.access_type, self.maker):
                if self._may_hold(all_of((zone.inside, formula))):
                    effective = self._may_hold(all_of((zone.inside, formula, denied)))
                    yield CellItem(zone.zone, ruling, item, _occurrences(one), effective)

    def _each(self) -> Iterator[tuple[_ZoneRulings, Ruling | TagRuling, Ruling]]:
        for zone in self.zones:
            yield from ((zone, tagged, tagged.ruling) for tagged in zone.by_tags)
            yield from ((zone, ruling, ruling) for ruling in zone.by_resource)

    # --- removals -----------------------------------------------------------------------------------------------------

    def _removals(self, allowing: Iterable[CellItem]) -> Iterator[tuple[CellItem, ...]]:
        by_policy = grouped((_key(one), one) for one in allowing)
        yield from (tuple(one for key in keys for one in by_policy[key]) for keys in self._smallest(list(by_policy)))

    def _smallest(self, keys: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield the smallest sets of policies without whose items for the user there is no access."""
        if len(keys) > MAX_POLICIES:
            alone = [key for key in keys if self._ends([key])]
            if alone:
                yield from ((key,) for key in alone)
                return
            # Without denials of all else each policy that allows on its own is needed, and no other.
            enough = [key for key in keys if not self._ends([other for other in keys if other != key])]
            yield tuple(enough) if self._ends(enough) else tuple(keys)
            return
        found: list[tuple[int, ...]] = []
        for size in range(1, len(keys) + 1):
            for chosen in combinations(keys, size):
                if not any(set(one) <= set(chosen) for one in found) and self._ends(chosen):
                    found.append(chosen)
                    yield chosen

    def _ends(self, keys: Iterable[int]) -> bool:
        return not self._may_hold(self._allowed(frozenset(keys)))

    def _allowed(self, removed: frozenset[int]) -> Formula:
        """Return that access is allowed without the items for the user of these policies."""
        superuser = FALSE if _SUPER in removed else self.space.superuser

        def kept(ruling: Ruling) -> Ruling:
            return _without_items(ruling) if id(ruling.policy) in removed else ruling

        return any_of(
            all_of(
                (
                    zone.inside,
                    decision([kept(one.ruling) for one in zone.by_tags], list(map(kept, zone.by_resource)), superuser),
                )
            )
            for zone in self.zones
        )

    # --- solving ------------------------------------------------------------------------------------------------------

    def _may_hold(self, formula: Formula) -> bool:
        return self._solved(formula) is not False

    def _solved(self, formula: Formula) -> Witness | bool | None:
        """Return a request, False if there is none, None if that could not be decided."""
        path = self.space.view.model.path_of(frozenset(self.maker.values)) if self.maker.values else ()
        search = SubjectSearch(self.space, _BUDGET, self.base.access_time, subject=self.maker.subject)
        found = search.solve(all_of((self.pinned, formula)), path or (), self.base.access_type)
        if found.witness is None:
            return False if found.exact else None
        return found.witness if self.maker.context is None else Witness(self.base)


def _verdict(allowed: Witness | bool | None, denied: Witness | bool | None, *, by_policy: bool) -> Verdict:
    if allowed is None or denied is None:
        return Verdict.UNDECIDED
    if allowed is not False:
        return Verdict.ALLOWED if denied is False else Verdict.CONDITIONAL
    return Verdict.DENIED if by_policy else Verdict.NO_POLICY


def _occurrences(one: Ruling | TagRuling) -> tuple[TagOccurrence, ...]:
    return (one.occurrence,) if isinstance(one, TagRuling) else ()


def _merged(items: Iterable[CellItem]) -> tuple[CellItem, ...]:
    """Return each item once, with all tags by which it applies."""
    found: dict[tuple[int, str, int], CellItem] = {}
    for one in items:
        key = (_key(one), one.item.side if one.item else "", one.item.number if one.item else 0)
        known = found.get(key, one)
        tags = tuple(dict.fromkeys((*known.occurrences, *one.occurrences)))
        found[key] = replace(known, occurrences=tags, effective=known.effective or one.effective)
    return tuple(found.values())


def _denies(one: CellItem) -> bool:
    return one.item is None or one.item.side != ALLOW_EXCEPTIONS


def _key(one: CellItem) -> int:
    return _SUPER if one.ruling is None else id(one.ruling.policy)


def _without_items(ruling: Ruling) -> Ruling:
    """Return a ruling without the allow items that apply to the user."""
    gone = {item.number for item, _ in ruling.allowing_items}
    policy = ruling.policy
    kept = tuple(item for n, item in enumerate(policy.allow, 1) if n not in gone)
    symbolic = replace(ruling.symbolic, policy=structs.replace(policy, allow=kept))
    denies = any_of((ruling.denies, ruling.allows)) if policy.deny_all_else else ruling.denies
    return replace(ruling, symbolic=symbolic, denies=denies, allows=FALSE, allowing_items=())
