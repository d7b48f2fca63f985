"""Proofs of an account's rights in the service, by requests to Ranger Admin that change nothing.

Ranger shows the lists of a service to Ranger administrators only, so each right is proven by its use (ranger-rest.md
§7, §8.1, §9.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from ranger_cdap.authz.policy_index import readable
from ranger_cdap.errors import AccessForbidden, PolicySetError, RangerAdminError, ServiceDisabled, ServiceNotFound
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.download import ServicePolicies

POLICY_DOWNLOAD: Final = "policy.download.auth.users"
TAG_DOWNLOAD: Final = "tag.download.auth.users"
USER_STORE_DOWNLOAD: Final = "userstore.download.auth.users"
SERVICE_ADMIN: Final = "service.admin.users"
GRANT: Final = "policy.grantrevoke.auth.users"

# Ranger's texts for a revoke that names an owner: the caller is outside the list; or inside, without other rights.
_NOT_TRUSTED: Final = "contains grantor or userOwner specification"
_TRUSTED: Final = "necessary permission to revoke access"

INCLUDED: Final = f"included in `{SERVICE_ADMIN}`, so the list itself cannot be seen"

Proof = bool | str
"""True: the account has the right; False: it does not; a sentence: neither is proven, for that reason."""


@dataclass(frozen=True, slots=True)
class ProvenRights:
    """The proof of each right, and the policies if the account could download them; `problem`: they are unreadable."""

    proofs: Mapping[str, Proof]
    policies: ServicePolicies | None
    problem: str


def prove(
    admin: RangerAdmin, account: str, service: str, by: Downloader, known: ServicePolicies | None
) -> ProvenRights:
    """Prove the rights of the account that `admin` signs in with; `known` are policies that another one downloaded.

    Raises:
        ServiceNotFound: Ranger Admin has no such service.
        ServiceDisabled: it is disabled.
    """
    # Policies are no proof: an account that may forward grants may download them as well, but not roles.
    roles = _permitted(lambda: admin.download_roles(service, last_known_version=-1, by=by))
    policies, problem = _policies(admin, service, by) if roles is True else (None, "")
    standing = _standing(admin, account, service)
    proofs: dict[str, Proof] = {
        POLICY_DOWNLOAD: roles,
        TAG_DOWNLOAD: _permitted(lambda: admin.download_tags(service, last_known_version=-1, by=by)),
        USER_STORE_DOWNLOAD: _permitted(lambda: admin.download_user_store(service, last_known_version=-1, by=by)),
        SERVICE_ADMIN: _administers(admin, service, standing, policies or known),
        GRANT: _forwards(standing),
    }
    return ProvenRights(proofs, policies, problem)


def _permitted(request: Callable[[], Any]) -> Proof:
    try:
        request()
    except AccessForbidden:
        return False
    except (ServiceNotFound, ServiceDisabled):
        raise
    except RangerAdminError as e:
        return str(e)
    return True


def _policies(admin: RangerAdmin, service: str, by: Downloader) -> tuple[ServicePolicies | None, str]:
    try:
        download = admin.download_policies(service, last_known_version=-1, by=by)
        return (decode_service_policies(download), "") if download else (None, "")
    except (PolicySetError, RangerAdminError) as e:
        return None, str(e)


class _Standing(Enum):
    """The position of an account in a service, as far as a revoke of nothing shows it."""

    NONE = "neither forwards grants nor administers the service"
    FORWARDS = "may forward grants, and does not administer the service"
    ADMINISTERS = "administers the service, or may delegate everything"


def _standing(admin: RangerAdmin, account: str, service: str) -> _Standing | str:
    if not account:
        return "no user name is set"
    try:
        admin.revoke_nothing(service, account)
    except AccessForbidden as e:
        if _NOT_TRUSTED in e.ranger_message:
            return _Standing.NONE
        return _Standing.FORWARDS if _TRUSTED in e.ranger_message else str(e)
    except RangerAdminError as e:
        return str(e)
    return _Standing.ADMINISTERS


def _forwards(standing: _Standing | str) -> Proof:
    if standing is _Standing.ADMINISTERS:
        return INCLUDED
    return standing if isinstance(standing, str) else standing is _Standing.FORWARDS


def _administers(
    admin: RangerAdmin, service: str, standing: _Standing | str, downloaded: ServicePolicies | None
) -> Proof:
    """Prove it by the list of policies: administrators of the service see all, others those they may delegate."""
    if standing in (_Standing.NONE, _Standing.FORWARDS):
        return False
    try:
        listed = {policy.id for policy in admin.list_policies(service)}
    except RangerAdminError as e:
        return str(e)
    needed = {policy.id for policy in readable(downloaded.policies or ())} if downloaded else set()
    if needed - listed:
        hidden = "it sees only some of the policies" if listed else "it sees none of the policies"
        return False if isinstance(standing, str) else f"Ranger's answers contradict each other: {hidden}"
    if isinstance(standing, str) and not (needed and listed):
        return "no policy is known that would show it"
    return True
