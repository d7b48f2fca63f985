"""Ranger Admin's refusals of a policy, by its reason codes and messages. Pure."""

from __future__ import annotations

import re
from typing import Final

from ranger_cdap.errors import RequestRejected
from ranger_cdap.ranger_model.policy import Policy

NAME_TAKEN: Final = 3006
RESOURCE_TAKEN: Final = 3010
_UNKNOWN = re.compile(r"(User|Group) name: .* does not exist in ranger admin", re.DOTALL)
_POLICY_ID = re.compile(r"policy-id=\[([0-9.,\s]+)\]")
_POLICY_NAME = re.compile(r"policy-name=\[(.*?)\], service=", re.DOTALL)


def is_taken(refusal: RequestRejected) -> bool:
    """Return whether another policy has the name or the resource."""
    return bool({NAME_TAKEN, RESOURCE_TAKEN} & set(refusal.reason_codes))


def other_name(refusal: RequestRejected) -> str | None:
    """Return the name of the other policy, if the message has it."""
    found = _POLICY_NAME.search(refusal.ranger_message)
    return found[1] if found else None


def other_policy(refusal: RequestRejected) -> str:
    """Return the other policy as messages name it."""
    if (name := other_name(refusal)) is not None:
        return f"policy `{name}`"
    if number := _POLICY_ID.search(refusal.ranger_message):
        return f"policy {re.sub('[^0-9]', '', number[1])}"
    return "a policy for this resource"


def unknown_principal(refusal: RequestRejected, policy: Policy, user: str) -> str:
    """Return the reason if Ranger lacks the user or the group of a policy; empty for another refusal."""
    unknown = _UNKNOWN.search(refusal.ranger_message)
    if not unknown:
        return ""
    groups = {group for item in policy.policy_items for group in item.groups}
    who = user if unknown[1] == "User" else ", ".join(sorted(groups))
    return f"unknown {unknown[1].lower()}: Ranger has no `{who}`"
