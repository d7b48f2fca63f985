"""Access that is given twice: principals of policy items without whom every request is decided as before.

Found one after the other, each without those before it, so all of them can be removed together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import msgspec

from ranger_cdap.collector import gc_paused
from ranger_cdap.engine import ADMIN_ACCESS, PolicyEngine
from ranger_cdap.engine.view import ALL_USERS, ANY_USER, Path, PolicyEntry
from ranger_cdap.ranger_model.json_text import decode_or_none
from ranger_cdap.tools.analysis.logic.atoms import AtomTable
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, negated
from ranger_cdap.tools.analysis.request_search import RequestSearch, SearchBudget
from ranger_cdap.tools.analysis.row_text import Spelling, item_named, level_text, names_of, principals, resource_text
from ranger_cdap.tools.analysis.symbols.allowing import levels_of
from ranger_cdap.tools.analysis.symbols.precedence import decision
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Region, Zone
from ranger_cdap.tools.analysis.symbols.symbolic import Ruling, RulingMaker, SymbolicItem
from ranger_cdap.tools.analysis.without_principals import ItemPrincipal, policy_without

_NOTHING: Final[Mapping[int, PolicyEntry | None]] = MappingProxyType({})
_EVERYBODY: Final = frozenset({ALL_USERS, ANY_USER})
MAX_GIVERS: Final = 3
"""Other items that a redundant one names as giving the same."""


@dataclass(frozen=True, slots=True)
class RedundantPrincipal:
    """A principal of an allow item that need not be there; `principal` as in `row_text.principals`.

    `given_by` are other items that give the same people some of the same access, at most `MAX_GIVERS`; none if the item
    gives nothing.
    """

    policy_id: int
    policy_name: str
    zone: str
    item: int
    principal: str
    accesses: tuple[str, ...]
    resources: tuple[str, ...]
    given_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Access that is given twice, and the policies of which a principal could not be decided."""

    principals: tuple[RedundantPrincipal, ...]
    undecided: tuple[str, ...]


def redundancy(
    engine: PolicyEngine,
    *,
    kept: Collection[int] = (),
    budget: SearchBudget = SearchBudget(),  # noqa: B008 - immutable
    spelling: Spelling = resource_text,
) -> Redundancy:
    """Return principals of allow items that can all be removed without changing a decision.

    An item that loses all of them is gone, and a policy without items too. Newer policies, by id, are removed before
    older ones; those with ids in `kept` are not. A principal that the budget does not suffice for stays.
    """
    space = PolicySpace(RulingMaker(engine, AtomTable(), engine.view.roles.names))
    return _RedundancySearch(space, frozenset(kept), RequestSearch(space, budget), spelling).result()


@dataclass(frozen=True, slots=True, eq=False)
class _Given:
    """A principal of an item, on the resources of its policy."""

    zone: Zone
    entry: PolicyEntry
    item: SymbolicItem
    principal: str


@dataclass(slots=True)
class _RedundancySearch:
    """Principals removed so far, and the decision without them."""

    space: PolicySpace
    kept: frozenset[int]
    search: RequestSearch
    spelling: Spelling
    _removed: dict[int, list[ItemPrincipal]] = field(default_factory=dict)
    _reduced: dict[int, PolicyEntry | None] = field(default_factory=dict)
    _made: list[PolicyEntry] = field(default_factory=list)
    """Policies made here, kept because the space knows policies by identity."""

    def result(self) -> Redundancy:
        removed: list[_Given] = []
        undecided: dict[str, None] = {}
        with gc_paused():
            for given in self._candidates():
                changes = self._changes_without(given)
                if changes is None:
                    undecided[f"policy {given.entry.id}"] = None
                elif not changes:
                    removed.append(given)
                    self._reduced[id(given.entry)] = self._without(given)
                    self._removed.setdefault(id(given.entry), []).append(
                        ItemPrincipal(given.item.number, given.principal)
                    )
            found = tuple(self._described(given) for given in removed)
        return Redundancy(found, tuple(undecided))

    def _candidates(self) -> Iterator[_Given]:
        for zone, repository in self.space.repositories.items():
            entries = [entry for entry in repository.all() if entry.id is not None and entry.id not in self.kept]
            for entry in sorted(entries, key=lambda one: one.id or 0, reverse=True):
                if entry.is_substitute or entry.covers_subtree:
                    continue
                yield from (
                    _Given(zone, entry, item, principal)
                    for item in reversed(self.space.symbolic(entry).allow)
                    for principal in principals(item)
                )

    def _changes_without(self, given: _Given) -> bool | None:
        """Return whether a request is decided otherwise without a principal; None if that cannot be decided."""
        reduced, certain = self._without(given), not given.entry.costly
        for path, region, inside in self._regions(given):
            for access in self._accesses(given, every=reduced is None or self.space.has_tags):
                now = self._allowed(given.zone, region, access)
                then = self._allowed(given.zone, region, access, {id(given.entry): reduced})
                for one, other in ((now, then), (then, now)):
                    outcome = self._holds(all_of((inside, one, negated(other))), path, access)
                    if outcome is True:
                        return True
                    certain = certain and outcome is False
        return False if certain else None

    def _holds(self, formula: Formula, path: Path, access: str) -> bool | None:
        found = self.search.solve(formula, path, access)
        return True if found.witness is not None else False if found.exact else None

    def _regions(self, given: _Given) -> Iterator[tuple[Path, Region, Formula]]:
        """Yield the resources of a policy by path, with the formula that one of them is requested in its zone."""
        for path in self.space.paths():
            for resource in given.entry.resources:
                inside = self.space.maker.self_match(resource, path, subtree=False)
                region = Region(path, levels_of(resource, path))
                zoned = self.space.zones(region).get(given.zone, FALSE) if inside is not FALSE else FALSE
                if (formula := all_of((zoned, inside))) is not FALSE:
                    yield path, region, formula

    def _accesses(self, given: _Given, *, every: bool) -> list[str]:
        known = [*(one.name for one in self.space.engine.service_def.access_types), ADMIN_ACCESS]
        return [name for name in known if every or given.item.item.covers(name)]

    def _allowed(
        self, zone: Zone, region: Region, access: str, besides: Mapping[int, PolicyEntry | None] = _NOTHING
    ) -> Formula:
        """Return that a zone's policies allow access without what is removed, `besides` more."""
        left = (self._now(entry, besides) for entry in self.space.near(zone, region))
        by_resource = self.space.rulings((entry for entry in left if entry is not None), region.path, access)
        by_tags = [one.ruling for one in self.space.tag_rulings(zone, region, access)]
        return decision(by_tags, by_resource, self.space.superuser)

    def _now(self, entry: PolicyEntry, besides: Mapping[int, PolicyEntry | None] = _NOTHING) -> PolicyEntry | None:
        """Return a policy without what is removed; None if nothing is left."""
        key = id(entry)
        return besides[key] if key in besides else self._reduced.get(key, entry)

    def _without(self, given: _Given) -> PolicyEntry | None:
        """Return the policy as it is now without a principal of an item: compiled again, for its order changes too."""
        removed = [*self._removed.get(id(given.entry), ()), ItemPrincipal(given.item.number, given.principal)]
        document = policy_without(decode_or_none(given.entry.raw), removed)
        if document is None:
            return None
        compiler, raw = self.space.view.compiler, msgspec.Raw(msgspec.json.encode(document))
        compiled = compiler.compile(compiler.decode(raw), given.entry.resources)
        self._made.append(PolicyEntry.of(raw, compiled, given.entry.resources, compiler, compiled))
        return self._made[-1]

    # --- description --------------------------------------------------------------------------------------------------

    def _described(self, given: _Given) -> RedundantPrincipal:
        policy = given.entry.compiled
        resources = dict.fromkeys(self.spelling(r.path, [*map(level_text, r.elements)]) for r in given.entry.resources)
        return RedundantPrincipal(
            policy_id=policy.id,
            policy_name=policy.name,
            zone=given.zone or "",
            item=given.item.number,
            principal=given.principal,
            accesses=tuple(self._accesses(given, every=False)),
            resources=tuple(resources),
            given_by=tuple(dict.fromkeys(self._givers(given)))[:MAX_GIVERS],
        )

    def _givers(self, given: _Given) -> Iterator[str]:
        """Yield the items that are left and give the principal some of the access."""
        everyone = given.principal == "everyone"
        person = self.space.maker.principals(given.item.item.principals if everyone else names_of(given.principal))
        mine = self._members(person)
        for path, region, inside in self._regions(given):
            for access in self._accesses(given, every=False):
                for ruling, by in self._rulings_left(given.zone, region, access):
                    for item, formula in ruling.allowing_items:
                        theirs = self._members(self.space.maker.principals(item.item.principals))
                        if mine.isdisjoint(theirs) and theirs.isdisjoint(_EVERYBODY):
                            continue
                        if self._holds(all_of((inside, person, ruling.open_to_allow, formula)), path, access):
                            yield item_named(ruling.symbolic, item) + by

    def _rulings_left(self, zone: Zone, region: Region, access: str) -> Iterator[tuple[Ruling, str]]:
        """Yield what is left of the policies that may apply, and the tag by which they do."""
        left = [one for near in self.space.near(zone, region) if (one := self._now(near)) is not None]
        yield from ((ruling, "") for ruling in self.space.rulings(left, region.path, access))
        yield from (
            (tagged.ruling, f", by the tag {tagged.occurrence.tag.type}")
            for tagged in self.space.tag_rulings(zone, region, access)
        )

    def _members(self, principals_: Formula) -> frozenset[str]:
        """Return whom a formula made of names is about, roles replaced by their members."""
        if isinstance(principals_, int):
            return self.space.maker.table[principals_].principals
        return frozenset({ALL_USERS}) if principals_ is TRUE else frozenset()
