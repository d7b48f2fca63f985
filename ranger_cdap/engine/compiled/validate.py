"""Validation of usable policies: parts without the effect that their author may have intended."""

from __future__ import annotations

from collections.abc import Iterator

from ranger_cdap.engine.compiled.policy import PolicyCompiler
from ranger_cdap.engine.model.problem import PolicyIssue, ProblemCode
from ranger_cdap.ranger_model.json_repair import shown
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemCondition

_ACCESS_POLICY = 0
_KINDS = {1: "it masks data", 2: "it filters rows"}


def policy_issues(policy: Policy, compiler: PolicyCompiler) -> Iterator[PolicyIssue]:
    """Yield the issues of a policy with their places; none for a disabled policy."""
    if not policy.is_enabled:
        return
    if policy.policy_type != _ACCESS_POLICY:
        kind = _KINDS.get(policy.policy_type, "its meaning is unknown")
        message = f"a policy of type {policy.policy_type} does not control access ({kind}), so it is ignored"
        yield PolicyIssue(ProblemCode.NOT_ABOUT_ACCESS, "policyType", message)
        return
    masks = {
        "dataMaskPolicyItems": policy.data_mask_policy_items,
        "rowFilterPolicyItems": policy.row_filter_policy_items,
    }
    for name, items in masks.items():
        if items:
            yield PolicyIssue(
                ProblemCode.NOT_ABOUT_ACCESS, name, "masks and row filters do not control access; they are ignored"
            )
    if not compiler.fail_closed:
        for issue in compiler.ineffective_resources(policy):
            yield PolicyIssue(issue.code, issue.place, f"{issue.message}, so it matches nothing")
    for n, condition in enumerate(policy.conditions):
        yield from _condition_issues(condition, f"conditions[{n}]", compiler)
    for name, items in policy.item_lists().items():
        for n, item in enumerate(items):
            yield from _item_issues(item, f"{name}[{n}]", compiler)


def has_no_issues(policy: Policy, compiler: PolicyCompiler) -> bool:
    """Return True if a quick check rules out any issue, as for nearly all policies."""
    if policy.policy_type != _ACCESS_POLICY or policy.conditions or not compiler.fail_closed:
        return False
    if policy.data_mask_policy_items or policy.row_filter_policy_items:
        return False
    known = compiler.model.known_access_types
    for items in (policy.policy_items, policy.deny_policy_items, policy.allow_exceptions, policy.deny_exceptions):
        for item in items:
            if item.conditions or not known.issuperset([one.type for one in item.accesses]):
                return False
    return True


def has_custom_conditions(policy: Policy, compiler: PolicyCompiler) -> bool:
    """Return True if a factory makes some condition of the policy or of an item."""
    if not compiler.custom:
        return False
    of_items = (condition for item in policy.items() for condition in item.conditions)
    return any(map(compiler.item_compiler.is_custom, (*policy.conditions, *of_items)))


def _item_issues(item: PolicyItem, place: str, compiler: PolicyCompiler) -> Iterator[PolicyIssue]:
    known = compiler.model.known_access_types
    for n, access in enumerate(item.accesses):
        if access.type not in known:
            effect = "in denials it covers every access type" if compiler.fail_closed else "it is only a name"
            message = f"the service definition has no access type `{shown(access.type)}`; {effect}"
            yield PolicyIssue(ProblemCode.UNKNOWN_ACCESS_TYPE, f"{place}.accesses[{n}]", message)
    for n, condition in enumerate(item.conditions):
        yield from _condition_issues(condition, f"{place}.conditions[{n}]", compiler)


def _condition_issues(condition: PolicyItemCondition, place: str, compiler: PolicyCompiler) -> Iterator[PolicyIssue]:
    if not compiler.item_compiler.can_evaluate(condition):
        dropped = compiler.item_compiler.drops(condition)
        effect = "it always holds" if dropped else "it allows nothing, and denials apply"
        reason = compiler.item_compiler.reason_against(condition)
        why = f", because {reason}" if reason else ""
        message = f"condition `{shown(condition.type)}` cannot be evaluated{why}: {effect}"
        yield PolicyIssue(ProblemCode.UNUSABLE_CONDITION, place, message)
