"""Whether each account can sign in, and has the rights of its purpose: enough, and not more.

What an account may do is asked of Ranger Admin by doing it; everything asked for only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec

import servicedef
from ranger_cdap.config import Secret, Settings
from ranger_cdap.doctor.finding import Finding, failed, note, skipped, well
from ranger_cdap.engine.model.wire import Policy, ServicePolicies, decode_policy, decode_service_policies
from ranger_cdap.errors import (
    AccessForbidden,
    AuthenticationFailed,
    PolicySetError,
    RangerAdminError,
    ServiceDisabled,
    ServiceNotFound,
)
from ranger_cdap.policies.client.downloader import Downloader
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.service_setup import PLUGIN_RIGHTS, SYNC_RIGHTS, Change, Found, Wanted, plan

_SETUP: Final = "run `ranger-cdap setup`"
# What to do where a sign-in is refused, by the way of signing in; `{}` stands for the purpose of the account.
_SIGN_IN: Final[Mapping[str, str]] = {
    "basic": "correct `{0}.username` or `{0}.password`; five failures within 300 s lock the account",
    "bearer": "put a valid token into `{0}.password`",
    "kerberos": "get a ticket of the account with kinit",
    "certificate": "make the certificate of `ranger.cert_file` known to Ranger Admin",
}
_BY_PASSWORD: Final = ("basic", "bearer")
_GRANT_RIGHT: Final = "policy.grantrevoke.auth.users"


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the settings, and the lists of the service it belongs into."""

    purpose: str
    username: str
    password: Secret
    rights: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.purpose} account `{self.username}`" if self.username else f"{self.purpose} account"


@dataclass(frozen=True, slots=True)
class Seen:
    """The parts of the service that the accounts could see: its policies, and its settings."""

    policies: ServicePolicies | None = None
    service: Mapping[str, Any] | None = None


def accounts(settings: Settings) -> tuple[Account, ...]:
    """The accounts in use; that of the sync job only where it is configured."""
    plugin = Account("plugin", settings.plugin.username, settings.plugin.password, PLUGIN_RIGHTS)
    sync = Account("sync", settings.sync.username, settings.sync.password, SYNC_RIGHTS)
    return (plugin, sync) if sync.username or settings.sync.sources else (plugin,)


def examine_account(account: Account, settings: Settings) -> tuple[list[Finding], Seen]:
    """The checks of one account; a password that is not accepted is not tried again."""
    check = f"sign-in of {account}"
    if not account.username and settings.ranger.auth == "basic":
        return [failed(check, "there is no user name", f"set `{account.purpose}.username` and `.password`")], Seen()
    if settings.ranger.auth in _BY_PASSWORD and (problem := account.password.problem):
        who = "sync job" if account.purpose == "sync" else "decision service"
        return [note(check, f"not tried: {problem}", f"run this as the user of the {who} too, who needs it")], Seen()
    once = msgspec.structs.replace(settings.ranger, attempts=1)
    with RangerAdmin.connect(once, account.username, account.password) as admin:
        try:
            definition = admin.get_service_def(servicedef.service_definition()["name"])
        except AuthenticationFailed:
            advice = _SIGN_IN[settings.ranger.auth].format(account.purpose)
            return [failed(check, "Ranger Admin does not accept it", advice)], Seen()
        except RangerAdminError as e:
            return [failed(check, str(e), "see the checks of the addresses")], Seen()
        findings = [well(check, "accepted")]
        if account.purpose == "plugin":
            findings.append(_definition(definition, settings))
        rights, seen_here = _rights(account, admin, settings.ranger.service)
        return [*findings, *rights], seen_here


def _definition(definition: dict[str, Any] | None, settings: Settings) -> Finding:
    wanted = Wanted(settings.ranger.service, settings.cdap.instance)
    step = plan(wanted, Found(definition, None, ()))[0]
    if step.change is Change.KEEP:
        return well("service definition", "registered, and nothing is missing")
    return failed("service definition", "it is not registered" if not definition else step.detail, _SETUP)


def _policies(admin: RangerAdmin, service: str, by: Downloader) -> bytes | None:
    admin.download_roles(service, last_known_version=-1, by=by)
    return admin.download_policies(service, last_known_version=-1, by=by)


# What each right lets an account do; an account that can do it and is in no such list is a Ranger administrator.
_PROOFS: Final[Mapping[str, Callable[[RangerAdmin, str, Downloader], Any]]] = {
    "policy.download.auth.users": _policies,
    "tag.download.auth.users": lambda a, s, by: a.download_tags(s, last_known_version=-1, by=by),
    "userstore.download.auth.users": lambda a, s, by: a.download_user_store(s, last_known_version=-1, by=by),
    "service.admin.users": lambda a, s, _: a.get_service(s),
}


def _rights(account: Account, admin: RangerAdmin, service: str) -> tuple[list[Finding], Seen]:
    findings, answers = [], {}
    for right, proof in _PROOFS.items():
        check, wanted = f"right of {account}: {right}", right in account.rights
        try:
            answers[right] = proof(admin, service, Downloader.here("doctor", service))
        except AccessForbidden:
            advice = f"add it to `{right}` of service `{service}`: {_SETUP}"
            findings.append(
                failed(check, "it lacks it", advice) if wanted else well(check, "it has not, and needs not")
            )
        except ServiceNotFound:
            return [*findings, failed("service", f"Ranger Admin has no service `{service}`", _SETUP)], Seen()
        except ServiceDisabled:
            return [*findings, failed("service", f"`{service}` is disabled", "enable it in Ranger Admin")], Seen()
        except RangerAdminError as e:
            findings.append(skipped(check, str(e)))
        else:
            advice = f"take it out of `{right}` of service `{service}`, or make it an ordinary user of Ranger"
            findings.append(well(check, "it has it") if wanted else failed(check, "it has it and must not", advice))
    policies, problem = _decoded(answers.get("policy.download.auth.users"))
    found = answers.get("service.admin.users")
    return [*findings, *problem], Seen(policies, found if isinstance(found, dict) else None)


def _decoded(download: bytes | None) -> tuple[ServicePolicies | None, list[Finding]]:
    try:
        return (decode_service_policies(download), []) if download else (None, [])
    except PolicySetError as e:
        return None, [failed("policies", f"they cannot be read: {e}", "look at the service in Ranger Admin")]


def examine_service(settings: Settings, seen: Seen) -> Iterator[Finding]:
    """The type of the service, and the accounts where they do not belong: in policies and in other lists."""
    name = settings.ranger.service
    if seen.policies is None:
        yield skipped("service", f"no account could download the policies of `{name}`")
        return
    kind, ours = seen.policies.serviceDef.name if seen.policies.serviceDef else "", servicedef.service_definition()
    if kind == ours["name"]:
        yield well("service", f"`{name}` is of type `{kind}`, its policies have version {seen.policies.policyVersion}")
    else:
        yield failed("service", f"`{name}` is of type `{kind}`, not `{ours['name']}`", "correct `ranger.service`")
    for account in accounts(settings):
        if account.username:
            yield _purpose(account, settings, seen.policies)
            yield from _other_lists(account, seen.service)


def _purpose(account: Account, settings: Settings, policies: ServicePolicies) -> Finding:
    check = f"policies of {account}"
    if account.username == settings.master.name:
        return note(check, "it is CDAP's master user as well", "use one account for one purpose")
    giving = [p for p in _readable(policies) if any(account.username in item.users for item in p.policyItems)]
    if not giving:
        return well(check, "none gives it anything")
    numbers = ", ".join(str(policy.id) for policy in giving[:10])
    return failed(check, f"it is given access by policy {numbers}", "take it out of them: it needs none")


def _readable(policies: ServicePolicies) -> Iterator[Policy]:
    """Those that can be read; `ranger-cdap policies lint` reports the others."""
    for raw in policies.policies or ():
        with suppress(PolicySetError):
            yield decode_policy(raw)


def _other_lists(account: Account, service: Mapping[str, Any] | None) -> Iterator[Finding]:
    check = f"right of {account}: {_GRANT_RIGHT}"
    if service is None:
        yield skipped(check, "only an administrator of the service can see who is in this list")
        return
    names = {name.strip() for name in str((service.get("configs") or {}).get(_GRANT_RIGHT, "")).split(",")}
    if account.username in names:
        yield failed(check, "it has it and must not", f"take it out of `{_GRANT_RIGHT}` of the service")
    else:
        yield well(check, "it has not, and needs not")
