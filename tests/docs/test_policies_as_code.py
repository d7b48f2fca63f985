"""The example of policies as code: its pipelines run, step by step, against a Ranger Admin."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from ranger_cdap.ranger.files.policy_directory import read_directory
from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from tests.docs.markdown_pages import ROOT, blocks

EXAMPLE = ROOT / "examples" / "policies-as-code"
PAGE = ROOT / "docs" / "how-to" / "policies-as-code.md"
INSTALL = "pip install 'ranger-cdap[yaml]'"


@pytest.fixture
def ranger() -> Iterator[EmbeddedRanger]:
    with embedded_ranger() as running:
        running.create_users("payroll")
        for group in ("analysts", "engineers"):
            answer = requests.post(
                f"{running.url}/service/xusers/secure/groups",
                json={"name": group},
                auth=("admin", running.password.reveal()),
                timeout=10,
            )
            assert answer.ok
        yield running


def github() -> list[str]:
    jobs = yaml.safe_load((EXAMPLE / ".github/workflows/policies.yml").read_text())["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def gitlab() -> list[str]:
    pipeline = yaml.safe_load((EXAMPLE / ".gitlab-ci.yml").read_text())
    before = pipeline["default"]["before_script"]
    return [line for stage in pipeline["stages"] for line in (*before, *pipeline[stage]["script"])]


PIPELINES = {"github": github, "gitlab": gitlab}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The example as a git repository, whose remote has it as well."""
    directory: Path = shutil.copytree(EXAMPLE, tmp_path / "repository")
    for command in (
        "init --quiet --initial-branch main",
        "add --all",
        "-c user.name=a -c user.email=a@example.com commit --quiet --message policies",
        "clone --quiet --bare . ../origin.git",
        "remote add origin ../origin.git",
    ):
        subprocess.run(["git", *command.split()], cwd=directory, check=True, timeout=60)
    return directory


def typed(command: str, directory: Path, ranger: EmbeddedRanger) -> subprocess.CompletedProcess[str]:
    environ = {
        **{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "RANGER_CDAP_RANGER__URL": ranger.url,
        "RANGER_CDAP_SETUP_PASSWORD": ranger.password.reveal(),
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(directory / "summary.md"),
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
    }
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_pipeline_runs_to_its_end_and_once_more(pipeline: str, repository: Path, ranger: EmbeddedRanger) -> None:
    commands = PIPELINES[pipeline]()
    assert INSTALL in commands  # the environment of this test has it
    for _ in range(2):
        for command in commands:
            if command != INSTALL:
                ended = typed(command, repository, ranger)
                assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
    assert {policy.name for policy in ranger.admin.list_policies(ranger.service)} >= {"analysts", "salaries"}
    assert {policy.version for policy in ranger.admin.list_policies(ranger.service)} == {1}


@pytest.mark.slow
def test_a_change_that_breaks_an_expectation_stops_the_pipeline(tmp_path: Path, ranger: EmbeddedRanger) -> None:
    directory = shutil.copytree(EXAMPLE, tmp_path / "repository")
    path = directory / "ranger" / "policies" / "salaries.yaml"
    policy = yaml.safe_load(path.read_text())
    del policy["denyPolicyItems"]
    path.write_text(yaml.safe_dump(policy))
    codes = [typed(command, directory, ranger).returncode for command in github()[1:3]]
    assert codes == [0, 2]


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_change_that_gives_more_stops_the_pipeline(pipeline: str, repository: Path, ranger: EmbeddedRanger) -> None:
    path = repository / "ranger" / "policies" / "salaries.yaml"
    policy = yaml.safe_load(path.read_text())
    del policy["denyPolicyItems"]
    path.write_text(yaml.safe_dump(policy))
    *before, gate = [command for command in PIPELINES[pipeline]() if "git fetch" in command or "before" in command]
    assert [typed(command, repository, ranger).returncode for command in before] == [0] * len(before)
    ended = typed(gate, repository, ranger)
    assert ended.returncode == 6
    summary = repository / "summary.md"
    assert "dataset:sales.salaries" in (summary.read_text() if summary.exists() else ended.stdout)


@pytest.mark.slow
def test_what_is_exported_again_is_what_the_repository_has(tmp_path: Path, ranger: EmbeddedRanger) -> None:
    assert typed("ranger-cdap policies apply ranger --yes", EXAMPLE, ranger).returncode == 0
    command = f"ranger-cdap policies export --directory {tmp_path}/again --format yaml"
    assert typed(command, EXAMPLE, ranger).returncode == 0
    for path in (EXAMPLE / "ranger" / "policies").iterdir():
        assert (tmp_path / "again" / "policies" / path.name).read_bytes() == path.read_bytes()


def test_the_page_shows_a_policy_of_the_example() -> None:
    (shown,) = blocks(PAGE, "yaml")
    assert shown.text == (EXAMPLE / "ranger" / "policies" / "analysts.yaml").read_text()


def test_the_page_calls_the_example_by_names_that_it_has() -> None:
    collection = read_directory(EXAMPLE / "ranger")
    assert [policy["name"] for policy in collection.policies] == ["analysts", "salaries", "sales namespace"]
    every: list[Any] = [line for name in PIPELINES for line in PIPELINES[name]()]
    assert all("ranger" in line or line.startswith("git fetch") for line in every)
    named = {word for line in every for word in line.split() if word.endswith(".toml")}
    assert named == {"expectations.toml"}
    assert all((EXAMPLE / name).is_file() for name in named)
