"""Policies of a review: those currently in effect for a plugin, loaded as every plugin loads them."""

from __future__ import annotations

from dataclasses import dataclass

from ranger_cdap.authz.groups import GroupHook
from ranger_cdap.config import Settings
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import AdminUnreachable, NotReady
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.policies.client.downloader import Downloader
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.sign_in import AccountSource
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.policy_refresher import PolicyRefresher, Snapshot
from ranger_cdap.policies.refresh.policy_set_download import Downloads


@dataclass(frozen=True, slots=True)
class EffectivePolicies:
    """The policies in effect, with their documents and the additions of plugins: condition classes, groups of users."""

    snapshot: Snapshot
    documents: Documents
    conditions: frozenset[str]
    groups: GroupHook | None


class UnusedRangerAdmin:
    """Placeholder for Ranger Admin that makes the refresher use its cache, as long as that is valid."""

    def download_policies(
        self, service: str, *, last_known_version: int, by: Downloader, deltas: bool = False
    ) -> bytes | None:
        """Fail: Ranger Admin must not be used."""
        raise _not_asked()

    def download_roles(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Fail: Ranger Admin must not be used."""
        raise _not_asked()

    def download_tags(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Fail: Ranger Admin must not be used."""
        raise _not_asked()

    def download_user_store(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Fail: Ranger Admin must not be used."""
        raise _not_asked()

    def close(self) -> None:
        """Do nothing: no connection is open."""


def load_policies(settings: Settings, *, from_cache: bool) -> EffectivePolicies:
    """Load the current policies: downloaded or, if Ranger Admin is unavailable (or `from_cache`), cached ones.

    Raises:
        NotReady: there are no valid ones.
        PluginError: an installed plugin is not usable.
    """
    plugins = plugin_manager(settings)
    makers = condition_factories(plugins)
    admin: Downloads = (
        UnusedRangerAdmin()
        if from_cache
        else RangerAdmin.connect(
            settings, settings.plugin.username, settings.plugin.password, source=AccountSource.PLUGIN
        )
    )
    with PolicyRefresher(admin, settings, options=EngineOptions(conditions=makers)) as refresher:
        snapshot = refresher.refresh()
    if snapshot.documents is None:
        raise NotReady(snapshot.reason)
    groups = plugins.hook.ranger_cdap_groups
    return EffectivePolicies(
        snapshot, snapshot.documents, frozenset(makers), groups if groups.get_hookimpls() else None
    )


def _not_asked() -> AdminUnreachable:
    return AdminUnreachable("Ranger Admin is not used: `--from-cache`")
