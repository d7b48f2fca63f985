"""`ranger-cdap operations`: the table in four forms, the difference of two documents, and the page made from it."""

import json
from pathlib import Path

import pytest

from ranger_cdap.cli.main import main


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration file in the working directory."""
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--profile", "000"], "namespace.create\tWRITE instance\tALL\tS000-namespace-create\t"),
        (["--profile", "000"], "dataset.list\tREAD namespace\t\tS000-dataset-list\tshows all below"),
        (["--profile", "000"], "program.emit_logs\tWRITE namespace\t\tS000-program-emit_logs\topen question"),
        (["--profile", "001"], "artifact.add\tWRITE namespace\tADMIN\tS001-artifact-add\t"),
        (["--profile", "001-prose"], "program.set_runtime_args\tWRITE program\t\tS001-P10\t"),
        (["--profile", "003"], "dataset.list\tREAD|WRITE|ADMIN dataset\t\tS003-dataset-list\tshows each that has it"),
        (["--profile", "003"], "other types.create\tWRITE parent\tALL\tS003-CORE-1\t"),
        ([], "dataset.create\tWRITE namespace, or ADMIN dataset\tALL\tS003-dataset-create,S004-R4\t"),
        (
            ["--entity", "secure_key"],
            "secure_key.create\tWRITE namespace, or ADMIN secure_key\tALL\tS003-CORE-1,S004-R4\t",
        ),
        (["--entity", "instance"], "instance.update\tADMIN instance\t\t\tasked by CDAP, in no document"),
        (["--profile", "003"], "artifact.refresh\tWRITE instance\t\t\tasked by CDAP, in no document"),
        (["--entity", "topic"], "topic.get\tREAD topic & READ namespace\t\tS003-CORE-5\t"),
    ],
)
def test_the_table_as_plain_lines(capsys: pytest.CaptureFixture[str], arguments: list[str], line: str) -> None:
    assert line in said(capsys, "operations", "--format", "plain", *arguments).splitlines()


def test_one_entity_type_alone(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "operations", "--format", "plain", "--entity", "stream").splitlines()

    assert lines
    assert all(line.startswith("stream.") for line in lines)


def test_the_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "operations", "--profile", "003", "--entity", "program")

    assert out.splitlines()[0].split() == ["operation", "needs", "gives", "requirements", "remark"]
    assert "EXECUTE program & READ namespace" in out
    assert "S003-program-start-stop-debug" in out


@pytest.mark.parametrize("arguments", [["--json", "operations"], ["operations", "--json"]])
def test_the_table_for_programs(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    rows = {row["operation"]: row for row in json.loads(said(capsys, *arguments, "--profile", "002"))}

    assert rows["dataset.list"]["any_of"] == [["READ|WRITE|ADMIN dataset"]]
    assert rows["dataset.list"]["lists"] == "each"
    assert rows["other types.list"]["any_of"] == [["READ|WRITE|ADMIN parent"]]
    assert rows["stream.create"]["gives"] == ["READ", "WRITE", "ADMIN", "EXECUTE"]


def test_where_two_documents_disagree(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "operations", "diff", "--format", "plain", "001", "003").splitlines()

    assert "program.set_runtime_args\tEXECUTE program\tADMIN program" in lines
    assert "artifact.refresh\tWRITE instance\tno such operation" in lines
    assert "namespace.create\tADMIN instance; gives ADMIN\tWRITE instance; gives ALL" in lines
    assert not any(line.startswith("dataset.drop\t") for line in lines)


def test_a_document_does_not_disagree_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "operations", "diff", "--format", "plain", "003", "003") == ""


def test_differences_for_programs_and_people(capsys: pytest.CaptureFixture[str]) -> None:
    found = {row["operation"]: row for row in json.loads(said(capsys, "--json", "operations", "diff", "000", "002"))}

    assert found["program.list"]["000"]["any_of"] == [["READ application"]]
    assert found["program.list"]["002"]["any_of"] == [["READ|WRITE|ADMIN program"]]
    assert "program.list" in said(capsys, "operations", "diff", "000", "002")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["operations", "--profile", "005"], "there is no profile `005`; known are default, 000"),
        (["operations", "--entity", "datset"], "there is no entity type `datset`; did you mean `dataset`?"),
        (["operations", "diff", "000", "30"], "there is no profile `30`"),
        (["operations", "--format", "xml"], "'xml' is not one of"),
        (["operations", "diff", "000"], "Missing argument"),
        (["operations", "--profile", "000", "diff", "000", "001"], "options come after `diff`"),
    ],
)
def test_what_is_not_known_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(arguments) == 3

    assert sentence in capsys.readouterr().err
