"""Checks before Spark is started, which takes seconds; each command runs those it needs."""

from __future__ import annotations

from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError
from spark_sync.grants.push import plan_settings, ranger_admin
from spark_sync.ledger.lease import check_directory, check_lease
from spark_sync.reconcile.confirmation_round import confirm_clients
from spark_sync.spark.jars import spark_jars
from spark_sync.spark.session import require_spark, submitted


def check_spark(settings: Settings) -> None:
    """PySpark is installed, and the configured jars are there.

    Raises:
        SparkMissing: they are not.
    """
    require_spark()
    if not submitted():
        spark_jars(settings.sync.jars_dir)


def check_ledger(settings: Settings) -> None:
    """As `check_spark`; besides, the state directory can be used, and nobody holds its lease.

    Raises:
        SparkMissing: PySpark or a configured jar is missing.
        LeaseHeld: a run is going on.
        SyncError: the state directory cannot be used.
    """
    check_spark(settings)
    check_lease(settings.sync.state_dir)


def check_reading(settings: Settings) -> None:
    """As `check_spark`; besides, the state directory can be read, whoever holds its lease.

    Raises:
        SparkMissing: PySpark or a configured jar is missing.
        SyncError: the state directory cannot be used.
    """
    check_spark(settings)
    check_directory(settings.sync.state_dir)


def check_ranger(settings: Settings) -> None:
    """The settings say how to sign in to Ranger Admin; it is not asked.

    Raises:
        ConfigError: they do not, or the address or a file of certificates cannot be used.
    """
    if settings.ranger.auth == "basic" and not settings.sync.username:
        raise ConfigError("`sync.username` is not set: it is the account by which grants are written into Ranger")
    ranger_admin(settings).close()


def check_confirm(settings: Settings) -> None:
    """The settings say how to ask CDAP what exists, if it is to be asked; it is not asked.

    Raises:
        ConfigError: an address, the token or a file of certificates of `sync.confirm` cannot be used.
    """
    if settings.sync.confirm.url:
        with confirm_clients(settings):
            pass


def check_run(settings: Settings, *, dry: bool = False) -> None:
    """As `check_ledger`; besides, the sources can be read and grants be made; a dry run needs no Ranger Admin.

    Raises:
        ConfigError: a source, or what grants are made of, is not usable.
        SyncError: as `check_ledger`.
    """
    check_spark(settings)
    from spark_sync.sources.registry import configured_sources

    configured_sources(settings)
    plan_settings(settings)
    if not dry:
        check_ranger(settings)
        check_confirm(settings)
    check_lease(settings.sync.state_dir)
