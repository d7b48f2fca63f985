"""From Ranger's documents to records of policies, with what is wrong with them (docs/reference/policy-problems.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.doubts import doubts
from ranger_cdap.engine.compiled.policy import CompiledPolicy, PolicyCompiler, decode_raw
from ranger_cdap.engine.compiled.resource_match import Known, ResourceMatcher
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.decision import NO_POLICY
from ranger_cdap.engine.model.problem import Doubt, Problem, ProblemCode, Unusable, name_and_id, of_policy

_ACCESS_POLICY = 0
_COSTLY = Doubt(
    ProblemCode.COSTLY_RESOURCE,
    "resources",
    f"to match values of {cost.LONGEST_USUAL} characters with all of its wildcards takes more than {cost.MOST_STEPS} "
    "steps, and such values are not matched: it allows nothing there, and denies if it has a deny side",
)


class Record:
    """A policy as it came, with its resources; `compiled` makes it ready to decide on first use."""

    __slots__ = ("_compiled", "_compiler", "_exhausted", "costly", "id", "name", "raw", "resources")

    def __init__(
        self,
        raw: msgspec.Raw,
        policy: wire.Policy | None,
        resources: tuple[ResourceMatcher, ...],
        compiler: PolicyCompiler,
        compiled: CompiledPolicy | None = None,
    ) -> None:
        self.raw = raw
        id_ = policy.id if policy else compiled.id if compiled else None
        self.id = None if id_ == NO_POLICY else id_
        self.name = policy.name if policy else compiled.name if compiled else ""
        self.resources = resources
        self._compiler = compiler
        self._compiled = compiled
        self.costly = compiler.cautious and sum([m.most_steps() for m in resources]) > cost.MOST_STEPS
        """Whether to match it with long values may take more steps than a policy may take."""
        self._exhausted: tuple[Record, ...] | None = None

    @property
    def compiled(self) -> CompiledPolicy:
        """The policy ready to decide; two threads may both compile it, to the same end."""
        if self._compiled is None:
            self._compiled = self._compiler.compile(self._compiler.decode(self.raw), self.resources)
        return self._compiled

    @property
    def exhausted(self) -> tuple[Record, ...]:
        """What stands for a policy where it would take too many steps: nothing, or one that denies."""
        if self._exhausted is None:
            compiled = self._compiler.exhausted(self.compiled)
            self._exhausted = () if compiled is None else (_denying(self.raw, compiled, self._compiler),)
        return self._exhausted

    @property
    def broad(self) -> bool:
        """Whether the policy covers all below its resource, because a level cannot be read."""
        return self._compiled is not None and self._compiled.broad


@dataclass(frozen=True, slots=True)
class Loaded:
    """Policies that have an effect on access, and the ids of those that are there without any (-1 for no id)."""

    records: tuple[Record, ...]
    silent: frozenset[int]


def _denying(raw: msgspec.Raw, compiled: CompiledPolicy, compiler: PolicyCompiler) -> Record:
    return Record(raw, None, compiled.resources, compiler, compiled)


def load_policies(raws: Iterable[msgspec.Raw], compiler: PolicyCompiler, problems: list[Problem]) -> Loaded:
    """The policies of a download; what is wrong with them is added to `problems`.

    Raises:
        Unusable: a policy cannot be used, and the engine is to follow Java, which then refuses the whole set.
    """
    decoder = msgspec.json.Decoder(wire.Policy)
    records: list[Record] = []
    silent: set[int] = set()
    known = Known()
    for raw in raws:
        if not compiler.cautious and bytes(raw) == b"null":
            continue
        try:
            try:
                policy = decoder.decode(raw)
            except (ValueError, RecursionError):
                policy = compiler.decode(raw)
            if not policy.isEnabled or policy.policyType != _ACCESS_POLICY:
                silent.add(NO_POLICY if policy.id is None else policy.id)
            else:
                resources = compiler.resources(policy, known)
                # A schedule may turn out to be unreadable, so it is compiled at once; the rest waits for its first use.
                compiled = compiler.compile(policy, resources) if policy.validitySchedules else None
                records.append(Record(raw, policy, resources, compiler, compiled))
                if records[-1].costly and sum(m.most_steps(cost.LONGEST_USUAL) for m in resources) > cost.MOST_STEPS:
                    problems.extend(of_policy(policy.id, policy.name, [_COSTLY]))
            problems.extend(of_policy(policy.id, policy.name, doubts(policy, compiler)))
        except Unusable as e:
            if not compiler.cautious:
                raise
            silent.update(_add_substitute(raw, e.doubts, compiler, records, problems))
    if compiler.cautious:
        records, left_out = _without_duplicates(records, compiler, problems)
        silent |= left_out
    return Loaded(tuple(records), frozenset(silent))


def _add_substitute(
    raw: msgspec.Raw,
    reasons: Sequence[Doubt],
    compiler: PolicyCompiler,
    records: list[Record],
    problems: list[Problem],
) -> set[int]:
    """Puts what stands for an unusable policy among the records; gives its id if nothing does."""
    known = decode_raw(raw)
    name, id_ = name_and_id(known)
    if not (isinstance(known, dict) and known.get("isEnabled") in (False, "false")):
        substitute = compiler.substitute(known, str(Unusable(reasons)))
        effect = "the policy is left out" if substitute is None else "the policy denies everybody on its resource"
        problems.extend(of_policy(id_, name, reasons, effect))
        if substitute is not None:
            records.append(_denying(raw, substitute, compiler))
            return set()
    return {NO_POLICY if id_ is None else id_}


def _without_duplicates(
    records: list[Record], compiler: PolicyCompiler, problems: list[Problem]
) -> tuple[list[Record], set[int]]:
    counts = Counter(record.id for record in records if record.id is not None)
    doubled = {id_ for id_, n in counts.items() if n > 1}
    kept: list[Record] = []
    left_out: set[int] = set()
    for record in records:
        if record.id in doubled and not record.broad:
            reason = Doubt(ProblemCode.DUPLICATE_ID, "id", f"two policies have the id {record.id}")
            left_out |= _add_substitute(record.raw, [reason], compiler, kept, problems)
        else:
            kept.append(record)
    return kept, left_out
