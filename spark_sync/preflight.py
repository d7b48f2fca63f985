"""Checks before anything slow or lasting; each command runs those it needs, and imports no more than those."""

from __future__ import annotations

from ranger_cdap.config import Settings
from spark_sync.ledger.lease import check_directory, lease
from spark_sync.spark.session import require_spark


def check_ledger(settings: Settings) -> None:
    """Check that the packages of the sync job are installed, the state directory is usable and its lease free.

    Raises:
        SparkMissing: a package is missing.
        LeaseHeld: a run is going on.
        SyncError: the state directory cannot be used.
    """
    require_spark()
    with lease(settings.sync.state_dir):
        pass


def check_reading(settings: Settings) -> None:
    """Check that the packages of the sync job are installed and the state directory can be read, even during a run.

    Raises:
        SparkMissing: a package is missing.
        SyncError: the state directory cannot be used.
    """
    require_spark()
    check_directory(settings.sync.state_dir)


def check_run(settings: Settings, *, dry: bool = False) -> None:
    """As `check_ledger`; also check the settings of sources and grants.

    A dry run needs no Ranger Admin.

    Raises:
        SparkMissing, LeaseHeld, SyncError: as `check_ledger`.
        ConfigError: the settings of a source or of grants cannot be used.
    """
    require_spark()
    from spark_sync.grants.plan_settings import plan_settings
    from spark_sync.grants.policy_rest import policy_rest
    from spark_sync.notify import check_notify
    from spark_sync.reconcile.confirmation_round import confirm_clients
    from spark_sync.sources.registry import configured_sources

    configured_sources(settings.sync)
    plan_settings(settings)
    if not dry:
        with policy_rest(settings):
            check_notify(settings)
        if settings.sync.confirm.url:
            with confirm_clients(settings):
                pass
    check_ledger(settings)
