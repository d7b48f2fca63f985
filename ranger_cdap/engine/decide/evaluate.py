"""Deciding in general: every access type asked, policy by policy (ranger-semantics.md §6.3, §6.6, §9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ranger_cdap.engine.compiled.conditions import Condition
from ranger_cdap.engine.compiled.items import Item, ItemRules
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.resource_match import SELF_KINDS, MatchType
from ranger_cdap.engine.decide.query import Query
from ranger_cdap.engine.model.decision import DENY_ALL_ELSE, NO_POLICY, Decision
from ranger_cdap.engine.model.request import ADMIN_ACCESS

Tracer = Callable[[CompiledPolicy, str, str], None]
"""Takes policy, outcome and reason."""


def no_trace(_policy: CompiledPolicy, _outcome: str, _reason: str) -> None:
    """The tracer where nobody asked for a trace."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one policy says to one access type."""

    allowed: bool
    policy: CompiledPolicy
    reason: str = ""


@dataclass(slots=True)
class Progress:
    """How far a decision has come. `verdicts` is kept across policies, also from tag to resource policies."""

    determined: bool = False
    allowed: bool = False
    policy: CompiledPolicy | None = None
    priority: int = 0
    reason: str = ""
    audited: bool = False
    audit_determined: bool = False
    audit_policy_id: int = NO_POLICY
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether no further policy can change anything."""
        return self.determined and self.audit_determined

    def take(self, verdict: Verdict) -> None:
        """A verdict becomes the result so far; a denial is final."""
        self.allowed = verdict.allowed
        self.policy = verdict.policy
        self.priority = verdict.policy.priority
        self.reason = verdict.reason
        self.determined = self.determined or not verdict.allowed

    def decision(self, zone: str | None, *, conditional: bool) -> Decision:
        """What it has come to."""
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
        )


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Evaluates single policies for one query; those of a tag that is not `certain` count against whoever asks."""

    query: Query
    rules: ItemRules
    trace: Tracer
    certain: bool = True
    tag_attributes: Mapping[str, str] | None = None

    def of_tag(self, attributes: Mapping[str, str], *, certain: bool) -> Evaluator:
        """The evaluator for the policies of one tag."""
        return replace(self, certain=certain, tag_attributes=attributes)

    def resource_policies(self, policies: Iterable[CompiledPolicy], progress: Progress, *, fallback: bool) -> None:
        """Evaluate in order; stop when the result is final."""
        denied_by_tags = progress.determined and not progress.allowed
        progress.determined = False
        who = self.query.who
        # Whoever is in a group nobody knows of may be meant by any policy.
        skips = self.trace is no_trace and self.query.request.groups_known
        remaining = iter(policies)
        for policy in remaining:
            if denied_by_tags:
                progress.determined = progress.determined or progress.priority >= policy.priority
            elif progress.allowed and progress.priority > policy.priority:
                progress.determined = True
            if not (skips and progress.audit_determined) or policy.is_about(who):
                self.policy(policy, self._match_types(policy), progress)
            if progress.allowed and not policy.has_deny:
                progress.determined = True
            if progress.determined and progress.audit_determined:
                break
        if self.trace is not no_trace:
            for policy in remaining:
                self.trace(policy, "not needed", "the decision was made before it")
        if denied_by_tags and not progress.determined:
            progress.allowed = False
        progress.determined = progress.determined or denied_by_tags or not fallback

    def sure_policies(self, policies: Sequence[CompiledPolicy], about: Iterable[int], progress: Progress) -> None:
        """As `resource_policies`, where every policy holds for sure and only those `about` somebody may say anything.

        Whether the decision is audited is known beforehand.
        """
        allowed_at = -1
        for i in about:
            policy = policies[i]
            if progress.allowed and (
                progress.priority > policy.priority or not all(p.has_deny for p in policies[allowed_at:i])
            ):
                break
            self.policy(policy, self._match_types(policy), progress)
            if progress.determined or (progress.allowed and not policy.has_deny):
                break
            if progress.allowed and allowed_at < 0:
                allowed_at = i
        progress.determined = True

    def policy(self, policy: CompiledPolicy, match_types: Iterable[MatchType], progress: Progress) -> None:
        """One policy, once for each of its resources that counts."""
        counted = False
        for match_type in match_types:
            if progress.settled:
                break
            if not self._counts(policy, match_type):
                continue
            counted = True
            self._matched(policy, match_type, progress)
        if not counted:
            self.trace(policy, "not applicable", "its resource does not match")

    def _match_types(self, policy: CompiledPolicy) -> list[MatchType]:
        q = self.query
        path = q.path
        if path is None:
            return []
        scopes = q.request.element_scopes
        return [
            r.match(path, q.values, q.tokens, scopes) if r.path or not policy.broad else MatchType.SELF
            for r in policy.resources
        ]

    def _counts(self, policy: CompiledPolicy, match_type: MatchType) -> bool:
        if match_type in SELF_KINDS:
            return True
        if match_type is MatchType.DESCENDANT:
            return self.query.wide
        return match_type is MatchType.ANCESTOR and policy.broad

    def _matched(self, policy: CompiledPolicy, match_type: MatchType, progress: Progress) -> None:
        denies = self._counts_for(restricts=True) and self._hold(policy.conditions, restricts=True)
        allows = self._counts_for(restricts=False) and self._hold(policy.conditions, restricts=False)
        if not (denies or allows):
            self.trace(policy, "not applicable", "a condition or its validity does not hold")
            return
        if not progress.audit_determined and policy.audited:
            progress.audited = progress.audit_determined = True
            progress.audit_policy_id = policy.id
        if progress.determined:
            self.trace(policy, "not needed", "the decision was made; it was looked at for auditing")
            return
        said = False
        for access in self.query.asked:
            verdict = self._verdict(policy, access, match_type, denies=denies, allows=allows)
            if verdict is None:
                continue
            said = True
            self.trace(policy, "allows" if verdict.allowed else "denies", verdict.reason or f"access type `{access}`")
            _merge(progress.verdicts, access, verdict, lenient=self.query.is_any)
            if self.query.is_any and verdict.allowed == self.query.request.ignore_descendant_deny:
                break
        if not said:
            self.trace(policy, "says nothing", "no item is for this user and access type")
        composite = _composite(progress.verdicts, self.query)
        if composite is not None:
            progress.take(composite)

    def _verdict(
        self, policy: CompiledPolicy, access: str, match_type: MatchType, *, denies: bool, allows: bool
    ) -> Verdict | None:
        denied = (
            denies
            and self._first(policy.deny, access, restricts=True)
            and not (allows and self._first(policy.deny_exceptions, access, restricts=False))
        )
        reason = policy.broken
        if not denied:
            if (
                allows
                and self._first(policy.allow, access, restricts=False)
                and not self._first(policy.allow_exceptions, access, restricts=True)
            ):
                return Verdict(True, policy)
            if not (denies and policy.deny_all_else):
                return None
            reason = DENY_ALL_ELSE
        if match_type is MatchType.DESCENDANT and self.query.request.ignore_descendant_deny:
            return None
        return Verdict(False, policy, reason)

    def _first(self, items: tuple[Item, ...], access: str, *, restricts: bool) -> bool:
        """Whether an item of the list matches who asks, what, and its conditions; `_admin` looks at no conditions."""
        q = self.query
        for item in items:
            if item.gives(access) and (not item.who.isdisjoint(q.who) or self._may_name(item, restricts=restricts)):
                if access == ADMIN_ACCESS:
                    return True
                if self._hold(item.conditions, restricts=restricts):
                    return True
        return False

    def _may_name(self, item: Item, *, restricts: bool) -> bool:
        """Whether the item takes something away from a group that the user may be in."""
        return restricts and not self.query.request.groups_known and item.names_groups

    def _counts_for(self, *, restricts: bool) -> bool:
        return self.certain or restricts is not bool(self.query.assume)

    def _hold(self, conditions: tuple[Condition, ...], *, restricts: bool) -> bool:
        if not conditions:
            return True
        self.query.conditional = True
        assume = self.query.assume
        if assume is not None:
            return restricts is not assume
        circumstances = self.query.circumstances
        if self.tag_attributes is not None:
            circumstances = replace(circumstances, tag_attributes=self.tag_attributes)
        return self.rules.hold(conditions, circumstances, restricts=restricts)


def _merge(verdicts: dict[str, Verdict], access: str, new: Verdict, *, lenient: bool) -> None:
    """Keeps the stronger verdict: a higher priority, or a denial of the same; for `_any` also an allow of the same."""
    old = verdicts.get(access)
    if old is None:
        verdicts[access] = new
        return
    if new.policy.priority > old.policy.priority:
        replaces = True
    elif new.policy.priority < old.policy.priority:
        replaces = False
    else:
        replaces = (old.allowed and not new.allowed) or (lenient and new.allowed and not old.allowed)
    if replaces:
        verdicts[access] = new


def _composite(verdicts: dict[str, Verdict], query: Query) -> Verdict | None:
    """One result of several access types: any of them, or one of each group (§9.2)."""
    if not query.groups:
        return _of_group(verdicts, query.asked)
    allowed: Verdict | None = None
    undetermined = False
    for group in query.groups:
        verdict = _of_group(verdicts, [a for a in query.asked if a in group] + sorted(group - set(query.asked)))
        if verdict is None:
            undetermined = True
        elif not verdict.allowed:
            return verdict
        elif allowed is None or verdict.policy.priority < allowed.policy.priority:
            allowed = verdict  # the weakest: what denies one of the groups must still be heard
    return None if undetermined else allowed


def _of_group(verdicts: dict[str, Verdict], accesses: Iterable[str]) -> Verdict | None:
    denied: Verdict | None = None
    complete = True
    for access in accesses:
        verdict = verdicts.get(access)
        if verdict is None:
            complete = False
        elif verdict.allowed:
            return verdict
        elif denied is None:
            denied = verdict
    return denied if complete else None
