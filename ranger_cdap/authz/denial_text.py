"""Sentences about denials by policies, which a grant does not lift."""

from __future__ import annotations

from ranger_cdap.cdap.answer import EvaluatedPrivilege
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
