"""Setup of Ranger for CDAP: plans the difference between current and desired state (pure), and applies it.

Nothing that policies may use is dropped: definitions and lists of accounts only grow, and existing policies are not
changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import servicedef
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource

# The lists of the service by account (architecture.md, decision 12).
PLUGIN_RIGHTS = ("policy.download.auth.users", "tag.download.auth.users", "userstore.download.auth.users")
SYNC_RIGHTS = ("service.admin.users", "policy.download.auth.users", "userstore.download.auth.users")
ADMIN_USER_RIGHTS = ("service.admin.users",)
ADMIN_GROUP_RIGHTS = ("service.admin.groups",)

# Rights of CDAP's master user in every namespace: to list entities, to run previews, and to run programs without
# impersonation (cdap-facts.md §3.1, §3.3; document 004).
MASTER_POLICIES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("namespace",): ("read",),
    ("namespace", "artifact"): ("read",),
    ("namespace", "application", "program"): ("read", "execute"),
    ("namespace", "dataset"): ("read", "write"),
    ("namespace", "dataset_module"): ("read",),
    ("namespace", "dataset_type"): ("read",),
}
EVERY_NAME = "?*"
"""Every name of a level, but not the level above: Ranger matches a trailing `*` also without that level."""

MASTER_CREATES = (("namespace", "dataset"), ("namespace", "dataset_module"), ("namespace", "dataset_type"))
"""Resources on which the master user also needs ADMIN to create entities itself (`master.create = "allow"`)."""


_ENABLE = "plugins get no policies of it; enable it in Ranger Admin"


class SetupAction(Enum):
    """Kind of a step; `DISABLED` is a service that an administrator has to enable, and `setup` never does."""

    CREATE = "create"
    UPDATE = "update"
    KEEP = "keep"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class DesiredState:
    """The desired state."""

    service: str
    instance: str
    plugin_account: str = ""
    sync_account: str = ""
    master_user: str = ""
    master_may_create: bool = False
    admin_users: tuple[str, ...] = ()
    admin_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CurrentState:
    """The current state of Ranger Admin."""

    definition: dict[str, Any] | None
    service: dict[str, Any] | None
    policies: Sequence[Policy]


@dataclass(frozen=True, slots=True)
class DefinitionStep:
    """Register or extend the service definition."""

    change: SetupAction
    detail: str
    body: dict[str, Any]

    @property
    def subject(self) -> str:
        """The object of the step, with its kind."""
        return f"service definition `{self.body['name']}`"

    def __str__(self) -> str:
        return f"{self.change.value} {self.subject}: {self.detail}"


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """Create the service or extend its lists of accounts."""

    change: SetupAction
    detail: str
    body: dict[str, Any]

    @property
    def subject(self) -> str:
        """The object of the step, with its kind."""
        return f"service `{self.body['name']}`"

    def __str__(self) -> str:
        return f"{self.change.value} {self.subject}: {self.detail}"


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """Create an initial policy."""

    change: SetupAction
    detail: str
    body: Policy

    @property
    def subject(self) -> str:
        """The object of the step, with its kind."""
        return f"policy `{self.body.name}`"

    def __str__(self) -> str:
        return f"{self.change.value} {self.subject}: {self.detail}"


Step = DefinitionStep | ServiceStep | PolicyStep


def read_state(admin: RangerAdmin, service: str) -> CurrentState:
    """Read the current state.

    Raises:
        RangerAdminError: a request to Ranger Admin failed.
    """
    definition = admin.get_service_def(servicedef.service_definition()["name"])
    found = admin.get_service(service)
    return CurrentState(definition, found, admin.list_policies(service) if found else ())


def plan(wanted: DesiredState, found: CurrentState) -> tuple[Step, ...]:
    """Return the steps from the current to the desired state, in the required order.

    Raises:
        InvalidInput: a service of that name exists with another type.
    """
    return (
        _definition_step(servicedef.service_definition(), found.definition),
        _service_step(wanted, found.service),
        *_policy_steps(wanted, found.policies),
    )


def require_principals(steps: Iterable[Step], admin: RangerAdmin) -> None:
    """Require that Ranger knows every user and group of the policies to create; changes nothing.

    Raises:
        InvalidInput: it names all that are missing.
        RangerAdminError: a request to Ranger Admin failed.
    """
    new = [step.body for step in steps if isinstance(step, PolicyStep) and step.change is SetupAction.CREATE]
    items = [item for policy in new for item in policy.policy_items]
    users = dict.fromkeys(name for item in items for name in item.users)
    groups = dict.fromkeys(name for item in items for name in item.groups)
    missing = {
        "user": [name for name in users if not admin.user_exists(name)],
        "group": [name for name in groups if not admin.group_exists(name)],
    }
    named = " and ".join(_named(kind, names) for kind, names in missing.items() if names)
    if named:
        raise InvalidInput(f"Ranger has no {named}; create them in Ranger Admin first, nothing was changed")


def _named(kind: str, names: Sequence[str]) -> str:
    return f"{kind}{'s' * (len(names) > 1)} {', '.join(f'`{name}`' for name in names)}"


def carry_out(steps: Iterable[Step], admin: RangerAdmin) -> None:
    """Carry out the steps in order; idempotent.

    Raises:
        RangerAdminError: a step failed; those before it remain in effect.
    """
    for step in steps:
        match step:
            case DefinitionStep(change=SetupAction.CREATE, body=body):
                admin.create_service_def(body)
            case DefinitionStep(change=SetupAction.UPDATE, body=body):
                admin.update_service_def(body["name"], body)
            case ServiceStep(change=SetupAction.CREATE, body=body):
                admin.create_service(body)
            case ServiceStep(change=SetupAction.UPDATE, body=body):
                admin.update_service(body["id"], body)
            case PolicyStep(change=SetupAction.CREATE, body=policy):
                admin.create_policy(policy)
            case _:
                pass


def _definition_step(ours: dict[str, Any], theirs: dict[str, Any] | None) -> DefinitionStep:
    if theirs is None:
        return DefinitionStep(SetupAction.CREATE, f"{len(ours['resources'])} resources, 4 access types", ours)
    lacking = {
        part: [row for row in ours[part] if row["name"] not in {other["name"] for other in theirs.get(part, ())}]
        for part in ("resources", "accessTypes", "configs")
    }
    ends = _missing_leaves(ours, theirs)
    names = [row["name"] for rows in lacking.values() for row in rows]
    if not names and not ends:
        return DefinitionStep(SetupAction.KEEP, "nothing is missing", theirs)
    grown = {**theirs, **{part: _appended(theirs.get(part, ()), rows) for part, rows in lacking.items()}}
    grown["resources"] = [{**row, "isValidLeaf": True} if row["name"] in ends else row for row in grown["resources"]]
    parts = [f"add {', '.join(names)}" if names else "", f"let policies end at {', '.join(ends)}" if ends else ""]
    return DefinitionStep(SetupAction.UPDATE, "; ".join(filter(None, parts)), grown)


def _missing_leaves(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Return the resources of their definition that are valid leaves in ours, but not in theirs."""
    ending = {row["name"] for row in ours["resources"] if row["isValidLeaf"]}
    return [row["name"] for row in theirs.get("resources", ()) if row["name"] in ending and not row.get("isValidLeaf")]


def _appended(theirs: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Append missing rows of ours with the next free item ids, because an id in use must keep its meaning."""
    last = max((row.get("itemId", 0) for row in theirs), default=0)
    return [*theirs, *({**row, "itemId": last + n} for n, row in enumerate(rows, 1))]


def _service_step(wanted: DesiredState, service: dict[str, Any] | None) -> ServiceStep:
    kind = servicedef.service_definition()["name"]
    lists = _account_lists(wanted)
    if service is None:
        # No `username`: Ranger would create default policies with all rights for that account.
        body = {
            "name": wanted.service,
            "displayName": wanted.service,
            "type": kind,
            "isEnabled": True,
            "configs": {key: ",".join(accounts) for key, accounts in lists.items()},
        }
        return ServiceStep(SetupAction.CREATE, _accounts_text(lists), body)
    if service.get("type") != kind:
        raise InvalidInput(
            f"service `{wanted.service}` is of type `{service.get('type')}`, not `{kind}`; choose another name"
        )
    configs = dict(service.get("configs") or {})
    added = {}
    for key, accounts in lists.items():
        # Ranger splits at commas and compares with the blanks: ` ann` is not the user `ann`.
        present = configs.get(key, "").split(",")
        new = [account for account in accounts if account not in present]
        if new:
            configs[key] = ",".join(dict.fromkeys([*filter(None, map(str.strip, present)), *new]))
            added[key] = new
    is_enabled = service.get("isEnabled", True)
    if not added:
        if not is_enabled:
            return ServiceStep(SetupAction.DISABLED, _ENABLE, service)
        return ServiceStep(SetupAction.KEEP, "the accounts have their rights", service)
    detail = _accounts_text(added) if is_enabled else f"{_accounts_text(added)}; it is disabled: {_ENABLE}"
    return ServiceStep(SetupAction.UPDATE, detail, {**service, "configs": configs})


def _account_lists(wanted: DesiredState) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for account, rights in (
        (wanted.plugin_account, PLUGIN_RIGHTS),
        (wanted.sync_account, SYNC_RIGHTS),
        *((user, ADMIN_USER_RIGHTS) for user in wanted.admin_users),
        *((group, ADMIN_GROUP_RIGHTS) for group in wanted.admin_groups),
    ):
        for right in rights if account else ():
            if account not in lists.setdefault(right, []):
                lists[right].append(account)
    return lists


def _accounts_text(lists: dict[str, list[str]]) -> str:
    return "; ".join(f"{key} = {', '.join(names)}" for key, names in lists.items()) or "no accounts"


def _policy_steps(wanted: DesiredState, existing: Sequence[Policy]) -> Iterator[PolicyStep]:
    """Return initial policies: administrators and the master user on the instance, and the latter in all namespaces."""
    items = []
    if wanted.admin_users or wanted.admin_groups:
        items.append(_item(("read", "write", "admin"), users=wanted.admin_users, groups=wanted.admin_groups))
    if wanted.master_user:
        # On startup CDAP creates the namespace `default` as the master user.
        items.append(_item(("read", "write"), users=(wanted.master_user,)))
    if items:
        yield _policy_step(wanted, existing, (), items, "administrators and the CDAP master user")
    for levels, accesses in MASTER_POLICIES.items() if wanted.master_user else ():
        creates = wanted.master_may_create and levels in MASTER_CREATES
        item = _item((*accesses, "admin") if creates else accesses, users=(wanted.master_user,))
        yield _policy_step(wanted, existing, levels, [item], "the CDAP master user")


def _policy_step(
    wanted: DesiredState, existing: Sequence[Policy], levels: tuple[str, ...], items: list[PolicyItem], who: str
) -> PolicyStep:
    """Return the step for one resource; an existing policy is not changed, and Ranger allows no second one."""
    instance = {"instance": PolicyResource(values=[wanted.instance])}
    place = f"every {levels[-1]} of {wanted.instance}" if levels else f"instance {wanted.instance}"
    policy = Policy(
        service=wanted.service,
        name=f"{place}: CDAP master user" if levels else place,
        description=f"Made by ranger-cdap setup: {who}",
        resources={**instance, **{level: PolicyResource(values=[EVERY_NAME]) for level in levels}},
        policy_items=items,
    )
    gives = "; ".join(_gives(item) for item in items)
    same = [other for other in existing if other.name == policy.name or _values(other) == _values(policy)]
    if not same:
        return PolicyStep(SetupAction.CREATE, gives, policy)
    lacking = [item for item in items if not _has(same[0], item)]
    advice = "; add manually what it lacks of: " + "; ".join(map(_gives, lacking)) if lacking else ""
    return PolicyStep(SetupAction.KEEP, f"policy {same[0].id} exists and is not changed{advice}", same[0])


def _gives(item: PolicyItem) -> str:
    return f"{', '.join(access.type for access in item.accesses)} for {', '.join((*item.users, *item.groups))}"


def _has(policy: Policy, wanted: PolicyItem) -> bool:
    """Return whether one item of the policy gives all these accesses to all these principals."""
    return any(
        {a.type for a in wanted.accesses} <= {a.type for a in item.accesses if a.is_allowed}
        and set(wanted.users) <= set(item.users)
        and set(wanted.groups) <= set(item.groups)
        and not item.conditions
        for item in policy.policy_items
    )


def _values(policy: Policy) -> dict[str, list[str]]:
    return {level: sorted(resource.values) for level, resource in policy.resources.items()}


def _item(accesses: Sequence[str], *, users: Sequence[str] = (), groups: Sequence[str] = ()) -> PolicyItem:
    return PolicyItem(
        users=list(users), groups=list(groups), accesses=[PolicyItemAccess(type=access) for access in accesses]
    )
