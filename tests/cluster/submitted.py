"""The command `ranger-cdap` as a file for `spark-submit`; it is killed at a step.

Its lease lasts seconds, and it reads, folds and reviews by Spark however little there is.

`submitted.py STEP ARGUMENT ...`, with `-` for no step. A later attempt of YARN is not killed.
"""

import os
import re
import signal
import sys

import pytest

from ranger_cdap.__main__ import run
from spark_sync.ledger import store_lease
from spark_sync.spark.on_demand import Few
from tests.cluster.spark_clusters import LEASE
from tests.spark_sync.killing import ALL, kill_at, kill_ourselves


def is_retried() -> bool:
    """Whether YARN has started it before."""
    container = re.search(r"_(\d+)_\d+$", os.environ.get("CONTAINER_ID", ""))
    return container is not None and int(container[1]) > 1


def kill_both() -> None:
    """Spark's driver, whose child this is, first."""
    os.kill(os.getppid(), signal.SIGKILL)
    kill_ourselves()


def main(step: str, *arguments: str) -> None:
    patch = pytest.MonkeyPatch()
    for name, value in LEASE.items():
        patch.setattr(store_lease, name, value)
    patch.setattr("spark_sync.grants.push.AT_A_TIME", 1)
    patch.setattr("spark_sync.spark.on_demand.ON_A_CLUSTER", Few(bytes=0, events=0))
    patch.setattr("spark_sync.cli.review.FEW_ANSWERS", 0)
    if step != "-" and not is_retried():
        kill_at(ALL[step], kill_both, patch)
    sys.argv[1:] = arguments
    run()


if __name__ == "__main__":
    main(*sys.argv[1:])
