"""The policies of one zone: found by resource, compiled when first needed, in their order (policy-engine.md, 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from ranger_cdap.engine import wire
from ranger_cdap.engine.decision import NO_POLICY
from ranger_cdap.engine.index import ResourceIndex
from ranger_cdap.engine.matcher import Tokens, Value
from ranger_cdap.engine.node import Node
from ranger_cdap.engine.policy import CompiledPolicy, PolicyCompiler, decode_raw
from ranger_cdap.engine.resource_match import MatchType, ResourceMatcher
from ranger_cdap.engine.service_def import Path
from ranger_cdap.errors import PolicySetError

_ACCESS_POLICY = 0
_MOST_SHARED_NODES = 100_000


@dataclass(frozen=True, slots=True)
class Problem:
    """A policy that does not do what its author meant, and what the engine makes of it."""

    policy_id: int | None
    policy_name: str
    message: str


class Record:
    """A policy as it came, with its resources; `compiled` makes it ready to decide on first use."""

    __slots__ = ("_compiled", "_compiler", "id", "name", "raw", "resources")

    def __init__(
        self,
        raw: msgspec.Raw,
        policy: wire.Policy | None,
        resources: tuple[ResourceMatcher, ...],
        compiler: PolicyCompiler,
        compiled: CompiledPolicy | None = None,
    ) -> None:
        self.raw = raw
        self.id = policy.id if policy else compiled.id if compiled else None
        self.name = policy.name if policy else compiled.name if compiled else ""
        self.resources = resources
        self._compiler = compiler
        self._compiled = compiled

    @property
    def compiled(self) -> CompiledPolicy:
        """The policy ready to decide; two threads may both compile it, to the same end."""
        if self._compiled is None:
            self._compiled = self._compiler.compile(wire.decode_policy(self.raw))
        return self._compiled

    @property
    def broad(self) -> bool:
        """Whether the policy covers all below its resource, because a level can't be read."""
        return self._compiled is not None and self._compiled.broad


class Repository:
    """An immutable set of policies. What it remembers of look-ups never changes an answer."""

    def __init__(self, records: Sequence[Record], *, empty: bool, compiler: PolicyCompiler) -> None:
        self.records = records
        self.empty = empty
        self._index = ResourceIndex(
            ((slot, r) for slot, record in enumerate(records) if not record.broad for r in record.resources),
            {name: level.ignore_case for name, level in compiler.model.levels.items()},
        )
        self._broad = tuple(record for record in records if record.broad)
        self._nodes: dict[Path, dict[tuple[Value, ...], Node]] = {}
        self._shared: dict[frozenset[int], Node] = {}

    def node(self, path: Path, values: tuple[str, ...], tokens: Tokens) -> Node:
        """The policies that hold for a resource of single values; SELF and SELF_AND_ALL_DESCENDANTS only."""
        nodes = self._nodes.get(path)
        if nodes is None:
            nodes = self._nodes.setdefault(path, {})
        node = nodes.get(values)
        if node is not None:
            return node
        shape = self._index.plain(path)
        found, lasting = shape.find(values, tokens) if shape else (set[int](), True)
        broad = self._broad_for(path, values, tokens)
        if broad:
            return Node(self._ordered(found, broad))
        key = frozenset(found)
        node = self._shared.get(key)
        if node is None:
            if len(self._shared) >= _MOST_SHARED_NODES:
                self._shared.clear()
            node = self._shared[key] = Node(self._ordered(found, ()))
        if lasting and found and shape is not None and shape.names(values):
            nodes[values] = node
        return node

    def candidates(
        self, path: Path | None, values: tuple[Value, ...], tokens: Tokens, *, wide: bool, upto: int | None = None
    ) -> tuple[CompiledPolicy, ...]:
        """Policies that may hold, in their order; only the first `upto` levels are looked at."""
        if path is None:
            return ()
        cut, cut_values = (path, values) if upto is None else (path[:upto], values[:upto])
        shape = self._index.wide(cut) if wide or upto is not None else self._index.plain(cut)
        found = shape.find_any(cut_values, tokens) if shape else set()
        return self._ordered(found, self._broad_for(path, values, tokens))

    def _broad_for(self, path: Path, values: tuple[Value, ...], tokens: Tokens) -> tuple[Record, ...]:
        return tuple(
            record
            for record in self._broad
            if any(not r.path or r.match(path, values, tokens) is not MatchType.NONE for r in record.resources)
        )

    def _ordered(self, found: Iterable[int], broad: Iterable[Record]) -> tuple[CompiledPolicy, ...]:
        policies = [self.records[slot].compiled for slot in found]
        policies += (record.compiled for record in broad)
        return tuple(sorted(policies, key=lambda p: p.sort_key))


def load_policies(
    raws: Iterable[msgspec.Raw], compiler: PolicyCompiler, problems: list[Problem]
) -> tuple[list[Record], int]:
    """Records of the policies that have an effect on access, and how many policies there were at all.

    Raises:
        PolicySetError: a policy can't be used, and the engine is to follow Java, which then refuses the whole set.
    """
    decoder = msgspec.json.Decoder(wire.Policy)
    records: list[Record] = []
    count = 0
    for raw in raws:
        if bytes(raw) == b"null":
            continue
        count += 1
        try:
            try:
                policy = decoder.decode(raw)
            except (ValueError, RecursionError):
                policy = wire.decode_policy(raw)
            if not policy.isEnabled or policy.policyType != _ACCESS_POLICY:
                continue
            records.append(Record(raw, policy, compiler.resources(policy), compiler, _checked(policy, compiler)))
        except PolicySetError as e:
            if not compiler.cautious:
                raise
            _add_substitute(raw, str(e), compiler, records, problems)
    return (_without_duplicates(records, compiler, problems) if compiler.cautious else records), count


def _checked(policy: wire.Policy, compiler: PolicyCompiler) -> CompiledPolicy | None:
    """Compiles at once what may turn out to be broken; the rest waits until it is needed."""
    return compiler.compile(policy) if policy.validitySchedules else None


def _add_substitute(
    raw: msgspec.Raw, reason: str, compiler: PolicyCompiler, records: list[Record], problems: list[Problem]
) -> None:
    known = decode_raw(raw)
    if isinstance(known, dict) and known.get("isEnabled") in (False, "false"):
        return
    substitute = compiler.substitute(known, reason)
    effect = "it is left out" if substitute is None else "it denies everybody on its resource"
    name, id_ = (known.get("name"), known.get("id")) if isinstance(known, dict) else (None, None)
    problems.append(
        Problem(id_ if isinstance(id_, int) else None, name if isinstance(name, str) else "", f"{reason}; {effect}")
    )
    if substitute is not None:
        records.append(Record(raw, None, substitute.resources, compiler, substitute))


def _without_duplicates(records: list[Record], compiler: PolicyCompiler, problems: list[Problem]) -> list[Record]:
    counts = Counter(record.id for record in records if record.id not in (None, NO_POLICY))
    doubled = {id_ for id_, n in counts.items() if n > 1}
    if not doubled:
        return records
    kept: list[Record] = []
    for record in records:
        if record.id in doubled and not record.broad:
            _add_substitute(record.raw, f"two policies have the id {record.id}", compiler, kept, problems)
        else:
            kept.append(record)
    return kept
