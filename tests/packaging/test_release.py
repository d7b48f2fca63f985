"""The workflows have few rights and no secrets, and what people see beside the code fits it.

`make workflows` asks actionlint and zizmor besides.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.docs.markdown_pages import ROOT

TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")}
WORKFLOWS: Mapping[str, Mapping[str, Any]] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
JOBS: Mapping[str, Mapping[str, Any]] = WORKFLOWS["release"]["jobs"]
WRITES = {"attest": {"id-token", "attestations"}, "publish": {"id-token"}}
"""All that may be written, by job."""

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


@pytest.fixture(params=sorted(TEXTS))
def workflow(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def steps(workflow: str) -> Iterator[Mapping[str, Any]]:
    for job in WORKFLOWS[workflow]["jobs"].values():
        yield from job["steps"]


def setup() -> configparser.ConfigParser:
    parsed = configparser.ConfigParser()
    parsed.read(ROOT / "setup.cfg", encoding="utf-8")
    return parsed


def test_a_job_has_the_rights_that_are_named_here_and_no_others(workflow: str) -> None:
    assert WORKFLOWS[workflow]["permissions"] == {}
    for name, job in WORKFLOWS[workflow]["jobs"].items():
        rights = job["permissions"]
        assert {right for right, level in rights.items() if level == "write"} == WRITES.get(name, set())
        assert {right for right, level in rights.items() if level != "write"} <= {"contents"}


def test_every_action_is_one_commit(workflow: str) -> None:
    used = re.findall(r"uses: (.+)", TEXTS[workflow])
    assert len(used) == sum("uses" in step for step in steps(workflow))
    assert [line for line in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_no_secret_is_stored_and_no_expression_gets_into_a_script(workflow: str) -> None:
    assert "secrets." not in TEXTS[workflow]
    for step in steps(workflow):
        assert "${{" not in step.get("run", "")
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_a_pull_request_runs_what_a_release_runs_and_may_write_nothing() -> None:
    (job,) = WORKFLOWS["check"]["jobs"].values()
    assert job == JOBS["test"]
    # Not `pull_request_target`, which would run strangers' code with rights; YAML reads `on` as true.
    assert WORKFLOWS["check"][True] == {"pull_request": None}  # type: ignore[index]


def test_nothing_is_published_that_was_not_tested_installed_and_attested() -> None:
    assert JOBS["publish"]["needs"] == "attest"
    assert set(JOBS["attest"]["needs"]) == {"test", "install"}
    assert JOBS["install"]["needs"] == "build"
    assert JOBS["test"]["steps"][-1]["run"] == "sh .ci/run"


def test_the_wheel_is_installed_on_every_python_that_it_names() -> None:
    named = re.findall(r"Python :: (3\.\d+)$", setup()["metadata"]["classifiers"], re.MULTILINE)
    assert JOBS["install"]["strategy"]["matrix"]["python"] == named


def test_a_citation_names_the_version_the_authors_and_the_licence_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    metadata = setup()["metadata"]
    assert str(citation["version"]) == metadata["version"]
    assert [one["name"] for one in citation["authors"]] == [metadata["author"]]
    assert citation["license"] == metadata["license_expression"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_of_an_issue_is_whole(path: Any) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert form["blank_issues_enabled"] is False
        return
    assert {"name", "description", "labels", "body"} == form.keys()
    assert len({field["id"] for field in form["body"]}) == len(form["body"])
    for field in form["body"]:
        assert field["type"] in {"input", "textarea"}
        assert {"label", "description"} == field["attributes"].keys()
    assert any(field.get("validations", {}).get("required") for field in form["body"])
