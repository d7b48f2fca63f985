"""Policies of a review: those currently in effect for a plugin, loaded as every plugin loads them."""

from __future__ import annotations

from dataclasses import dataclass

from ranger_cdap.authz.groups import GroupHook
from ranger_cdap.config import Settings
from ranger_cdap.errors import NotReady
from ranger_cdap.plugins.manager import condition_factories, engine_options, plugin_manager
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.sign_in import AccountSource
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.policy_refresher import PolicyRefresher, Snapshot


@dataclass(frozen=True, slots=True)
class EffectivePolicies:
    """The policies in effect, with their documents and the additions of plugins: condition classes, groups of users."""

    snapshot: Snapshot
    documents: Documents
    conditions: frozenset[str]
    groups: GroupHook | None


def load_policies(settings: Settings) -> EffectivePolicies:
    """Load the current policies: downloaded or, if Ranger Admin is unavailable, cached ones.

    Raises:
        NotReady: there are no valid ones.
        PluginError: an installed plugin is not usable.
    """
    plugins = plugin_manager(settings)
    makers = condition_factories(plugins)
    admin = RangerAdmin.connect(
        settings, settings.plugin.username, settings.plugin.password, source=AccountSource.PLUGIN
    )
    with PolicyRefresher(admin, settings, options=engine_options(settings, plugins)) as refresher:
        snapshot = refresher.refresh()
    if snapshot.documents is None:
        raise NotReady(snapshot.reason)
    groups = plugins.hook.ranger_cdap_groups
    return EffectivePolicies(
        snapshot, snapshot.documents, frozenset(makers), groups if groups.get_hookimpls() else None
    )
