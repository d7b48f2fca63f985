"""Where Spark runs; of a driver that `spark-submit` started, its settings and the places that it cannot use."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from ranger_cdap.config import Location
from ranger_cdap.errors import ConfigError

LOCAL_MASTER: Final = "local[*]"
"""Spark on this machine."""
_SHARED: Final = re.compile(r"(?!file:)[a-z0-9]+://")
_DEPLOY_MODE: Final = "spark.submit.deployMode"
_IN_POD: Final = "spark.kubernetes.submitInDriver"
"""Kubernetes submits again in the driver's pod, in client mode."""


def is_submitted() -> bool:
    """Return whether `spark-submit` has started the driver, with its own settings and jars."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def driver_settings() -> tuple[dict[str, str], str]:
    """Return the settings the driver was started with, and its command line; its Spark has not started yet."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    jvm: Any = SparkContext._jvm
    return dict(SparkConf().getAll()), jvm.java.lang.System.getProperty("sun.java.command") or ""


def is_in_cluster() -> bool:
    """Return whether the driver was submitted in cluster mode: it runs in a container, which is removed after it."""
    if not is_submitted():
        return False
    settings, _ = driver_settings()
    return "cluster" in settings.get(_DEPLOY_MODE, "") or settings.get(_IN_POD) == "true"


def require_urls(places: Mapping[str, Location | str | None]) -> None:
    """Check, in cluster mode, that each place is in a shared file system: no other outlives the driver's container.

    Args:
        places: by the name of the setting or option; `None` is none.

    Raises:
        ConfigError: one is a path of the machine.
    """
    local = [name for name, place in places.items() if place is not None and not _SHARED.match(str(place))]
    if local and is_in_cluster():
        raise ConfigError(
            f"{', '.join(local)}: a path is not accepted in cluster mode, because the driver's machine is any of the"
            " cluster's and its directory is removed; give an address like `hdfs://namenode:8020/ranger-cdap/sync`"
        )
