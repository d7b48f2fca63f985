"""The policies of a zone, by resource (ranger-semantics.md §3), and sets of them that differ in a few policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.load import Loaded, Record
from ranger_cdap.engine.compiled.matcher import Tokens, Value
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.resource_match import SELF_KINDS, MatchType
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.lookup.index import ResourceIndex
from ranger_cdap.engine.lookup.node import Node

_MOST_SHARED_NODES = 100_000
_MOST_PASSING = 20_000
_LONGEST_PASSING = 1_000
"""Characters of a resource that no policy names and that is remembered all the same."""
_MOST_RECENT = 64
_MOST_PATCHED = 4096
_T = TypeVar("_T", bound=Hashable)


class Policies(Protocol):
    """A set of policies that can be asked for those of a resource."""

    @property
    def silent(self) -> frozenset[int]:
        """Ids of policies that are there without any effect."""

    @property
    def count(self) -> int:
        """How many policies have an effect."""

    def node(self, path: Path, values: tuple[str, ...], tokens: Tokens, *, wide: bool = False) -> Node:
        """The policies that hold for a resource of single values, and if `wide` those that may hold below it as well.

        Without `wide`: SELF and SELF_AND_ALL_DESCENDANTS only.
        """

    def look(self, path: Path, values: tuple[str, ...], tokens: Tokens, *, wide: bool = False) -> tuple[Node, bool]:
        """The node, and whether it is the same for everybody who asks."""

    def known(self, path: Path, *, wide: bool = False) -> Mapping[tuple[str, ...], Node]:
        """The nodes found so far that hold for everybody, by the values of the resource; it grows by itself."""

    def names(self, path: Path, values: tuple[str, ...], *, wide: bool) -> bool:
        """Whether a policy names exactly this resource; there are no more of them than policies allow."""

    def found(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens, *, wide: bool, upto: int | None = None
    ) -> set[Record]:
        """Policies that may hold, also below the resource if `wide`; only the first `upto` levels are looked at."""

    def with_id(self, id_: int) -> set[Record]:
        """The policies of one id."""

    def all(self) -> list[Record]:
        """Every policy that has an effect."""


def is_empty(policies: Policies) -> bool:
    """Whether there are no policies at all, not even disabled ones."""
    return not policies.count and not policies.silent


def ordered(records: Iterable[Record]) -> tuple[CompiledPolicy, ...]:
    """Policies in the order of evaluation."""
    return tuple(sorted((record.compiled for record in records), key=lambda p: p.sort_key))


class _Nodes:
    """Finished nodes by what is in them; forgotten all at once when there are too many."""

    def __init__(self) -> None:
        self._by_content: dict[frozenset[Hashable], Node] = {}

    def of(self, content: frozenset[_T], records: Callable[[frozenset[_T]], Iterable[Record]]) -> Node:
        """The node of some content, which `records` makes records of where it is new."""
        node = self._by_content.get(content)
        if node is None:
            if len(self._by_content) >= _MOST_SHARED_NODES:
                self._by_content.clear()
            found = frozenset(records(content))
            node = self._by_content[content] = Node(ordered(found), found)
        return node


class _Remembering(ABC):
    """Nodes are kept by resource, so that they are found by one look-up.

    Those of resources that policies name stay. Others stay for a while: whoever asks for ever new ones makes us forget
    them sooner, and nothing grow.
    """

    def __init__(self) -> None:
        self._shared = _Nodes()
        self._nodes: dict[tuple[Path, bool], dict[tuple[str, ...], Node]] = {}
        self._passing: list[tuple[dict[tuple[str, ...], Node], tuple[str, ...]]] = []

    def known(self, path: Path, *, wide: bool = False) -> Mapping[tuple[str, ...], Node]:
        """See `Policies`."""
        return self._known(path, wide)

    def node(self, path: Path, values: tuple[str, ...], tokens: Tokens, *, wide: bool = False) -> Node:
        """See `Policies`."""
        return self.look(path, values, tokens, wide=wide)[0]

    def look(self, path: Path, values: tuple[str, ...], tokens: Tokens, *, wide: bool = False) -> tuple[Node, bool]:
        """See `Policies`."""
        nodes = self._known(path, wide)
        node = nodes.get(values)
        if node is not None:
            return node, True
        node, lasting = self._find(path, values, tokens, wide)
        if lasting and self.names(path, values, wide=wide):
            nodes[values] = node
        elif lasting and sum(map(len, values)) <= _LONGEST_PASSING:
            self._keep_for_a_while(nodes, values)
            nodes[values] = node
        return node, lasting

    def _keep_for_a_while(self, nodes: dict[tuple[str, ...], Node], values: tuple[str, ...]) -> None:
        if len(self._passing) >= _MOST_PASSING:
            forgotten, self._passing = self._passing, []
            for others, key in forgotten:
                others.pop(key, None)
        self._passing.append((nodes, values))

    @abstractmethod
    def names(self, path: Path, values: tuple[str, ...], *, wide: bool) -> bool:
        """See `Policies`."""

    @abstractmethod
    def _find(self, path: Path, values: tuple[str, ...], tokens: Tokens, wide: bool) -> tuple[Node, bool]: ...

    def _known(self, path: Path, wide: bool) -> dict[tuple[str, ...], Node]:
        nodes = self._nodes.get((path, wide))
        return self._nodes.setdefault((path, wide), {}) if nodes is None else nodes


class Repository(_Remembering):
    """An indexed, immutable set of policies. What it remembers of look-ups never changes an answer."""

    def __init__(self, loaded: Loaded, model: ServiceModel) -> None:
        super().__init__()
        self.loaded = loaded
        self.model = model
        records: Sequence[Record] = loaded.records
        self._records = records
        self._index = ResourceIndex(
            (
                (slot, r)
                for slot, record in enumerate(records)
                if not (record.broad or record.costly)
                for r in record.resources
            ),
            {name: level.ignore_case for name, level in model.levels.items()},
        )
        self._broad = tuple(record for record in records if record.broad)
        self._costly = tuple(record for record in records if record.costly and not record.broad)
        self._macros = any(e.dynamic for record in self._costly for r in record.resources for e in r.elements)
        self._by_id: dict[int, tuple[Record, ...]] = {}
        for record in records:
            if record.id is not None:
                self._by_id[record.id] = (*self._by_id.get(record.id, ()), record)

    @property
    def silent(self) -> frozenset[int]:
        """See `Policies`."""
        return self.loaded.silent

    @property
    def count(self) -> int:
        """See `Policies`."""
        return len(self._records)

    def _find(self, path: Path, values: tuple[str, ...], tokens: Tokens, wide: bool) -> tuple[Node, bool]:
        shape = self._index.wide(path) if wide else self._index.plain(path)
        slots, lasting = shape.find(values, tokens) if shape else (set[int](), True)
        if self._broad or self._costly:
            found = self._records_of(slots) | self._broad_for(path, values, tokens)
            found |= self._costly_for(path, values, tokens, wide=wide)
            return self._shared.of(frozenset(found), _themselves), lasting and not (self._broad or self._macros)
        return self._shared.of(frozenset(slots), self._records_of), lasting

    def names(self, path: Path, values: tuple[str, ...], *, wide: bool) -> bool:
        """See `Policies`."""
        shape = self._index.wide(path) if wide else self._index.plain(path)
        return shape is not None and shape.names(values)

    def _records_of(self, slots: Iterable[int]) -> set[Record]:
        return {self._records[slot] for slot in slots}

    def found(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens, *, wide: bool, upto: int | None = None
    ) -> set[Record]:
        """See `Policies`."""
        cut, cut_values = (path, values) if upto is None else (path[:upto], values[:upto])
        shape = self._index.wide(cut) if wide or upto is not None else self._index.plain(cut)
        slots = shape.find_any(cut_values, tokens) if shape else set()
        broad = self._broad_for(path, values, tokens) if upto is None else self._broad
        costly = self._costly_for(path, values, tokens, wide=wide, upto=upto)
        return self._records_of(slots).union(broad, costly)

    def with_id(self, id_: int) -> set[Record]:
        """See `Policies`."""
        return set(self._by_id.get(id_, ()))

    def all(self) -> list[Record]:
        """See `Policies`."""
        return list(self._records)

    def _broad_for(self, path: Path, values: tuple[Value, ...], tokens: Tokens) -> set[Record]:
        return {
            record
            for record in self._broad
            if any(not r.path or r.match(path, values, tokens) is not MatchType.NONE for r in record.resources)
        }

    def _costly_for(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens, *, wide: bool, upto: int | None = None
    ) -> set[Record]:
        """Of the policies that can take too many steps, those that hold, or what stands for them."""
        found: set[Record] = set()
        for record in self._costly:
            spent = sum(r.steps(values, tokens) for r in record.resources)
            for one in (record,) if spent <= cost.MOST_STEPS else record.exhausted:
                kinds = (r.match(path, values, tokens) for r in one.resources)
                if upto is not None or any(k in SELF_KINDS or (wide and k is MatchType.DESCENDANT) for k in kinds):
                    found.add(one)
        return found


def _themselves(records: frozenset[Record]) -> frozenset[Record]:
    return records


class Patched(_Remembering):
    """A set of policies without some of its policies, and with some others: what a delta makes of it.

    The set below stays as it is, with all it remembers; so a delta costs as much as it changes, and whoever still
    decides by the old set is not disturbed.
    """

    def __init__(self, base: Policies, gone: frozenset[Record], extra: Repository, silent: frozenset[int]) -> None:
        super().__init__()
        self.base = base
        self.gone = gone
        self._left_out = gone.union(*(record.exhausted for record in gone if record.costly))
        self.extra = extra
        self._silent = silent

    @property
    def silent(self) -> frozenset[int]:
        """See `Policies`."""
        return self._silent

    @property
    def count(self) -> int:
        """See `Policies`."""
        return self.base.count - len(self.gone) + self.extra.count

    @property
    def size(self) -> int:
        """How many policies differ."""
        return len(self.gone) + len(self.extra.loaded.records)

    def names(self, path: Path, values: tuple[str, ...], *, wide: bool) -> bool:
        """See `Policies`."""
        return self.base.names(path, values, wide=wide) or self.extra.names(path, values, wide=wide)

    def _find(self, path: Path, values: tuple[str, ...], tokens: Tokens, wide: bool) -> tuple[Node, bool]:
        node, lasting = self.base.look(path, values, tokens, wide=wide)
        more, same = self.extra.look(path, values, tokens, wide=wide)
        if more.policies or not self._left_out.isdisjoint(node.records):
            node = self._shared.of(node.records - self._left_out | more.records, _themselves)
        return node, lasting and same

    def found(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens, *, wide: bool, upto: int | None = None
    ) -> set[Record]:
        """See `Policies`."""
        kept = self.base.found(path, values, tokens, wide=wide, upto=upto) - self._left_out
        return kept | self.extra.found(path, values, tokens, wide=wide, upto=upto)

    def with_id(self, id_: int) -> set[Record]:
        """See `Policies`."""
        return (self.base.with_id(id_) - self.gone) | self.extra.with_id(id_)

    def all(self) -> list[Record]:
        """See `Policies`."""
        return [record for record in self.base.all() if record not in self.gone] + self.extra.all()


def patch(policies: Policies, changed: frozenset[int], added: Loaded, model: ServiceModel) -> Policies:
    """The set with the policies of the `changed` ids replaced by `added`.

    Few changes lie on top of many, and many on top of all, so that a delta never touches more than a few policies;
    a top that has grown is merged into what is below.
    """
    silent = (policies.silent - changed) | added.silent
    below = policies.base if isinstance(policies, Patched) else policies
    if isinstance(policies, Patched) and policies.size + len(changed) <= _MOST_RECENT:
        return _over(below, policies, changed, added, silent, model)
    if isinstance(policies, Patched) and isinstance(below, Patched):
        if below.size + policies.size <= _MOST_PATCHED:
            merged = _merged(below, policies, silent, model)
            return _fresh(merged, changed, added, silent, model)
        everything = Repository(Loaded(tuple(policies.all()), silent), model)
        return _fresh(everything, changed, added, silent, model)
    return _fresh(policies, changed, added, silent, model)


def _fresh(
    base: Policies, changed: frozenset[int], added: Loaded, silent: frozenset[int], model: ServiceModel
) -> Patched:
    gone = frozenset(record for id_ in changed for record in base.with_id(id_))
    return Patched(base, gone, Repository(Loaded(added.records, frozenset()), model), silent)


def _over(
    base: Policies, top: Patched, changed: frozenset[int], added: Loaded, silent: frozenset[int], model: ServiceModel
) -> Patched:
    kept = tuple(record for record in top.extra.all() if record.id not in changed)
    gone = top.gone | {record for id_ in changed for record in base.with_id(id_)}
    return Patched(base, gone, Repository(Loaded((*kept, *added.records), frozenset()), model), silent)


def _merged(below: Patched, top: Patched, silent: frozenset[int], model: ServiceModel) -> Patched:
    kept = tuple(record for record in below.extra.all() if record not in top.gone)
    gone = below.gone | (top.gone - set(below.extra.all()))
    return Patched(below.base, gone, Repository(Loaded((*kept, *top.extra.all()), frozenset()), model), silent)
