"""The documents by which Ranger Admin's policies decide, downloaded for one command; the cache is not used."""

from __future__ import annotations

from ranger_cdap.config import Settings
from ranger_cdap.errors import NotReady
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.versions import NO_VERSION
from ranger_cdap.policies.refresh.cache import command_downloader
from ranger_cdap.policies.refresh.documents import Documents, needs_tags
from ranger_cdap.policies.refresh.fixed import documents


def ranger_documents(admin: RangerAdmin, settings: Settings, *, with_users: bool = False) -> Documents:
    """Return the policies of the service with its roles, its tags if it has tag policies, and the users if wanted.

    Raises:
        NotReady: Ranger Admin has no policies of the service.
        RangerAdminError: Ranger Admin is unavailable, or the account lacks a right.
    """
    service, by = settings.ranger.service, command_downloader(settings)
    policies = admin.download_policies(service, last_known_version=NO_VERSION, by=by)
    if policies is None:
        raise NotReady(f"Ranger Admin has no policies of service `{service}`")
    roles = admin.download_roles(service, last_known_version=NO_VERSION, by=by)
    tags = admin.download_tags(service, last_known_version=NO_VERSION, by=by) if needs_tags(policies) else None
    users = admin.download_user_store(service, last_known_version=NO_VERSION, by=by) if with_users else None
    return documents(policies, roles, tags, users)
