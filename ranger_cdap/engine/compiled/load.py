"""Loading of policies from Ranger's documents, with their problems (docs/reference/policy-problems.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.policy import CompiledPolicy, PolicyCompiler
from ranger_cdap.engine.compiled.resource_match import PolicyResourceMatcher, ResourceCache
from ranger_cdap.engine.compiled.validate import has_custom_conditions, has_no_issues, policy_issues
from ranger_cdap.engine.model.decision import NO_POLICY
from ranger_cdap.engine.model.problem import PolicyIssue, Problem, ProblemCode, Unusable, name_and_id, policy_problems
from ranger_cdap.ranger_model.json_repair import as_boolean
from ranger_cdap.ranger_model.json_text import decode_or_none
from ranger_cdap.ranger_model.policy import Policy

_ACCESS_POLICY = 0
_COSTLY = PolicyIssue(
    ProblemCode.COSTLY_RESOURCE,
    "resources",
    f"matching values of {cost.TYPICAL_VALUE_LENGTH} characters with all of its wildcards takes more than "
    f"{cost.MAX_STEPS} steps, so such values are not matched: it allows nothing there, and denies if it can deny",
)

_LONG = PolicyIssue(
    ProblemCode.COSTLY_POLICY,
    "",
    f"it has more than {cost.MAX_POLICY_LENGTH:,} bytes, so decisions about it can take long: divide it",
)


class PolicyEntry(msgspec.Struct, eq=False, gc=False):
    """Raw policy with its compiled resources; the rest is compiled on first use.

    Nothing that it holds refers to it, so the garbage collector need not look for cycles in a large set of policies.
    """

    raw: msgspec.Raw
    id: int | None
    name: str
    resources: tuple[PolicyResourceMatcher, ...]
    costly: bool
    """True if matching long values may take more steps than allowed."""
    _compiler: PolicyCompiler
    _compiled: CompiledPolicy | None = None
    _substitutes: tuple[PolicyEntry, ...] | None = None

    @classmethod
    def of(
        cls,
        raw: msgspec.Raw,
        policy: Policy | CompiledPolicy,
        resources: tuple[PolicyResourceMatcher, ...],
        compiler: PolicyCompiler,
        compiled: CompiledPolicy | None = None,
    ) -> PolicyEntry:
        """Return the entry of a policy."""
        costly = compiler.fail_closed and sum([m.max_steps() for m in resources]) > cost.MAX_STEPS
        id_ = None if policy.id == NO_POLICY else policy.id
        return cls(raw, id_, policy.name, resources, costly, compiler, compiled)

    @property
    def compiled(self) -> CompiledPolicy:
        """Compiled policy; if two threads compile it at once, the results are equal."""
        if self._compiled is None:
            self._compiled = self._compiler.compile(self._compiler.decode(self.raw), self.resources, self.raw)
        return self._compiled

    @property
    def compiled_with_order(self) -> CompiledPolicy:
        """Compiled policy, to be compared with others: its sort key is computed while it is decoded."""
        if self._compiled is None:
            self._compiled = self._compiler.compile(self._compiler.decode(self.raw), self.resources)
        return self._compiled

    @property
    def substitutes(self) -> tuple[PolicyEntry, ...]:
        """Substitute of a policy that takes too many steps to match: nothing, or a policy that denies."""
        if self._substitutes is None:
            compiled = self._compiler.costly_substitute(self.compiled)
            self._substitutes = () if compiled is None else (_deny_entry(self.raw, compiled, self._compiler),)
        return self._substitutes

    @property
    def condition_steps(self) -> int:
        """Return the steps that custom conditions may take in one decision; a policy with some is compiled at once."""
        return 0 if self._compiled is None else self._compiled.condition_steps

    @property
    def is_substitute(self) -> bool:
        """Return True if the entry denies in place of an unusable policy."""
        return self._compiled is not None and bool(self._compiled.substitute_reason)

    @property
    def covers_subtree(self) -> bool:
        """Return True if the policy covers everything below its resource because a level is unreadable."""
        return self._compiled is not None and self._compiled.covers_subtree


@dataclass(frozen=True, slots=True)
class PolicyEntries:
    """Policies that affect access, and the ids of those without any effect (-1 for no id)."""

    entries: tuple[PolicyEntry, ...]
    ineffective_ids: frozenset[int]


def _deny_entry(raw: msgspec.Raw, compiled: CompiledPolicy, compiler: PolicyCompiler) -> PolicyEntry:
    return PolicyEntry.of(raw, compiled, compiled.resources, compiler, compiled)


def load_policies(raws: Iterable[msgspec.Raw], compiler: PolicyCompiler, problems: list[Problem]) -> PolicyEntries:
    """Load the policies of a download, and add their problems to `problems`.

    Raises:
        Unusable: a policy is unusable in compatibility mode `ranger`; Java then rejects the whole download.
    """
    decoder = msgspec.json.Decoder(Policy)
    entries: list[PolicyEntry] = []
    ineffective_ids: set[int] = set()
    cache = ResourceCache(compiler.model)
    for raw in raws:
        if not compiler.fail_closed and bytes(raw) == b"null":
            continue
        try:
            policy = decode_or_none(raw, decoder) or compiler.decode(raw)
            if not policy.is_enabled or policy.policy_type != _ACCESS_POLICY:
                ineffective_ids.add(NO_POLICY if policy.id is None else policy.id)
            else:
                resources = compiler.resources(policy, cache)
                # Compiled now: what may be unreadable, what counts, and what would hold up a decision.
                length = len(memoryview(raw))
                now = bool(policy.validity_schedules) or length > cost.MAX_LAZY_LENGTH
                now = now or has_custom_conditions(policy, compiler)
                compiled = compiler.compile(policy, resources) if now else None
                entries.append(PolicyEntry.of(raw, policy, resources, compiler, compiled))
                if (
                    entries[-1].costly
                    and sum(m.max_steps(cost.TYPICAL_VALUE_LENGTH) for m in resources) > cost.MAX_STEPS
                ):
                    problems.extend(policy_problems(policy.id, policy.name, [_COSTLY]))
                elif length > cost.MAX_POLICY_LENGTH:
                    problems.extend(policy_problems(policy.id, policy.name, [_LONG]))
            if not has_no_issues(policy, compiler):
                problems.extend(policy_problems(policy.id, policy.name, policy_issues(policy, compiler)))
        except Unusable as e:
            if not compiler.fail_closed:
                raise
            ineffective_ids.update(_add_substitute(raw, e.issues, compiler, entries, problems))
    if compiler.fail_closed:
        entries, left_out = _without_duplicates(entries, compiler, problems)
        ineffective_ids |= left_out
    return PolicyEntries(tuple(entries), frozenset(ineffective_ids))


def _add_substitute(
    raw: msgspec.Raw,
    reasons: Sequence[PolicyIssue],
    compiler: PolicyCompiler,
    entries: list[PolicyEntry],
    problems: list[Problem],
) -> set[int]:
    """Append the substitute of an unusable policy to `entries`; return the policy's id if it has none."""
    known = decode_or_none(raw)
    name, id_ = name_and_id(known)
    if not (isinstance(known, dict) and as_boolean(known.get("isEnabled")) is False):
        substitute = compiler.substitute(known, str(Unusable(reasons)))
        effect = "the policy is left out" if substitute is None else "the policy denies all users on its resource"
        problems.extend(policy_problems(id_, name, reasons, effect))
        if substitute is not None:
            entries.append(_deny_entry(raw, substitute, compiler))
            return set()
    return {NO_POLICY if id_ is None else id_}


def _without_duplicates(
    entries: list[PolicyEntry], compiler: PolicyCompiler, problems: list[Problem]
) -> tuple[list[PolicyEntry], set[int]]:
    counts = Counter(entry.id for entry in entries if entry.id is not None)
    doubled = {id_ for id_, n in counts.items() if n > 1}
    kept: list[PolicyEntry] = []
    left_out: set[int] = set()
    for entry in entries:
        if entry.id in doubled and not entry.covers_subtree:
            reason = PolicyIssue(ProblemCode.DUPLICATE_ID, "id", f"two policies have the id {entry.id}")
            left_out |= _add_substitute(entry.raw, [reason], compiler, kept, problems)
        else:
            kept.append(entry)
    return kept, left_out
