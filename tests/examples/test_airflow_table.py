"""The example for Airflow: its table of exit codes is that of the command line; `make test-airflow` runs it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from ranger_cdap.cli.exit_codes import MEANINGS

EXAMPLE = Path(__file__).parents[2] / "examples" / "airflow"
OPERATOR = EXAMPLE / "ranger_cdap_operator.py"
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")
DAGS = (EXAMPLE / "ranger_cdap_dags.py").read_text(encoding="utf-8")


def _table() -> Mapping[int, tuple[str, str]]:
    """The table, without Airflow, which the operator imports."""
    (value,) = (
        node.value
        for node in ast.parse(OPERATOR.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "EXIT_CODES"
    )
    assert value is not None
    found: Mapping[int, tuple[str, str]] = ast.literal_eval(value)
    return found


EXIT_CODES = _table()


def test_every_exit_code_of_the_command_line_has_a_meaning_to_airflow() -> None:
    assert EXIT_CODES.keys() == {int(code) for code in MEANINGS}
    assert {kind for kind, _ in EXIT_CODES.values()} == {"done", "retry", "skip", "person"}


def test_only_success_is_done_and_a_wrong_input_is_never_tried_again() -> None:
    assert [code for code, (kind, _) in EXIT_CODES.items() if kind == "done"] == [0]
    assert EXIT_CODES[3][0] == EXIT_CODES[2][0] == "person"


def test_the_page_says_of_every_exit_code_what_the_table_does() -> None:
    words = {"succeeds": "done", "is tried again": "retry", "fails at once": "person", "is skipped": "skip"}
    rows = re.findall(r"^\| ([\d, ]+)(?:, and any other)? \| ([a-z ]+) \|", README, re.MULTILINE)
    said = {int(code): words[what] for codes, what in rows for code in codes.split(", ")}
    assert said == {code: kind for code, (kind, _) in EXIT_CODES.items()}


def test_the_page_names_every_variable_that_the_dags_read() -> None:
    read = set(re.findall(r'os\.environ\.get\("(\w+)"', DAGS))
    assert read == set(re.findall(r"`((?:RANGER_CDAP|JAVA)_\w+)`", README))
