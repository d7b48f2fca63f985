"""Precedence of Ranger policies, on one page (ranger-semantics.md §6, §9.2, §14.4).

1. A policy is evaluated if its resource matches and its conditions hold. For each access type it
   *denies* if a deny item matches and no deny exception does; otherwise it
   *allows* if an allow item matches and no allow exception does; otherwise it
   *denies* if it is deny-all-else; otherwise it is silent. An exception affects its own policy only. (`verdict_of`)
2. Between policies, a higher priority overrides a lower one; at equal priority a denial overrides an allow.
   For `_any`, at equal priority an allow overrides a denial as well. (`overrides`)
3. Of several access types, one that is allowed suffices; they are denied if all are denied.
   In groups, one access type of each group must be allowed, and one denied group denies. (`combined_verdict`)
   `_any` stands for all access types of the definition; `_admin` beside another requested type only denies.
4. Policies are evaluated by priority, and of equal priority those with a deny side first (compiled/order.py). A denial
   is final. An allow is final once a policy without a deny side has been evaluated, and before a policy of lower
   priority. (`Evaluation.before`, `Evaluation.after`)
5. Tag policies come first. A denial by tags is overridden only by a higher priority; an allow by tags is
   overridden by a denial of equal or higher priority. (`Evaluation.begin_resource_policies`)
6. Access that no policy allows is denied. (`Evaluation.end_resource_policies`)

The general evaluator (evaluate.py) and tag policies (tags.py) call these functions; `explain` and `who_can` call the
general evaluator. Compiled or abbreviated from the rules, so to be changed together with them:

- lookup/resource_policies.py: rules 1 and 2 as lists of principals, and rule 2 for `_any` where no policy can deny;
- fast_path.py: the first of these rules that matches decides;
- evaluate.py, `evaluate_unconditional`: rule 4 without the policies that name none of the user's principals;
- analysis/symbols/precedence.py: rules 2, 4, 5 and 6 as a formula, and analysis/symbols/symbolic.py: rule 1;
- tests/differential/reference_engine.py: all rules once more, written independently.

tests/laws/ holds each rule against all of them and against Ranger's Java engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ranger_cdap.engine.compiled.items import Item
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.model.decision import DENY_ALL_ELSE, NO_POLICY, Decision


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """Result of one policy for one access type."""

    allowed: bool
    policy: CompiledPolicy
    reason: str = ""


class Matches(Protocol):
    """Test of policy items for the user, the access type and the circumstances of a request."""

    def __call__(self, items: tuple[Item, ...], *, restricts: bool) -> bool:
        """Return True if an item matches; `restricts` is true for deny items and allow exceptions."""


def verdict_of(policy: CompiledPolicy, matches: Matches, *, denies: bool, allows: bool) -> PolicyResult | None:
    """Return the verdict of one policy, None if it is silent (rule 1, §6.6).

    Unless `denies` or `allows`, the policy's conditions keep that side from applying.
    """
    if (
        denies
        and matches(policy.deny, restricts=True)
        and not (allows and matches(policy.deny_exceptions, restricts=False))
    ):
        return PolicyResult(False, policy, policy.substitute_reason)
    if allows and matches(policy.allow, restricts=False) and not matches(policy.allow_exceptions, restricts=True):
        return PolicyResult(True, policy)
    if denies and policy.deny_all_else:
        return PolicyResult(False, policy, DENY_ALL_ELSE)
    return None


def overrides(new: PolicyResult, old: PolicyResult, *, is_any: bool) -> bool:
    """Return True if a verdict overrides an earlier one on the same access type (rule 2, §6.6)."""
    if new.policy.priority != old.policy.priority:
        return new.policy.priority > old.policy.priority
    return old.allowed is not new.allowed and (is_any or not new.allowed)


def combined_verdict(
    verdicts: Mapping[str, PolicyResult], access_types: Sequence[str], groups: Sequence[Collection[str]]
) -> PolicyResult | None:
    """Combine the verdicts on several access types; None if policies have not said enough yet (rule 3, §9.2)."""
    if not groups:
        return _verdict_of_group(verdicts, access_types)
    allowed: PolicyResult | None = None
    undetermined = False
    for group in groups:
        ordered = [a for a in access_types if a in group] + sorted(set(group) - set(access_types))
        verdict = _verdict_of_group(verdicts, ordered)
        if verdict is None:
            undetermined = True
        elif not verdict.allowed:
            return verdict
        elif allowed is None or verdict.policy.priority < allowed.policy.priority:
            allowed = verdict  # the weakest, so that a later denial of one of the groups still counts
    return None if undetermined else allowed


def _verdict_of_group(verdicts: Mapping[str, PolicyResult], access_types: Iterable[str]) -> PolicyResult | None:
    denied: PolicyResult | None = None
    complete = True
    for access in access_types:
        verdict = verdicts.get(access)
        if verdict is None:
            complete = False
        elif verdict.allowed:
            return verdict
        elif denied is None:
            denied = verdict
    return denied if complete else None


@dataclass(slots=True)
class Evaluation:
    """State of an evaluation, from tag policies to resource policies (§6.3); `verdicts` are by access type."""

    determined: bool = False
    allowed: bool = False
    policy: CompiledPolicy | None = None
    priority: int = 0
    reason: str = ""
    audited: bool = False
    audit_determined: bool = False
    audit_policy_id: int = NO_POLICY
    verdicts: dict[str, PolicyResult] = field(default_factory=dict)
    denied_by_tags: bool = False

    @property
    def is_final(self) -> bool:
        """Return True if no further policy can change the result."""
        return self.determined and self.audit_determined

    def add(self, access: str, verdict: PolicyResult, *, is_any: bool) -> None:
        """Add the verdict of a policy on an access type (rule 2)."""
        old = self.verdicts.get(access)
        if old is None or overrides(verdict, old, is_any=is_any):
            self.verdicts[access] = verdict

    def combine(self, access_types: Sequence[str], groups: Sequence[Collection[str]]) -> None:
        """Take the verdict on all access types as the current result; a denial is final (rules 3 and 4)."""
        verdict = combined_verdict(self.verdicts, access_types, groups)
        if verdict is not None:
            self.allowed = verdict.allowed
            self.policy = verdict.policy
            self.priority = verdict.policy.priority
            self.reason = verdict.reason
            self.determined = self.determined or not verdict.allowed

    def before(self, policy: CompiledPolicy) -> None:
        """Determine the result if a policy, next in order, cannot change it (rules 4 and 5)."""
        if self.denied_by_tags:
            self.determined = self.determined or self.priority >= policy.priority
        elif self.allowed and self.priority > policy.priority:
            self.determined = True

    def after(self, policy: CompiledPolicy) -> None:
        """Determine the result if, after this policy, none of equal priority can deny (rule 4)."""
        if self.allowed and not policy.has_deny:
            self.determined = True

    def end_tag_policies(self) -> None:
        """Determine an allow by tags, for requests without resource policies (rule 5)."""
        self.determined = self.determined or self.allowed

    def begin_resource_policies(self) -> None:
        """Reopen the result of tag policies to resource policies (rule 5, §14.4)."""
        self.denied_by_tags = self.determined and not self.allowed
        self.determined = False

    def end_resource_policies(self, *, fallback: bool) -> None:
        """Determine the result; with a fallback, access that no policy determines stays open (rule 6, §6.4)."""
        if self.denied_by_tags and not self.determined:
            self.allowed = False
        self.determined = self.determined or self.denied_by_tags or not fallback

    def decision(self, zone: str | None, *, conditional: bool) -> Decision:
        """Return the decision reached."""
        policy = self.policy
        return Decision(
            allowed=self.allowed,
            determined=self.determined,
            policy_id=policy.id if policy else NO_POLICY,
            policy_version=policy.version if policy else NO_POLICY,
            policy_priority=self.priority,
            audited=self.audited,
            audit_policy_id=self.audit_policy_id,
            reason=self.reason,
            zone=zone,
            conditional=conditional,
            policy_zone=policy.zone if policy else None,
        )
