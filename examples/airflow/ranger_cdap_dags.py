"""The sync run, the daily look for drift and the monthly access review, as three DAGs.

The worker becomes the user of the sync job by `sudo`, as `docs/how-to/run-in-production.md` sets it up; each of the
variables below can be set in the environment of Airflow, or here.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG
from ranger_cdap_operator import RangerCdapOperator

PROGRAM = os.environ.get("RANGER_CDAP_PROGRAM", "/opt/ranger-cdap/bin/ranger-cdap")
USER = os.environ.get("RANGER_CDAP_USER", "ranger-cdap-sync") or None
STATE = os.environ.get("RANGER_CDAP_STATE", "/var/lib/ranger-cdap-sync")
# An account that sees everything in CDAP, and the file of its token.
CDAP = os.environ.get("RANGER_CDAP_ROUTER", "https://cdap.example.com:11015")
TOKEN = os.environ.get("RANGER_CDAP_TOKEN_FILE", f"{STATE}/token")
ENVIRONMENT = {
    "RANGER_CDAP_CONFIG": os.environ.get("RANGER_CDAP_CONFIG", "/etc/ranger-cdap/ranger-cdap.toml"),
    "JAVA_HOME": os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17"),
    "HOME": STATE,
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}
BEGINNING = datetime(2026, 1, 1)
# A try leaves its output behind, and a review writes into a new directory only.
OUT = STATE + "/review/{{ dag_run.run_after.strftime('%Y%m%dT%H%M%S') }}-{{ ti.try_number }}"


def task(name: str, *arguments: str, minutes: int, retries: int) -> RangerCdapOperator:
    """Return a task of the current DAG that runs one command, at most for so long."""
    return RangerCdapOperator(
        task_id=name,
        program=PROGRAM,
        arguments=["--quiet", *arguments],
        environment=ENVIRONMENT,
        run_as_user=USER,
        retries=retries,
        retry_delay=timedelta(minutes=1),
        retry_exponential_backoff=True,
        execution_timeout=timedelta(minutes=minutes),
    )


def inventory(*, programs: bool) -> RangerCdapOperator:
    """Return a task of the current DAG that lists everything in CDAP."""
    more = ["--programs"] if programs else []
    where = f"{STATE}/inventory-{'all' if programs else 'entities'}.jsonl"
    arguments = ["sync", "inventory", "--url", CDAP, "--token-file", TOKEN, "--out", where, *more]
    return task("inventory", *arguments, minutes=60, retries=3)


# The next run sends what this one could not, so few retries do.
with DAG("ranger-cdap-sync", schedule="*/5 * * * *", start_date=BEGINNING, catchup=False, max_active_runs=1):
    task("sync", "sync", "run", minutes=60, retries=1)

# Drift fails the task: a person decides with `sync reconcile --adopt`, `--release` or `--revoke`.
with DAG("ranger-cdap-reconcile", schedule="@daily", start_date=BEGINNING, catchup=False, max_active_runs=1):
    inventory(programs=False) >> task(
        "reconcile", "sync", "reconcile", "--inventory", f"{STATE}/inventory-entities.jsonl", minutes=60, retries=3
    )

with DAG("ranger-cdap-review", schedule="@monthly", start_date=BEGINNING, catchup=False, max_active_runs=1):
    inventory(programs=True) >> task(
        "review", "review", "--inventory", f"{STATE}/inventory-all.jsonl", "--out", OUT, minutes=240, retries=2
    )
