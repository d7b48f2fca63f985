"""General evaluator: every requested access type, policy by policy (ranger-semantics.md §6.3, §6.6, §9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ranger_cdap.engine.compiled.conditions import (
    Condition,
    ConditionContext,
    ConditionOutcome,
    ContextTag,
    CustomCondition,
)
from ranger_cdap.engine.compiled.items import Item, ItemCompiler
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.resource_match import SELF_KINDS, MatchType
from ranger_cdap.engine.decide.query import Query
from ranger_cdap.engine.decide.semantics import Evaluation, PolicyResult, verdict_of
from ranger_cdap.engine.model.request import ADMIN_ACCESS

Tracer = Callable[[CompiledPolicy, str, str], None]
"""Takes policy, outcome and reason."""


def no_trace(_policy: CompiledPolicy, _outcome: str, _reason: str) -> None:
    """Discard a trace entry: the tracer of requests without a trace."""


@dataclass(frozen=True, slots=True)
class PolicyEvaluator:
    """Evaluator of policies for one query; policies of a tag that is not `certain` can only deny."""

    query: Query
    item_compiler: ItemCompiler
    trace: Tracer
    certain: bool = True
    tag: ContextTag | None = None
    outcomes: dict[CustomCondition, ConditionOutcome] = field(default_factory=dict)

    def for_tag(self, tag: ContextTag, *, certain: bool) -> PolicyEvaluator:
        """Return the evaluator for the policies of one tag."""
        return replace(self, certain=certain, tag=tag, outcomes={})

    def evaluate_policies(self, policies: Iterable[CompiledPolicy], evaluation: Evaluation, *, fallback: bool) -> None:
        """Evaluate resource policies in order; stop when the result is final."""
        evaluation.begin_resource_policies()
        principals = self.query.principals
        # With unknown groups any policy may apply to the user.
        may_skip = self.trace is no_trace and self.query.request.groups_known
        remaining = iter(policies)
        for policy in remaining:
            evaluation.before(policy)
            # After a denial by tags a policy that matches counts even if it is not about the user (§14.4).
            matters = not evaluation.audit_determined or evaluation.denied_by_tags
            if matters or not may_skip or policy.may_apply_to(principals):
                self.evaluate_policy(policy, self._match_types(policy), evaluation)
            evaluation.after(policy)
            if evaluation.is_final:
                break
        if self.trace is not no_trace:
            for policy in remaining:
                self.trace(policy, "not needed", "already decided")
        evaluation.end_resource_policies(fallback=fallback)

    def evaluate_unconditional(
        self, policies: Sequence[CompiledPolicy], about: Iterable[int], evaluation: Evaluation
    ) -> None:
        """Evaluate policies that all match unconditionally, of which only those at the positions `about` can matter.

        The result is that of `evaluate_policies`, except for auditing, which the caller determines.
        """
        following = 0
        for i in about:
            if evaluation.allowed:
                for skipped in policies[following:i]:
                    evaluation.after(skipped)
            policy, following = policies[i], i + 1
            evaluation.before(policy)
            if evaluation.determined:
                break
            self.evaluate_policy(policy, self._match_types(policy), evaluation)
            evaluation.after(policy)
        evaluation.determined = True

    def evaluate_policy(self, policy: CompiledPolicy, match_types: Iterable[MatchType], evaluation: Evaluation) -> None:
        """Evaluate one policy, once per matching resource."""
        matched = False
        for match_type in match_types:
            if evaluation.is_final:
                break
            if not self._applies(policy, match_type):
                continue
            matched = True
            self._evaluate_match(policy, match_type, evaluation)
        if not matched:
            self.trace(policy, "not applicable", "its resource does not match")

    def _match_types(self, policy: CompiledPolicy) -> list[MatchType]:
        q = self.query
        path = q.path
        if path is None:
            return []
        scopes = q.request.element_scopes
        return [
            r.match(path, q.values, q.tokens, scopes) if r.path or not policy.covers_subtree else MatchType.SELF
            for r in policy.resources
        ]

    def _applies(self, policy: CompiledPolicy, match_type: MatchType) -> bool:
        if match_type in SELF_KINDS:
            return True
        if match_type is MatchType.DESCENDANT:
            return self.query.include_descendants
        return match_type is MatchType.ANCESTOR and policy.covers_subtree

    def _evaluate_match(self, policy: CompiledPolicy, match_type: MatchType, evaluation: Evaluation) -> None:
        denies = self._may_apply(restricts=True) and self._conditions_hold(policy.conditions, restricts=True)
        allows = self._may_apply(restricts=False) and self._conditions_hold(policy.conditions, restricts=False)
        if not (denies or allows):
            self.trace(policy, "not applicable", "a condition or its validity does not hold")
            return
        if not evaluation.audit_determined and policy.audited:
            evaluation.audited = evaluation.audit_determined = True
            evaluation.audit_policy_id = policy.id
        if evaluation.determined:
            self.trace(policy, "not needed", "already decided; evaluated for auditing only")
            return
        if evaluation.denied_by_tags and not policy.has_items:
            self.trace(policy, "says nothing", "it has no items")
            return
        applied = False
        for access in self.query.access_types:
            verdict = self._verdict(policy, access, match_type, denies=denies, allows=allows)
            if verdict is None:
                continue
            applied = True
            self.trace(policy, "allows" if verdict.allowed else "denies", verdict.reason or f"access type `{access}`")
            evaluation.add(access, verdict, is_any=self.query.is_any)
            if self.query.is_any and verdict.allowed == self.query.request.ignore_descendant_deny:
                break
        if not applied:
            self.trace(policy, "says nothing", "no item matches this user and access type")
        evaluation.combine(self.query.access_types, self.query.access_type_groups)

    def _verdict(
        self, policy: CompiledPolicy, access: str, match_type: MatchType, *, denies: bool, allows: bool
    ) -> PolicyResult | None:
        verdict = verdict_of(policy, partial(self._any_matches, access), denies=denies, allows=allows)
        if verdict is None or verdict.allowed:
            return verdict
        # A denial below the resource concerns it only if the request says so (§5.5).
        below = match_type is MatchType.DESCENDANT and self.query.request.ignore_descendant_deny
        return None if below else verdict

    def _any_matches(self, access: str, items: tuple[Item, ...], *, restricts: bool) -> bool:
        """Return True if an item matches principal, access type and conditions; for `_admin` conditions are ignored.

        As one of several access types of a request for another one, `_admin` only restricts (compatibility.md).
        """
        q = self.query
        for item in items:
            if item.covers(access) and (
                not item.principals.isdisjoint(q.principals) or self._may_restrict(item, restricts=restricts)
            ):
                if access == ADMIN_ACCESS:
                    if restricts or q.request.access_type == ADMIN_ACCESS:
                        return True
                elif self._conditions_hold(item.conditions, restricts=restricts):
                    return True
        return False

    def _may_restrict(self, item: Item, *, restricts: bool) -> bool:
        """Return True if the item restricts a group that the user may be a member of."""
        return restricts and not self.query.request.groups_known and item.names_groups

    def _may_apply(self, *, restricts: bool) -> bool:
        return self.certain or restricts is not bool(self.query.assume_conditions)

    def _conditions_hold(self, conditions: tuple[Condition, ...], *, restricts: bool) -> bool:
        if not conditions:
            return True
        self.query.conditional = True
        assume_conditions = self.query.assume_conditions
        if assume_conditions is not None:
            return restricts is not assume_conditions
        return self.item_compiler.conditions_hold(conditions, self._outcome, restricts=restricts)

    def _outcome(self, condition: Condition) -> ConditionOutcome:
        """Return the outcome of a condition; a custom one, which may be costly, is evaluated once for a tag or none."""
        if not isinstance(condition, CustomCondition):
            return condition(self._condition_context())
        found = self.outcomes.get(condition)
        if found is None:
            found = self.outcomes[condition] = condition(self._condition_context())
        return found

    def _condition_context(self) -> ConditionContext:
        """Return the input of conditions; a request to tag policies does not carry the cluster (§14.4)."""
        context = self.query.condition_context
        if self.tag is None:
            return context
        return replace(
            context, tag=self.tag, tag_attributes=dict(self.tag.attributes), cluster_name=None, cluster_type=None
        )
