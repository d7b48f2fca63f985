"""Sentences about denials: by a policy, which a grant does not lift, and of an entity that CDAP is about to create."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege
from ranger_cdap.cdap.checks.check_table import calling_methods, methods_before_creation
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.entity import type_of
from ranger_cdap.cdap.profile import ANY, VISIBLE
from ranger_cdap.engine.view import DENY_ALL_ELSE


def denial_by(evaluated: EvaluatedPrivilege) -> str:
    """Return ` denies READ; granting READ would not help`, to follow a policy's name; empty unless a policy denies."""
    decision = evaluated.decision
    if evaluated.held or decision.policy_id < 0:
        return ""
    if decision.reason == DENY_ALL_ELSE:
        return " denies everything it does not allow"
    if decision.reason:
        return f" is unusable, so it denies everyone: {decision.reason}"
    what = "any access" if evaluated.action in (ANY, VISIBLE) else evaluated.action
    return f" denies {what}; granting {'it' if what == 'any access' else what} would not help"


def before_creation(check: CdapCheck, denials: Iterable[Answer]) -> str:
    """Return what to grant if CDAP made the check because it is about to create the entity.

    Empty for all other checks, and where a policy denies. Whether the entity exists is not known here.
    """
    if not check.hint:
        return ""
    kind = type_of(check.entity_type)[0]
    methods = {m for one in check.permissions for m in methods_before_creation(kind, one.partition(".")[2])}
    lacked = [m for answer in denials if not any(map(denial_by, answer.decided_by)) for m in answer.missing]
    needed = dict.fromkeys(m.privilege for m in lacked if m.entity.type == kind)
    if not needed or methods.isdisjoint(calling_methods(check.hint)):
        return ""
    return (
        f"if the {kind.replace('_', ' ')} does not exist yet because a deployment is about to create it, grant"
        f" {' and '.join(needed)} beforehand, for example with `ranger-cdap needs … --for-cdap --policies`"
    )
