"""Ranger Admin's refusals of a policy, by its reason codes and messages. Pure."""

from __future__ import annotations

import re
from typing import Final

from ranger_cdap.errors import RequestRejected
from ranger_cdap.ranger_model.policy import Policy

NAME_TAKEN: Final = 3006
RESOURCE_TAKEN: Final = 3010
_UNKNOWN = re.compile(r"(User|Group) name: .* does not exist in ranger admin", re.DOTALL)


def is_taken(refusal: RequestRejected) -> bool:
    """Return whether another policy has the name or the resource."""
    return bool({NAME_TAKEN, RESOURCE_TAKEN} & set(refusal.reason_codes))


def unknown_principal(refusal: RequestRejected, policy: Policy, user: str) -> str:
    """Return the reason if Ranger lacks the user or the group of a policy; empty for another refusal."""
    unknown = _UNKNOWN.search(refusal.ranger_message)
    if not unknown:
        return ""
    groups = {group for item in policy.policy_items for group in item.groups}
    who = user if unknown[1] == "User" else ", ".join(sorted(groups))
    return f"unknown {unknown[1].lower()}: Ranger has no `{who}`"
