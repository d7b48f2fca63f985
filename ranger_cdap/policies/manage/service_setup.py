"""Setting up Ranger for CDAP: what is there is compared with what is wanted (pure), and the difference is carried out.

Nothing that policies may use is ever dropped: definitions are compared by names and only grow, lists of accounts only
grow, and a policy that is there is left as people made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import servicedef
from ranger_cdap.engine.model.wire import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.client.ranger_admin import RangerAdmin

# Which account belongs into which list of the service (architecture.md, decision 12).
PLUGIN_RIGHTS = ("policy.download.auth.users", "tag.download.auth.users", "userstore.download.auth.users")
SYNC_RIGHTS = ("service.admin.users", "policy.download.auth.users", "userstore.download.auth.users")
ADMIN_USER_RIGHTS = ("service.admin.users",)
ADMIN_GROUP_RIGHTS = ("service.admin.groups",)

# What CDAP's master user needs in every namespace: to look around, to run previews, and to be the user as whom programs
# run that impersonate no user (cdap-facts.md §3.1, §3.3; document 004).
MASTER_POLICIES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("namespace",): ("read",),
    ("namespace", "artifact"): ("read",),
    ("namespace", "application", "program"): ("read", "execute"),
    ("namespace", "dataset"): ("read", "write"),
    ("namespace", "dataset_module"): ("read",),
    ("namespace", "dataset_type"): ("read",),
}
EVERY_NAME = "?*"
"""Every name of a level, and nothing above: what Ranger finds by `*` at the end, it finds also without that level."""

MASTER_CREATES = (("namespace", "dataset"), ("namespace", "dataset_module"), ("namespace", "dataset_type"))
"""Where the master user needs ADMIN as well if it is to make things itself (`master.create = "allow"`)."""


class Change(Enum):
    """The kind of a step."""

    CREATE = "create"
    UPDATE = "update"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Wanted:
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
class Found:
    """The current state of Ranger Admin."""

    definition: dict[str, Any] | None
    service: dict[str, Any] | None
    policies: Sequence[Policy]


@dataclass(frozen=True, slots=True)
class DefinitionStep:
    """Register or extend the service definition."""

    change: Change
    detail: str
    body: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.change.value} service definition `{self.body['name']}`: {self.detail}"


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """Create the service or extend its lists of accounts."""

    change: Change
    detail: str
    body: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.change.value} service `{self.body['name']}`: {self.detail}"


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """Create a first policy."""

    change: Change
    detail: str
    body: Policy

    def __str__(self) -> str:
        return f"{self.change.value} policy `{self.body.name}`: {self.detail}"


Step = DefinitionStep | ServiceStep | PolicyStep


def look(admin: RangerAdmin, service: str) -> Found:
    """Read the current state.

    Raises:
        RangerAdminError: Ranger Admin cannot be asked.
    """
    definition = admin.get_service_def(servicedef.service_definition()["name"])
    found = admin.get_service(service)
    return Found(definition, found, admin.list_policies(service) if found else ())


def plan(wanted: Wanted, found: Found) -> tuple[Step, ...]:
    """The steps from what is there to what is wanted, in the order in which they must be taken.

    Raises:
        InvalidInput: a service of that name exists and is of another type.
    """
    return (
        _definition_step(servicedef.service_definition(), found.definition),
        _service_step(wanted, found.service),
        *_policy_steps(wanted, found.policies),
    )


def carry_out(steps: Iterable[Step], admin: RangerAdmin) -> None:
    """Take the steps one after another; taking them twice changes nothing the second time.

    Raises:
        RangerAdminError: Ranger Admin refuses one; those before it stand.
    """
    for step in steps:
        match step:
            case DefinitionStep(change=Change.CREATE, body=body):
                admin.create_service_def(body)
            case DefinitionStep(change=Change.UPDATE, body=body):
                admin.update_service_def(body["name"], body)
            case ServiceStep(change=Change.CREATE, body=body):
                admin.create_service(body)
            case ServiceStep(change=Change.UPDATE, body=body):
                admin.update_service(body["id"], body)
            case PolicyStep(change=Change.CREATE, body=policy):
                admin.create_policy(policy)
            case _:
                pass


def _definition_step(ours: dict[str, Any], theirs: dict[str, Any] | None) -> DefinitionStep:
    if theirs is None:
        return DefinitionStep(Change.CREATE, f"{len(ours['resources'])} resources, 4 access types", ours)
    lacking = {
        part: [row for row in ours[part] if row["name"] not in {other["name"] for other in theirs.get(part, ())}]
        for part in ("resources", "accessTypes", "configs")
    }
    ends = _missing_ends(ours, theirs)
    names = [row["name"] for rows in lacking.values() for row in rows]
    if not names and not ends:
        return DefinitionStep(Change.KEEP, "nothing is missing", theirs)
    grown = {**theirs, **{part: _appended(theirs.get(part, ()), rows) for part, rows in lacking.items()}}
    grown["resources"] = [{**row, "isValidLeaf": True} if row["name"] in ends else row for row in grown["resources"]]
    said = [f"add {', '.join(names)}" if names else "", f"let policies end at {', '.join(ends)}" if ends else ""]
    return DefinitionStep(Change.UPDATE, "; ".join(filter(None, said)), grown)


def _missing_ends(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Their resources that do not say that a policy may end there, as ours do."""
    ending = {row["name"] for row in ours["resources"] if row["isValidLeaf"]}
    return [row["name"] for row in theirs.get("resources", ()) if row["name"] in ending and not row.get("isValidLeaf")]


def _appended(theirs: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Their rows, then ours with the next free item ids: an id that is in use must keep its meaning."""
    last = max((row.get("itemId", 0) for row in theirs), default=0)
    return [*theirs, *({**row, "itemId": last + n} for n, row in enumerate(rows, 1))]


def _service_step(wanted: Wanted, service: dict[str, Any] | None) -> ServiceStep:
    kind = servicedef.service_definition()["name"]
    lists = _account_lists(wanted)
    if service is None:
        # No `username`: Ranger would make default policies that give that account everything.
        body = {
            "name": wanted.service,
            "displayName": wanted.service,
            "type": kind,
            "isEnabled": True,
            "configs": {key: ",".join(accounts) for key, accounts in lists.items()},
        }
        return ServiceStep(Change.CREATE, _accounts_text(lists), body)
    if service.get("type") != kind:
        raise InvalidInput(
            f"service `{wanted.service}` is of type `{service.get('type')}`, not `{kind}`; choose another name"
        )
    configs = dict(service.get("configs") or {})
    added = {}
    for key, accounts in lists.items():
        present = [name.strip() for name in configs.get(key, "").split(",") if name.strip()]
        new = [account for account in accounts if account not in present]
        if new:
            configs[key] = ",".join([*present, *new])
            added[key] = new
    if not added:
        return ServiceStep(Change.KEEP, "the accounts have their rights", service)
    return ServiceStep(Change.UPDATE, _accounts_text(added), {**service, "configs": configs})


def _account_lists(wanted: Wanted) -> dict[str, list[str]]:
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


def _policy_steps(wanted: Wanted, existing: Sequence[Policy]) -> Iterator[PolicyStep]:
    """First policies: administrators and the master user on the instance, the master user in every namespace."""
    items = []
    if wanted.admin_users or wanted.admin_groups:
        items.append(_item(("read", "write", "admin"), users=wanted.admin_users, groups=wanted.admin_groups))
    if wanted.master_user:
        # At its start CDAP creates the namespace `default` as the master user.
        items.append(_item(("read", "write"), users=(wanted.master_user,)))
    if items:
        yield _policy_step(wanted, existing, (), items, "administrators and the CDAP master user")
    for levels, accesses in MASTER_POLICIES.items() if wanted.master_user else ():
        creates = wanted.master_may_create and levels in MASTER_CREATES
        item = _item((*accesses, "admin") if creates else accesses, users=(wanted.master_user,))
        yield _policy_step(wanted, existing, levels, [item], "the CDAP master user")


def _policy_step(
    wanted: Wanted, existing: Sequence[Policy], levels: tuple[str, ...], items: list[PolicyItem], who: str
) -> PolicyStep:
    """Ranger allows no second policy with the same resource, so one that is there stays as people made it."""
    instance = {"instance": PolicyResource(values=[wanted.instance])}
    place = f"every {levels[-1]} of {wanted.instance}" if levels else f"instance {wanted.instance}"
    policy = Policy(
        service=wanted.service,
        name=f"{place}: CDAP master user" if levels else place,
        description=f"Made by ranger-cdap setup: {who}",
        resources={**instance, **{level: PolicyResource(values=[EVERY_NAME]) for level in levels}},
        policyItems=items,
    )
    gives = "; ".join(_gives(item) for item in items)
    same = [other for other in existing if other.name == policy.name or _values(other) == _values(policy)]
    if not same:
        return PolicyStep(Change.CREATE, gives, policy)
    lacking = [item for item in items if not _has(same[0], item)]
    advice = "; add manually what it lacks of: " + "; ".join(map(_gives, lacking)) if lacking else ""
    return PolicyStep(Change.KEEP, f"policy {same[0].id} on it is there and stays as it is{advice}", same[0])


def _gives(item: PolicyItem) -> str:
    return f"{', '.join(access.type for access in item.accesses)} for {', '.join((*item.users, *item.groups))}"


def _has(policy: Policy, wanted: PolicyItem) -> bool:
    """Whether one item of the policy gives all of that to all of them."""
    return any(
        {a.type for a in wanted.accesses} <= {a.type for a in item.accesses if a.isAllowed}
        and set(wanted.users) <= set(item.users)
        and set(wanted.groups) <= set(item.groups)
        and not item.conditions
        for item in policy.policyItems
    )


def _values(policy: Policy) -> dict[str, list[str]]:
    return {level: sorted(resource.values) for level, resource in policy.resources.items()}


def _item(accesses: Sequence[str], *, users: Sequence[str] = (), groups: Sequence[str] = ()) -> PolicyItem:
    return PolicyItem(
        users=list(users), groups=list(groups), accesses=[PolicyItemAccess(type=access) for access in accesses]
    )
