"""Access of a user, of anyone to a pattern, and of the holders of an entity, as JSON."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.engine import Verdict
from ranger_cdap.tools.questions.access_holders import AccessHolder
from ranger_cdap.tools.questions.effective_access import EffectiveAccess
from ranger_cdap.tools.questions.known_user import KnownUser, PolicyView


def reach_document(
    view: PolicyView, known: KnownUser | None, pattern: EntityPattern | None, found: EffectiveAccess
) -> dict[str, Any]:
    """Return the access of a user or anyone as JSON; `whole` is true for a row that covers all that was asked about."""
    subject = known.subject if known is not None else None
    return {
        "user": subject.user if subject else None,
        "groups": sorted(subject.groups) if subject else [],
        "roles": sorted(view.engine.view.roles.of(subject.user, subject.groups)) if subject else [],
        "entity": str(pattern) if pattern else None,
        "allowed": msgspec.to_builtins(found.allowed),
        "denied": msgspec.to_builtins(found.denied),
    }


def holder_document(one: AccessHolder, index: PolicyIndex, accesses: Collection[str]) -> dict[str, object]:
    """Return a holder of access to one entity as JSON, with these access types of theirs."""
    return {
        "kind": one.kind,
        "name": one.name,
        "groups": one.groups,
        "accesses": {
            access: {
                "verdict": entry.verdict,
                "policy": index.document(entry.policy_id),
                **({"depends": one.depends.get(access)} if entry.verdict is Verdict.CONDITIONAL else {}),
            }
            for access, entry in one.accesses.items()
            if access in accesses
        },
    }
