"""Every requirement of the documents, by its id, is a row that works, is shown by a test, or is a remark."""

import ast
import tomllib
from pathlib import Path

import pytest

from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.cdap.requirements import load_requirements

ROOT = Path(__file__).parents[2]
ACCEPTANCE = tomllib.loads(Path(__file__).with_name("acceptance.toml").read_text(encoding="utf-8"))
SHOWN_BY, REMARKS = ACCEPTANCE["shown_by"], ACCEPTANCE["remarks"]
IDS = [one for section in load_requirements().sections().values() for one in section]


def ids_of_rows() -> set[str]:
    profiles = map(load_profile, profile_names())
    rows = [row for profile in profiles for row in (*profile.rows.values(), *profile.core.values())]
    return {requirement for row in rows for requirement in row.requirements}


def test_every_id_is_there_once() -> None:
    assert len(IDS) == len(set(IDS)) == 483


def test_every_id_has_a_row_or_a_test_that_shows_it_or_is_a_remark() -> None:
    met = ids_of_rows() | set(SHOWN_BY) | set(REMARKS)

    assert [requirement for requirement in IDS if requirement not in met] == []


def test_operations_and_core_policies_of_the_documents_are_rows() -> None:
    rows = ids_of_rows()
    elsewhere = {requirement for requirement in IDS if requirement[0] in "XD"}
    elsewhere |= set(REMARKS) | {r for r in SHOWN_BY if "-CORE-" not in r}

    assert [requirement for requirement in IDS if requirement not in rows | elsewhere] == []


def test_nothing_names_an_id_that_is_not_in_the_list() -> None:
    named = ids_of_rows() | set(SHOWN_BY) | set(REMARKS)

    assert named - set(IDS) == set()


@pytest.mark.parametrize("node", sorted({node for nodes in SHOWN_BY.values() for node in nodes}))
def test_what_is_said_to_show_it_is_a_test(node: str) -> None:
    path, _, name = node.partition("::")
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))

    assert name.startswith("test_")
    assert name in {part.name for part in module.body if isinstance(part, ast.FunctionDef)}
