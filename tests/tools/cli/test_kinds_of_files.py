"""What every command that takes policies answers about each kind of file that people have: a table, and small files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from pages.commands import commands

from ranger_cdap.cli.main import command_line, main
from ranger_cdap.cli.policy_files import PolicyFilesParameter
from ranger_cdap.testing.in_process import embedded_ranger
from tests.tools.insights.audit_fixtures import line

DATA: Final = Path(__file__).parents[2] / "data" / "policy-files"
TABLE: Final[Mapping[str, Any]] = tomllib.loads((DATA / "answers.toml").read_text(encoding="utf-8"))
REQUESTS: Final = (
    {"id": "cdap", "resource": {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}, "accessType": "read"},
    {"id": "hive", "resource": {"database": "sales", "table": "orders", "column": "id"}, "accessType": "select"},
)
EXPECTED: Final = (
    '[[expect]]\nuser = "alice"\noperation = "dataset.get"\nentity = "dataset:ns1.kv"\nexpected = "allowed"\n'
)


def answers(name: str) -> dict[str, Any]:
    """The answers of this name, with those that they are like."""
    own = dict(TABLE["answers"][name])
    return {**(answers(own.pop("like")) if "like" in own else {}), **own}


CASES: Final = {
    **{which: answers(name) for which, name in TABLE["accepted"].items()},
    **{which: {"*": [3, sentence]} for which, sentence in TABLE["refused"].items()},
}


@pytest.fixture(scope="module", autouse=True)
def _surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Files that the commands read besides, and a Ranger Admin without such policies."""
    with pytest.MonkeyPatch.context() as patch, embedded_ranger() as ranger:
        ranger.create_users("alice")
        patch.chdir(tmp_path_factory.mktemp("asked"))
        for name, value in (("RANGER__URL", ranger.url), ("RANGER__SERVICE", ranger.service)):
            patch.setenv(f"RANGER_CDAP_{name}", value)
        patch.setenv("RANGER_CDAP_SETUP_PASSWORD", ranger.password.reveal())
        Path("requests.jsonl").write_text("".join(json.dumps({**one, "user": "alice"}) + "\n" for one in REQUESTS))
        Path("expected.toml").write_text(EXPECTED)
        Path("used.jsonl").write_bytes(line(resource="cdap/ns1/kv") + b"\n")
        reported = line(resource="cdap/ns1/kv", result=0, policy=-1, reason="", enforced=False)
        Path("reported.jsonl").write_bytes(reported + b"\n")
        yield


@pytest.mark.parametrize(("which", "expected"), CASES.items(), ids=CASES)
def test_each_kind_of_file_has_the_answers_of_the_table(
    which: str, expected: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    full = ",".join(one if one.startswith("service=") else str(DATA / one) for one in which.split(","))
    wrong = {}
    for name, command in TABLE["commands"].items():
        capsys.readouterr()
        code = main([word.replace("WHICH", full).replace("DATA", str(DATA)) for word in command.split()])
        shown, (wanted, part) = capsys.readouterr(), expected.get(name) or expected["*"]
        is_refused = wanted == 3
        if (code, part in (shown.err if is_refused else shown.out + shown.err)) != (wanted, True):
            wrong[name] = code, shown
        elif is_refused:
            assert (shown.out, len(shown.err.splitlines())) == ("", 1), (name, shown)
    assert wrong == {}


def test_every_command_that_takes_policies_is_in_the_table() -> None:
    taking = {
        " ".join(words)
        for words, command in commands(command_line())
        if any(isinstance(param.type, PolicyFilesParameter) for param in command.params)
    }
    taking.remove("console")  # answers until it is stopped, by policies that it opens as the others do
    asked = {name for name in taking for one in TABLE["commands"].values() if one.startswith(f"{name} ")}
    assert asked == taking


def test_every_file_is_in_the_table_and_every_answer_is_given() -> None:
    named = {name for which in CASES for name in which.split(",") if not name.startswith("service=")}
    assert named == {path.name for path in DATA.iterdir()} - {"answers.toml"}
    used = {*TABLE["accepted"].values(), *(one.get("like", "readers") for one in TABLE["answers"].values())}
    assert used == set(TABLE["answers"])
    assert {name for one in TABLE["answers"].values() for name in one} - {"like", "*"} == set(TABLE["commands"])
