"""The steps of a plan, made in Ranger Admin one by one; each only if its object is still the one of the plan.

Law: after a stop, wherever it was, the next plan begins with what is not yet as wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from ranger_cdap.engine.view import OWNER_MACRO, PUBLIC, USER_MACRO
from ranger_cdap.errors import ConflictingChange, InvalidInput, NotFound, RangerAdminError
from ranger_cdap.ranger.changes.step import Json, Step, StepChange
from ranger_cdap.ranger.changes.transfer import body
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy


class PolicyDocuments(Protocol):
    """The part of Ranger Admin's client that steps of policies use."""

    def policy_by_id(self, policy_id: int) -> Policy | None:
        """Return the policy with that id."""

    def create_policy_document(self, policy: Json) -> Json:
        """Create a policy."""

    def update_policy_document(self, policy_id: int, policy: Json) -> Json:
        """Replace a policy."""

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy."""


def require_receivers(steps: Iterable[Step], admin: RangerAdmin) -> None:
    """Require that Ranger knows every user and group that a step gives something or adds to a policy; changes nothing.

    Raises:
        InvalidInput: it names all that are missing.
        RangerAdminError: a request to Ranger Admin failed.
    """
    given = [(one.kind, one.name) for step in steps for one in step.receivers]
    given += [one for step in steps for one in step.adds.named()]
    given += [one for step in steps for one in sorted(_named(step.wanted) - _named(step.there))]
    exists = {"user": admin.user_exists, "group": admin.group_exists}
    missing: dict[str, list[str]] = {"user": [], "group": []}
    for kind, name in dict.fromkeys(given):
        if kind in exists and not exists[kind](name):
            missing[kind].append(f"`{name}`")
    named = [f"{kind}{'s' * (len(names) > 1)} {', '.join(names)}" for kind, names in missing.items() if names]
    if named:
        raise InvalidInput(
            f"Ranger has no {' and '.join(named)}; create them in Ranger Admin, or let user sync bring them; "
            "nothing was changed"
        )


def _named(policy: Json | None) -> set[tuple[str, str]]:
    """Return the users and groups in the items of a policy; none for other objects."""
    items = [item for side in Policy().item_lists() for item in (policy or {}).get(side) or ()]
    found = {(kind, name) for item in items for kind in ("user", "group") for name in item.get(f"{kind}s") or ()}
    return found - {("user", USER_MACRO), ("user", OWNER_MACRO), ("group", PUBLIC)}


def carry_out(steps: Iterable[Step], admin: Any, service: str, account: str = "") -> Iterator[Step]:
    """Make the steps that change something in order, as this account, and yield each one that is made.

    Raises:
        ConflictingChange: an object was changed since the plan was made.
        RangerAdminError: Ranger Admin rejected a step, or did not answer. The message has the step and how many were
            made before.
    """
    changes = [step for step in steps if step.changes]
    for made, step in enumerate(changes):
        try:
            if step.kind == "policy":
                _make_policy(step, admin, service)
            elif step.kind == "role":
                _make_role(step, admin, service, account)
            else:
                _make_service(step, admin)
        except RangerAdminError as e:
            e.args = (
                f"{step.subject} ({step.change.value}): {e}; {made} of {len(changes)} changes were made before, "
                "and the same command goes on from there",
            )
            raise
        yield step


def _make_service(step: Step, admin: RangerAdmin) -> None:
    wanted = step.wanted or {}
    match step.kind, step.change:
        case "service definition", StepChange.CREATE:
            admin.create_service_def(wanted)
        case "service definition", StepChange.UPDATE:
            admin.update_service_def(step.name, wanted)
        case "service", StepChange.CREATE:
            admin.create_service(wanted)
        case "service", StepChange.UPDATE:
            admin.update_service(wanted["id"], wanted)


def _make_role(step: Step, admin: RangerAdmin, service: str, account: str) -> None:
    roles, adds, removes = admin.roles, step.adds, step.removes
    match step.change:
        case StepChange.CREATE:
            if not roles.create(service, step.name, description=step.detail):
                raise ConflictingChange("a role of this name was created in Ranger since the plan was made")
        case StepChange.DELETE:
            roles.delete(service, step.name)
        case StepChange.UPDATE if adds:
            roles.grant(service, step.name, grantor=account, users=adds.users, groups=adds.groups, roles=adds.roles)
        case StepChange.UPDATE:
            roles.revoke(
                service, step.name, grantor=account, users=removes.users, groups=removes.groups, roles=removes.roles
            )


def _make_policy(step: Step, admin: PolicyDocuments, service: str) -> None:
    if step.there is None:
        admin.create_policy_document(body(step, service))
        return
    policy_id, version = step.there["id"], step.there.get("version")
    now = admin.policy_by_id(policy_id)
    if now is None and step.change is StepChange.DELETE:
        return
    if now is None or now.version != version:
        raise ConflictingChange(f"it was {'deleted' if now is None else 'changed'} in Ranger since the plan was made")
    if step.change is StepChange.DELETE:
        _delete(admin, policy_id)
        return
    after = admin.update_policy_document(policy_id, body(step, service))
    if isinstance(version, int) and after.get("version") != version + 1:
        raise ConflictingChange(
            f"it was modified concurrently: it is as wanted now, and its versions after {version} were overwritten"
        )


def _delete(admin: PolicyDocuments, policy_id: int) -> None:
    try:
        admin.delete_policy(policy_id)
    except NotFound:
        return  # somebody else deleted it
