"""Checks of the accounts: each can sign in, and has exactly the rights that its purpose needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

import servicedef
from ranger_cdap.authz.policy_index import readable, resource_policies
from ranger_cdap.config import MasterSettings, Secret, Settings
from ranger_cdap.doctor.administrators import examine_administrators
from ranger_cdap.doctor.finding import SETUP, Finding, failed, note, skipped, well
from ranger_cdap.doctor.lookup import examine_lookup
from ranger_cdap.doctor.names import examine_names
from ranger_cdap.doctor.rights import GRANT, INCLUDED, SERVICE_ADMIN, Proof, prove
from ranger_cdap.errors import (
    AuthenticationFailed,
    RangerAdminError,
    ServiceDisabled,
    ServiceNotFound,
)
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger.client.features import RESOURCES, missing_features
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.cache import command_downloader
from ranger_cdap.ranger.setup.service_setup import PLUGIN_RIGHTS, SYNC_RIGHTS, plan
from ranger_cdap.ranger.setup.setup_state import CurrentState, DesiredState
from ranger_cdap.ranger_model.download import ServicePolicies
from ranger_cdap.ranger_model.policy import policy_text

_OLDER: Final = "use a newer Ranger, or do without; docs/reference/compatibility.md has what each release lacks"
# Remedies for a refused sign-in, by authentication method; `{0}` is the beginning of the names of the settings.
_SIGN_IN: Final[Mapping[str, str]] = {
    "basic": "correct `{0}username` or `{0}password`; five failures within 300 s lock the account",
    "bearer": "set `{0}password` to a valid token",
    "kerberos": "get a ticket of the account with kinit",
    "certificate": "register the certificate of `ranger.cert_file` in Ranger Admin",
}
_BY_PASSWORD: Final = ("basic", "bearer")
_BRIDGE_RIGHTS: Final = {"refuse": (), "bridge": (GRANT,), "bridge-with-roles": (SERVICE_ADMIN,)}


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the settings, the lists of the service that must contain it, and the beginning of its settings."""

    purpose: str
    username: str
    password: Secret
    rights: tuple[str, ...]
    setting: str

    def __str__(self) -> str:
        return f"{self.purpose} account `{self.username}`" if self.username else f"{self.purpose} account"


def accounts(settings: Settings) -> tuple[Account, ...]:
    """Return the accounts in use; those of the sync job and of the bridge only if they are configured."""
    service = settings.service
    plugin = Account("plugin", settings.plugin.username, settings.plugin.password, PLUGIN_RIGHTS, "plugin.")
    sync = Account("sync", settings.sync.username, settings.sync.password, SYNC_RIGHTS, "sync.")
    bridge = Account(
        "bridge", service.bridge_username, service.bridge_password, _BRIDGE_RIGHTS[service.grants], "service.bridge_"
    )
    has_sync, has_bridge = bool(sync.username or settings.sync.sources), service.grants != "refuse"
    return (plugin, *[sync] * has_sync, *[bridge] * has_bridge)


def examine_account(
    account: Account, settings: Settings, known: ServicePolicies | None = None
) -> tuple[list[Finding], ServicePolicies | None]:
    """Run the checks of one account, and return the policies as well if it could download them.

    A rejected password is not tried again. `known` are policies that another account downloaded.
    """
    check = f"sign-in of {account}"
    if not account.username and settings.ranger.auth == "basic":
        advice = f"set `{account.setting}username` and `{account.setting}password`"
        return [failed(check, "no user name is set", advice)], None
    if settings.ranger.auth in _BY_PASSWORD and (problem := account.password.problem):
        who = "sync job" if account.purpose == "sync" else "decision service"
        return [note(check, f"not tried: {problem}", f"run this as the user of the {who} as well")], None
    once = msgspec.structs.replace(settings, ranger=msgspec.structs.replace(settings.ranger, attempts=1))
    with RangerAdmin.connect(once, account.username, account.password) as admin:
        try:
            definition = admin.get_service_def(servicedef.service_definition()["name"])
        except AuthenticationFailed:
            advice = _SIGN_IN[settings.ranger.auth].format(account.setting)
            return [failed(check, "Ranger Admin rejects the credentials", advice)], None
        except RangerAdminError as e:
            return [failed(check, str(e), "see the checks of the addresses")], None
        findings = [well(check, "accepted")]
        if account.purpose == "plugin":
            findings.append(_definition(definition, settings))
            for one in missing_features(definition) if definition else ():
                found = failed if one is RESOURCES and settings.sync.username else note
                findings.append(found(f"Ranger Admin: {one.name}", str(one), _OLDER))
        rights, policies = _rights(account, admin, settings, known)
        findings.extend(rights)
        if account.purpose == "plugin" and definition and not any(finding.check == "service" for finding in rights):
            findings.extend(examine_lookup(definition, admin, settings))
        return findings, policies


def _definition(definition: dict[str, Any] | None, settings: Settings) -> Finding:
    step = plan(DesiredState.of(settings), CurrentState(definition, None, ()))[0]
    return (
        well("service definition", "registered and complete")
        if step.change is StepChange.KEEP
        else failed("service definition", "not registered" if not definition else step.detail, SETUP)
    )


def _rights(
    account: Account, admin: RangerAdmin, settings: Settings, known: ServicePolicies | None
) -> tuple[list[Finding], ServicePolicies | None]:
    service = settings.ranger.service
    by = command_downloader(settings)
    try:
        proven = prove(admin, account.username, service, by, known)
    except ServiceNotFound:
        return [failed("service", f"Ranger Admin has no service `{service}`", SETUP)], None
    except ServiceDisabled:
        return [failed("service", f"`{service}` is disabled", "enable it in Ranger Admin")], None
    findings = [_right(account, service, right, proof) for right, proof in proven.proofs.items()]
    if account.purpose == "sync":
        findings.append(_in_zones(account, admin, service))
    if proven.policies is not None and account.purpose == "plugin":
        findings.extend(examine_names(settings, proven.policies, admin, by))
    if proven.problem:
        findings.append(failed("policies", f"they cannot be read: {proven.problem}", "check them in Ranger Admin"))
    return findings, proven.policies


def _right(account: Account, service: str, right: str, proof: Proof) -> Finding:
    check, wanted = f"right of {account}: {right}", right in account.rights
    if isinstance(proof, str):
        return well(check, proof) if proof == INCLUDED and SERVICE_ADMIN in account.rights else skipped(check, proof)
    if proof:
        advice = f"remove it from `{right}` of service `{service}`, or make it an ordinary user of Ranger"
        return well(check, "present") if wanted else failed(check, "present, but must not be", advice)
    how = " in Ranger Admin" if right == GRANT else f": {SETUP}"
    advice = f"add it to `{right}` of service `{service}`{how}"
    return failed(check, "missing", advice) if wanted else well(check, "absent, and not needed")


def _in_zones(account: Account, admin: RangerAdmin, service: str) -> Finding:
    """Prove that the account can read the security zones, and write into each."""
    check, zone = f"right of {account}: security zones", ""
    try:
        zones = sorted(admin.security_zones(service))
        for zone in zones:
            admin.revoke_nothing(service, account.username, zone)
    except RangerAdminError as e:
        seen = f"it cannot write into `{zone}`: {e}" if zone else f"it cannot read them: {e}"
        return failed(check, seen, f"add it to the lists of service `{service}`: {SETUP}")
    return well(check, f"writes into {', '.join(f'`{name}`' for name in zones)}" if zones else "the service is in none")


def examine_service(settings: Settings, policies: ServicePolicies | None) -> Iterator[Finding]:
    """Check the type of the service, its administrators, and that no account is in policies where it must not be."""
    name = settings.ranger.service
    if policies is None:
        yield skipped("service", f"no account could download the policies of `{name}`")
        return
    kind, ours = policies.service_def.name if policies.service_def else "", servicedef.service_definition()
    yield (
        well("service", f"`{name}` is of type `{kind}`, its policies have version {policies.policy_version}")
        if kind == ours["name"]
        else failed("service", f"`{name}` is of type `{kind}`, not `{ours['name']}`", "correct `ranger.service`")
    )
    yield _audit_of_denials(policies)
    yield from (_purpose(account, settings.master, policies) for account in accounts(settings) if account.username)
    yield from examine_administrators(settings, policies, readable(policies.policies or ()))


def _audit_of_denials(policies: ServicePolicies) -> Finding:
    check, filters = "audit of denials", policies.service_config.get(servicedef.AUDIT_FILTERS, "")
    return (
        well(check, "by the service's audit filters" if filters else "everything is audited")
        if filters or policies.audit_mode == "audit-all"
        else note(
            check, "a denial that no policy decides leaves no audit record: the service has no audit filters", SETUP
        )
    )


def _purpose(account: Account, master: MasterSettings, policies: ServicePolicies) -> Finding:
    check = f"policies of {account}"
    if account.username == master.name:
        return note(check, "also CDAP's master user", "use one account per purpose")
    giving = [p for p in resource_policies(policies) if any(account.username in item.users for item in p.policy_items)]
    if not giving:
        return well(check, "none grants it access")
    named = ", ".join(policy_text(policy.id, zone=policy.zone_name) for policy in giving[:10])
    return failed(check, f"granted access by {named}", "remove it from these policies: it needs none")
