"""The example for Airflow, in an environment that has Airflow: read, run, and each exit code as it is meant."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import Settings
from spark_sync.demo import CREATOR, DemoEnvironment, open_demo
from tests.spark_sync.reconcile.test_inventory_of_cdap import CDAP_6, Cdap, cdap

ROOT = Path(__file__).parents[2]
AIRFLOW = ROOT / ".venv" / "airflow" / "bin"
JAVA = shutil.which("java")
JAVA_HOME = Path(JAVA or "/missing/bin/java").resolve().parents[1]
OURS = Path(sys.executable).parent / "ranger-cdap"

__all__ = ["cdap"]

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.skipif(not AIRFLOW.is_dir(), reason="needs the environment of `make test-airflow`"),
]

Ask = Any
"""A function that asks `drive.py`: its words, and variables of the environment; it returns the answer."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The variables of an Airflow with an empty database."""
    folder = tmp_path_factory.mktemp("airflow")
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "RANGER_CDAP"))},
        "AIRFLOW_HOME": str(folder),
        # Of Airflow's folder of DAGs its own programs import without it.
        "PYTHONPATH": str(ROOT / "examples" / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "examples" / "airflow"),
    }
    subprocess.run([AIRFLOW / "airflow", "db", "migrate"], env=variables, check=True, capture_output=True)
    return variables


@pytest.fixture
def ask(home: Mapping[str, str]) -> Ask:
    def answer(*words: str | Path, **variables: str | Path) -> Any:
        done = subprocess.run(
            [AIRFLOW / "python", ROOT / "tests" / "airflow" / "drive.py", *words],
            env={**home, **{name: str(value) for name, value in variables.items()}},
            capture_output=True,
            text=True,
            check=False,
            # A task that is to be tried again would wait for its next try.
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return answer


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[DemoEnvironment]:
    """A Ranger Admin, and the entities and events of the recording."""
    with open_demo(tmp_path / "demo") as made:
        made.take_baseline()
        made.deliver("1-until-the-deletions")
        yield made


def as_file(settings: Settings, path: Path) -> Path:
    """Write these settings where the program that Airflow starts looks for them."""
    assert settings.sync.password is not None
    password = path.with_name("password")
    password.write_text(settings.sync.password.reveal(), encoding="utf-8")
    password.chmod(0o600)
    quoted = json.dumps
    sources = "".join(
        f"[[sync.sources]]\nname = {quoted(one.name)}\nkind = {quoted(one.kind)}\npath = {quoted(str(one.path))}\n"
        f"callers = {quoted(one.callers)}\n"
        for one in settings.sync.sources
    )
    path.write_text(
        f"""
[ranger]
url = {quoted(settings.ranger.url)}
service = {quoted(settings.ranger.service)}
[cdap]
instance = {quoted(settings.cdap.instance)}
[plugin]
username = {quoted(settings.plugin.username)}
password = {quoted(f"file:{password}")}
cache_dir = {quoted(str(settings.plugin.cache_dir))}
[audit]
file = {quoted(str(settings.audit.file))}
spool_dir = {quoted(str(settings.audit.spool_dir))}
[sync]
username = {quoted(settings.sync.username)}
password = {quoted(f"file:{password}")}
state_dir = {quoted(str(settings.sync.state_dir))}
{sources}""",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def variables(environment: DemoEnvironment, tmp_path: Path, cdap: Cdap) -> Mapping[str, str | Path]:
    cdap.holds(CDAP_6)
    state = tmp_path / "state"
    state.mkdir()
    (state / "token").write_text("token", encoding="utf-8")
    (state / "token").chmod(0o600)
    return {
        "RANGER_CDAP_PROGRAM": OURS,
        "RANGER_CDAP_USER": "",
        "RANGER_CDAP_STATE": state,
        "RANGER_CDAP_ROUTER": cdap.url,
        "JAVA_HOME": JAVA_HOME,
        "RANGER_CDAP_CONFIG": as_file(environment.settings, tmp_path / "ranger-cdap.toml"),
    }


def test_airflow_reads_every_dag_without_an_error(ask: Ask) -> None:
    answer = ask("dags")
    assert answer["errors"] == {}
    assert answer["dags"].keys() == {"ranger-cdap-sync", "ranger-cdap-reconcile", "ranger-cdap-review"}
    for tasks in answer["dags"].values():
        for task in tasks.values():
            assert task["user"] == "ranger-cdap-sync"
            assert task["retries"] > 0
            assert task["limited"]


def test_a_run_gives_the_creator_the_grant_and_the_next_changes_nothing(
    ask: Ask, environment: DemoEnvironment, variables: Mapping[str, str | Path]
) -> None:
    assert not environment.may_read(CREATOR).allowed
    assert ask("run", "ranger-cdap-sync", **variables) == {"sync": "success"}
    assert environment.may_read(CREATOR).allowed
    version = environment.policy_version()
    assert ask("run", "ranger-cdap-sync", **variables) == {"sync": "success"}
    assert environment.policy_version() == version


def test_drift_fails_the_task_for_a_person_and_is_not_tried_again(
    ask: Ask, environment: DemoEnvironment, variables: Mapping[str, str | Path]
) -> None:
    # Nothing that the recording creates is in this CDAP any more.
    assert ask("run", "ranger-cdap-sync", **variables) == {"sync": "success"}
    assert ask("run", "ranger-cdap-reconcile", **variables) == {"inventory": "success", "reconcile": "failed"}


@pytest.mark.skipif(JAVA is None, reason="needs Java")
@pytest.mark.usefixtures("environment")
def test_a_review_is_written_to_a_directory_of_its_own(ask: Ask, variables: Mapping[str, str | Path]) -> None:
    assert ask("run", "ranger-cdap-review", **variables) == {"inventory": "success", "review": "success"}
    (written,) = Path(variables["RANGER_CDAP_STATE"], "review").iterdir()
    assert list((written / "answers").glob("*.parquet"))
    assert (written / "summary").is_dir()


def test_a_wrong_setting_fails_the_task_for_a_person(ask: Ask, variables: Mapping[str, str | Path]) -> None:
    Path(variables["RANGER_CDAP_CONFIG"]).write_text("[ranger]\nurll = 1\n", encoding="utf-8")
    assert ask("run", "ranger-cdap-sync", **variables) == {"sync": "failed"}


def test_a_run_beside_another_is_skipped(ask: Ask, tmp_path: Path, variables: Mapping[str, str | Path]) -> None:
    busy = program(tmp_path / "busy", "exit 5")
    assert ask("run", "ranger-cdap-sync", **{**variables, "RANGER_CDAP_PROGRAM": busy}) == {"sync": "skipped"}


def test_each_exit_code_means_to_airflow_what_the_table_says(ask: Ask, tmp_path: Path) -> None:
    from tests.examples.test_airflow_table import EXIT_CODES

    meant = {"done": "done", "retry": "AirflowException", "skip": "AirflowSkipException"}
    meant["person"] = "AirflowFailException"
    answer = ask("raised", program(tmp_path / "program", 'exit "$1"'), *map(str, range(256)))
    for code in range(256):
        kind, reason = EXIT_CODES.get(code, ("person", "this exit code is not one of ranger-cdap's"))
        raised, sentence = answer[str(code)]
        assert raised == meant[kind], code
        assert kind == "done" or sentence.endswith(f" ended with exit code {code}: {reason}")


def test_a_program_that_is_missing_fails_the_task_for_a_person(ask: Ask, tmp_path: Path) -> None:
    answer = ask("raised", tmp_path / "missing", "0")
    assert answer["0"] == ["AirflowFailException", f"`{tmp_path}/missing` cannot be started: No such file or directory"]


def test_ending_the_task_ends_the_command_as_ctrl_c_does(ask: Ask, tmp_path: Path) -> None:
    waits = program(tmp_path / "waits", 'trap "exit 143" TERM; : >"$1"; while :; do sleep 0.05; done')
    raised, sentence = ask("killed", waits, tmp_path / "begun")
    assert raised == "AirflowException"
    assert "exit code 143" in sentence
