"""Asks Airflow, in the environment that has it, and prints its answer as JSON: run as `drive.py WHAT ...`."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowException

EXAMPLE = Path(__file__).parents[2] / "examples" / "airflow"


def bag() -> DagBag:
    """The DAGs of the example, as Airflow reads them."""
    return DagBag(dag_folder=str(EXAMPLE), bundle_path=EXAMPLE, bundle_name="dags-folder")


def dags() -> Any:
    """What Airflow could not import, and the tasks of each DAG."""
    read = bag()
    found = {
        name: {
            task.task_id: {"after": sorted(task.upstream_task_ids), "retries": task.retries, "user": task.run_as_user}
            | {"arguments": task.arguments, "limited": task.execution_timeout is not None}
            for task in dag.tasks
        }
        for name, dag in read.dags.items()
    }
    return {"errors": read.import_errors, "dags": found}


def run(name: str) -> Any:
    """The state of each task after one run of a DAG."""
    ended = bag().dags[name].test()
    return {one.task_id: str(one.state) for one in ended.get_task_instances()}


def raised(program: str, *codes: str) -> Any:
    """What the operator raises for each exit code of a program that ends with its first argument."""
    from ranger_cdap_operator import RangerCdapOperator

    found = {}
    for code in codes:
        task = RangerCdapOperator(task_id=f"code{code}", program=program, arguments=[code], environment={})
        try:
            task.execute({})
            found[code] = ["done", ""]
        except AirflowException as e:
            found[code] = [type(e).__name__, str(e)]
    return found


def killed(program: str, mark: str) -> Any:
    """What is raised when Airflow ends a task whose command has begun, and written the mark."""
    from ranger_cdap_operator import RangerCdapOperator

    task = RangerCdapOperator(
        task_id="killed", program=program, arguments=[mark], environment={"PATH": "/usr/bin:/bin"}
    )

    def kill() -> None:
        while not Path(mark).exists():
            time.sleep(0.01)
        task.on_kill()

    killer = Thread(target=kill)
    killer.start()
    try:
        task.execute({})
    except AirflowException as e:
        return [type(e).__name__, str(e)]
    finally:
        killer.join()
    return ["done", ""]


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    answer = {"dags": dags, "run": run, "raised": raised, "killed": killed}[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]
    print(f"\n{json.dumps(answer)}")  # noqa: T201
