"""`ranger-cdap needs`: the table for people and for programs, and the differences of two documents."""

import json
from pathlib import Path

import pytest

from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.cli.main import main
from ranger_cdap.tools.cli.operations_text import differing, lines


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration file in the working directory."""
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (("000", None), "namespace.create\tWRITE instance\tALL\tS000-namespace-create\t"),
        (("000", None), "dataset.list\tREAD namespace\t\tS000-dataset-list\tshows all below"),
        (("000", None), "program.emit_logs\tWRITE namespace\t\tS000-program-emit_logs\topen question"),
        (("001", None), "artifact.add\tWRITE namespace\tADMIN\tS001-artifact-add\t"),
        (("001-prose", None), "program.set_runtime_args\tWRITE program\t\tS001-P10\t"),
        (("003", None), "dataset.list\tREAD|WRITE|ADMIN dataset\t\tS003-dataset-list\tshows each that has it"),
        (("003", None), "other types.create\tWRITE parent\tALL\tS003-CORE-1\t"),
        (("default", None), "dataset.create\tWRITE namespace, or ADMIN dataset\tALL\tS003-dataset-create,S004-R4\t"),
        (
            ("default", "secure_key"),
            "secure_key.create\tWRITE namespace, or ADMIN secure_key\tALL\tS003-CORE-1,S004-R4\t",
        ),
        (("default", "instance"), "instance.update\tADMIN instance\t\t\tasked by CDAP, in no document"),
        (("003", None), "artifact.refresh\tWRITE instance\t\t\tasked by CDAP, in no document"),
        (("default", "topic"), "topic.get\tREAD topic & READ namespace\t\tS003-CORE-5\t"),
    ],
)
def test_a_row_has_needs_grants_requirements_and_a_remark(table: tuple[str, str | None], line: str) -> None:
    profile, kind = table
    rows = (
        (row.operation, row.needs, row.given, ",".join(row.requirements), row.remark)
        for row in lines(load_profile(profile), kind)
    )
    assert tuple(line.split("\t")) in set(rows)


def test_one_entity_type_alone(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(said(capsys, "needs", "--json", "--type", "stream"))

    assert rows
    assert all(row["operation"].startswith("stream.") for row in rows)


def test_the_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "needs", "--profile", "003", "--type", "program")

    assert out.splitlines()[0].split() == ["operation", "needs", "gives", "requirements", "remark"]
    assert "EXECUTE program & READ namespace" in out
    assert "S003-program-start-stop-debug" in out


@pytest.mark.parametrize("arguments", [["--json", "needs"], ["needs", "--json"]])
def test_the_table_for_programs(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    rows = {row["operation"]: row for row in json.loads(said(capsys, *arguments, "--profile", "002"))}

    assert rows["dataset.list"]["any_of"] == [["READ|WRITE|ADMIN dataset"]]
    assert rows["dataset.list"]["lists"] == "each"
    assert rows["other types.list"]["any_of"] == [["READ|WRITE|ADMIN parent"]]
    assert rows["stream.create"]["gives"] == ["READ", "WRITE", "ADMIN", "EXECUTE"]


def test_where_two_documents_disagree() -> None:
    found = {row.operation: row for row in differing(load_profile("001"), load_profile("003"))}
    needs = {name: (row.needs, row.given) for name, row in found.items()}

    assert needs["program.set_runtime_args"] == ("EXECUTE program", "")
    assert needs["artifact.refresh"] == ("WRITE instance", "")
    assert needs["namespace.create"] == ("ADMIN instance", "ADMIN")
    assert "dataset.drop" not in needs
    assert list(differing(load_profile("003"), load_profile("003"))) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["needs", "--profile", "005"], "there is no profile `005`; known are default, 000"),
        (["needs", "--type", "datset"], "there is no entity type `datset`; did you mean `dataset`?"),
    ],
)
def test_what_is_not_known_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(arguments) == 3

    assert sentence in capsys.readouterr().err
