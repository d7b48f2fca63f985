"""The policies a review decides by: those a plugin would decide by now, loaded as every plugin loads them."""

from __future__ import annotations

from dataclasses import dataclass

from ranger_cdap.authz.groups import GroupHook
from ranger_cdap.config import Settings
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import AdminUnreachable, NotReady
from ranger_cdap.plugins.manager import condition_makers, plugin_manager
from ranger_cdap.policies.client.downloader import Downloader
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.policy_refresher import Downloads, PolicyRefresher, Snapshot


@dataclass(frozen=True, slots=True)
class InForce:
    """What decides now, with its documents, and what installed plugins add: conditions by class, groups of users."""

    snapshot: Snapshot
    documents: Documents
    conditions: frozenset[str]
    groups: GroupHook | None


class NobodyAsked:
    """Stands for a Ranger Admin that is not to be asked, so that the cache alone counts, as long as it may."""

    def download_policies(
        self, service: str, *, last_known_version: int, by: Downloader, deltas: bool = False
    ) -> bytes | None:
        """Nothing."""
        raise _not_asked()

    def download_roles(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Nothing."""
        raise _not_asked()

    def download_tags(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Nothing."""
        raise _not_asked()

    def download_user_store(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Nothing."""
        raise _not_asked()

    def close(self) -> None:
        """Nothing is open."""


def load_policies(settings: Settings, *, from_cache: bool) -> InForce:
    """The current policies: downloaded, or with Ranger Admin unavailable (or `from_cache`) those of the plugin's cache.

    Raises:
        NotReady: there are none that may decide.
        PluginError: an installed plugin is not usable.
    """
    plugins = plugin_manager()
    makers = condition_makers(plugins)
    admin: Downloads = (
        NobodyAsked()
        if from_cache
        else RangerAdmin.connect(settings.ranger, settings.plugin.username, settings.plugin.password)
    )
    with PolicyRefresher(admin, settings, options=EngineOptions(conditions=makers)) as refresher:
        snapshot = refresher.refresh()
    if snapshot.documents is None:
        raise NotReady(snapshot.reason)
    groups = plugins.hook.ranger_cdap_groups
    return InForce(snapshot, snapshot.documents, frozenset(makers), groups if groups.get_hookimpls() else None)


def _not_asked() -> AdminUnreachable:
    return AdminUnreachable("Ranger Admin was not to be asked")
