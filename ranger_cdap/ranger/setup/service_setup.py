"""Setup of Ranger for CDAP: reads the current state, and plans the difference to the desired one (pure).

Nothing that policies may use is dropped: definitions and lists of accounts only grow. Rights of administrators and of
CDAP's master user follow the settings both ways, by a record of what `setup` gave; what people wrote stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

import servicedef
from ranger_cdap.errors import InvalidInput
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger.changes.carry_out import carry_out
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup.definition_step import definition_step
from ranger_cdap.ranger.setup.setup_policies import policy_steps
from ranger_cdap.ranger.setup.setup_state import CurrentState, DesiredState
from ranger_cdap.ranger_model.decode import decode_policy

# The lists of the service by account (architecture.md, decision 12).
PLUGIN_RIGHTS = ("policy.download.auth.users", "tag.download.auth.users", "userstore.download.auth.users")
SYNC_RIGHTS = ("service.admin.users", "policy.download.auth.users", "userstore.download.auth.users")
ADMIN_RIGHTS = ("service.admin.users", "service.admin.groups")
_RECORD: Final = "ranger-cdap-setup."
"""Beginning of the service's settings that record the administrators of an instance `setup` added to such a list."""

_INSTANCE: Final = "cdap.instance.name"
_ENABLE = "plugins get no policies of it; enable it in Ranger Admin"


def read_state(admin: RangerAdmin, service: str) -> CurrentState:
    """Read the current state.

    Raises:
        RangerAdminError: a request to Ranger Admin failed.
    """
    definition = admin.get_service_def(servicedef.service_definition()["name"])
    found = admin.get_service(service)
    documents = admin.policy_documents(service) if found else []
    policies = [decode_policy(msgspec.json.encode(one)) for one in documents]
    return CurrentState(definition, found, policies, {one.get("id"): one for one in documents})


def plan(wanted: DesiredState, found: CurrentState) -> tuple[Step, ...]:
    """Return the steps from the current to the desired state, in the required order.

    Raises:
        InvalidInput: a service of that name exists with another type.
    """
    return (
        definition_step(servicedef.service_definition(), found.definition, lookup=wanted.lookup),
        _service_step(wanted, found.service),
        *policy_steps(wanted, found),
    )


def set_up(admin: RangerAdmin, wanted: DesiredState) -> None:
    """Plan and carry out at once; idempotent.

    Raises:
        RangerAdminError: a step failed; those before it remain in effect.
    """
    for _ in carry_out(plan(wanted, read_state(admin, wanted.service)), admin, wanted.service):
        pass


def _service_step(wanted: DesiredState, service: dict[str, Any] | None) -> Step:
    kind = servicedef.service_definition()["name"]
    lists = _account_lists(wanted)
    if service is None:
        # No `username`: Ranger would create default policies with all rights for that account.
        record = {_record_key(wanted, key): ",".join(names) for key, names in _administrators(wanted).items() if names}
        body = {
            "name": wanted.service,
            "displayName": wanted.service,
            "type": kind,
            "isEnabled": True,
            "configs": {
                **{key: ",".join(accounts) for key, accounts in lists.items()},
                **record,
                **_missing_settings({}, wanted),
            },
        }
        return Step(StepChange.CREATE, "service", wanted.service, _accounts_text(lists), wanted=body)
    if service.get("type") != kind:
        raise InvalidInput(
            f"service `{wanted.service}` is of type `{service.get('type')}`, not `{kind}`; choose another name"
        )
    before: dict[str, str] = service.get("configs") or {}
    lists = {**{key: [] for key in ADMIN_RIGHTS}, **lists}
    changes = [_list_change(before, key, names, wanted) for key, names in lists.items()]
    configs = {**before, **{key: text for change in changes for key, text in change.configs.items()}}
    configs |= (missing := _missing_settings(before, wanted))
    configs = {key: text for key, text in configs.items() if text or key in before}
    is_enabled = service.get("isEnabled", True)
    if configs == before:
        if not is_enabled:
            return Step(StepChange.BLOCKED, "service", wanted.service, _ENABLE, there=service)
        return Step(StepChange.KEEP, "service", wanted.service, "the accounts have their rights", there=service)
    parts = [
        *(part for change in changes for part in change.parts),
        *(f"{key} = {text}" for key, text in missing.items()),
    ]
    detail = "; ".join(parts) or "only the record of what `setup` gave"
    detail = detail if is_enabled else f"{detail}; it is disabled: {_ENABLE}"
    body = {**service, "configs": configs}
    return Step(StepChange.UPDATE, "service", wanted.service, detail, wanted=body, there=service)


def _missing_settings(configs: Mapping[str, str], wanted: DesiredState) -> dict[str, str]:
    """Return what the service does not set: the default audit filters, and the instance whose names look-up offers."""
    defaults = {row["name"]: row.get("defaultValue", "") for row in servicedef.service_definition()["configs"]}
    settings = {servicedef.AUDIT_FILTERS: defaults[servicedef.AUDIT_FILTERS]}
    settings |= {_INSTANCE: wanted.instance} if wanted.lookup else {}
    return {key: text for key, text in settings.items() if not configs.get(key)}


@dataclass(frozen=True, slots=True)
class _ListChange:
    """The settings of the service that a list of accounts changes, and the change as text."""

    configs: Mapping[str, str]
    parts: Sequence[str]


def _list_change(configs: Mapping[str, str], key: str, names: Sequence[str], wanted: DesiredState) -> _ListChange:
    """Add the names to a list of the service, and remove the recorded administrators who are no longer in the settings.

    Several instances may share a service: each has its record, and removes no one whom another one recorded.
    """
    listed = configs.get(key, "").split(",")
    present = list(filter(None, map(str.strip, listed)))
    own = _record_key(wanted, key)
    records = {
        name: list(filter(None, text.split(",")))
        for name, text in configs.items()
        if name.startswith(_RECORD) and name.endswith(f".{key}")
    }
    recorded, elsewhere = records.get(own, []), {n for name, some in records.items() if name != own for n in some}
    # Ranger splits at commas and compares with the blanks: ` ann` is not the user `ann`.
    new = [name for name in names if name not in listed]
    gone = [name for name in recorded if name in present and name not in names and name not in elsewhere]
    ours = {*recorded, *elsewhere}
    record = [name for name in _administrators(wanted).get(key, ()) if name not in present or name in ours]
    changed, parts = dict[str, str](), list[str]()
    if new or gone:
        changed[key] = ",".join(name for name in dict.fromkeys((*present, *new)) if name not in gone)
    if set(record) != set(recorded):
        changed[own] = ",".join(record)
    if new:
        parts.append(_accounts_text({key: new}))
    if gone:
        parts.append(f"remove {', '.join(gone)} from {key}")
    return _ListChange(changed, parts)


def _administrators(wanted: DesiredState) -> dict[str, tuple[str, ...]]:
    """Return the administrators of the settings by the list of the service they belong to."""
    return dict(zip(ADMIN_RIGHTS, (wanted.admin_users, wanted.admin_groups), strict=True))


def _record_key(wanted: DesiredState, key: str) -> str:
    return f"{_RECORD}{wanted.instance}.{key}"


def _account_lists(wanted: DesiredState) -> dict[str, list[str]]:
    users, groups = ADMIN_RIGHTS
    rights = (
        (wanted.plugin_account, PLUGIN_RIGHTS),
        (wanted.sync_account, SYNC_RIGHTS),
        *((user, (users,)) for user in wanted.admin_users),
        *((group, (groups,)) for group in wanted.admin_groups),
    )
    lists = grouped((key, account) for account, keys in rights for key in keys if account)
    return {key: list(dict.fromkeys(names)) for key, names in lists.items()}


def _accounts_text(lists: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{key} = {', '.join(names)}" for key, names in lists.items()) or "no accounts"
