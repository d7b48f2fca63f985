"""Checks before anything slow or lasting; each command runs those it needs, and imports no more than those."""

from __future__ import annotations

from typing import Final

from ranger_cdap.config import Settings
from ranger_cdap.store import require_packages
from spark_sync.ledger.lease import check_directory, lease
from spark_sync.spark.submission import require_urls

_STATE: Final = "`sync.state_dir`"


def check_ledger(settings: Settings) -> Settings:
    """Return the settings once the packages of the sync job are there, its state directory is usable, its lease free.

    Raises:
        SyncMissing: a package is missing.
        LeaseHeld: a run is going on.
        SyncError: the state directory cannot be used.
        ConfigError: it would be lost with the driver.
    """
    require_packages()
    require_urls({_STATE: settings.sync.state_dir})
    with lease(settings.sync.state_dir):
        return settings


def check_reading(settings: Settings) -> Settings:
    """Return the settings once the packages of the sync job are there, and its state directory can be read.

    Also during a run.

    Raises:
        SyncMissing: a package is missing.
        SyncError: the state directory cannot be used.
        ConfigError: it would be lost with the driver.
    """
    require_packages()
    require_urls({_STATE: settings.sync.state_dir})
    check_directory(settings.sync.state_dir)
    return settings


def check_run(settings: Settings, *, dry: bool = False) -> None:
    """As `check_ledger`; also check the settings of sources and grants.

    A dry run needs no Ranger Admin.

    Raises:
        SyncMissing, LeaseHeld, SyncError: as `check_ledger`.
        ConfigError: the settings of a source or of grants cannot be used.
    """
    require_packages()
    from spark_sync.grants.plan_settings import plan_settings
    from spark_sync.grants.policy_rest import policy_rest
    from spark_sync.notify import check_notify
    from spark_sync.reconcile.confirmation_round import confirm_clients
    from spark_sync.sources.registry import configured_sources

    require_urls(
        {_STATE: settings.sync.state_dir}
        | {f"`path` of source `{source.name}`": source.path for source in settings.sync.sources}
    )
    configured_sources(settings.sync)
    plan_settings(settings)
    if not dry:
        with policy_rest(settings):
            check_notify(settings)
        if settings.sync.confirm.url:
            with confirm_clients(settings):
                pass
    check_ledger(settings)
