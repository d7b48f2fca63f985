"""Privileges that CDAP's own checks need on the path of an allowed operation, and that the users lack."""

from __future__ import annotations

from collections.abc import Collection

from ranger_cdap.authz.decider import Decider
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cdap.additional_privileges import AdditionalPrivileges, additional_privileges
from ranger_cdap.cdap.answer import Answer, evaluate_privilege
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.plan import RequiredPrivilege
from ranger_cdap.cdap.profile import Operation


def lacked_privileges(
    decider: Decider, answer: Answer, groups: Collection[str], context: Context
) -> AdditionalPrivileges:
    """Return what CDAP's recorded checks need after `answer` and is not held now, the same for each alternative.

    Evaluated by the policies in effect, a few decisions per check; not audited. Checks that are not enforced need
    nothing. Of an operation that the policies do not allow, nothing is returned.
    """
    config, snapshot = decider.config, decider.snapshot
    if snapshot.engine is None or not (answer.allowed and answer.enforced):
        return AdditionalPrivileges(())
    resolver = GroupResolver.of(snapshot, decider.group_hook, {answer.person: groups})
    now = DecisionContext(snapshot.engine, resolver, config.instance, decider.now())

    def holds(row: Operation, need: RequiredPrivilege) -> bool:
        if not config.enforcement.is_enforced(row.name, row.entity):
            return True
        inherits = config.options.inherit and not row.lists
        return evaluate_privilege(need.person, need.entity, need.actions, now.ask, now.names, inherits).held

    return additional_privileges(
        config.profile,
        config.profile.operation(answer.operation),
        answer.entity,
        answer.person,
        config.with_master(context),
        config.options,
        holds=holds,
    )
