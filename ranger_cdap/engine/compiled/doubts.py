"""What in a policy that can be used does not do what its author may have meant."""

from __future__ import annotations

from collections.abc import Iterator

from ranger_cdap.engine.compiled.policy import PolicyCompiler
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.problem import Doubt, ProblemCode, shown

_ACCESS_POLICY = 0
_KINDS = {1: "it masks data", 2: "it filters rows"}
_LISTS = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
_MASKS_AND_FILTERS = ("dataMaskPolicyItems", "rowFilterPolicyItems")


def doubts(policy: wire.Policy, compiler: PolicyCompiler) -> Iterator[Doubt]:
    """Each doubt, with its place in the policy; nothing about a policy that is switched off."""
    if not policy.isEnabled or _is_usual(policy, compiler):
        return
    if policy.policyType != _ACCESS_POLICY:
        kind = _KINDS.get(policy.policyType, "nobody knows what it is")
        message = f"a policy of type {policy.policyType} decides no access ({kind}), so it is left out"
        yield Doubt(ProblemCode.NOT_ABOUT_ACCESS, "policyType", message)
        return
    for name in _MASKS_AND_FILTERS:
        if getattr(policy, name):
            yield Doubt(ProblemCode.NOT_ABOUT_ACCESS, name, "masks and row filters decide no access; they are left out")
    if not compiler.cautious:
        for lost in compiler.lost_resources(policy):
            yield Doubt(lost.code, lost.place, f"{lost.message}, so it matches nothing")
    for n, condition in enumerate(policy.conditions):
        yield from _of_condition(condition, f"conditions[{n}]", compiler)
    for name in _LISTS:
        for n, item in enumerate(getattr(policy, name)):
            yield from _of_item(item, f"{name}[{n}]", compiler)


def _is_usual(policy: wire.Policy, compiler: PolicyCompiler) -> bool:
    """Whether nothing of what follows can be said of it: so it is with nearly all, of which there may be many."""
    if policy.policyType != _ACCESS_POLICY or policy.conditions or not compiler.cautious:
        return False
    if policy.dataMaskPolicyItems or policy.rowFilterPolicyItems:
        return False
    known = compiler.model.known_accesses
    for items in (policy.policyItems, policy.denyPolicyItems, policy.allowExceptions, policy.denyExceptions):
        for item in items:
            if item.conditions or not known.issuperset([access.type for access in item.accesses]):
                return False
    return True


def _of_item(item: wire.PolicyItem, place: str, compiler: PolicyCompiler) -> Iterator[Doubt]:
    known = compiler.model.known_accesses
    for n, access in enumerate(item.accesses):
        if access.type not in known:
            effect = "in denials it means every access type" if compiler.cautious else "it is only a name"
            message = f"the service definition has no access type `{shown(access.type)}`; {effect}"
            yield Doubt(ProblemCode.UNKNOWN_ACCESS_TYPE, f"{place}.accesses[{n}]", message)
    for n, condition in enumerate(item.conditions):
        yield from _of_condition(condition, f"{place}.conditions[{n}]", compiler)


def _of_condition(condition: wire.PolicyItemCondition, place: str, compiler: PolicyCompiler) -> Iterator[Doubt]:
    if not compiler.rules.can_evaluate(condition):
        effect = "nothing is allowed by it, and denials apply" if compiler.cautious else "it always holds"
        message = f"condition `{shown(condition.type)}` cannot be evaluated: {effect}"
        yield Doubt(ProblemCode.UNUSABLE_CONDITION, place, message)
