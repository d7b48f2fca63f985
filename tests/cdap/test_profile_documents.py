"""The profiles of documents 000 to 003 and 005 against the rows of the documents, one by one."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.profile import ACTIONS, load_profile
from ranger_cdap.cdap.requirements import DocumentRow, load_requirements, parse_needs

REQUIREMENTS = load_requirements()
PROFILES = {"005": "cdap-6"}
"""Profiles that do not have the number of their document."""
ROWS = [
    pytest.param(PROFILES.get(number, number), name, row, id=name)
    for number in REQUIREMENTS.documents
    for name, row in REQUIREMENTS.rows(number).items()
]


@pytest.mark.parametrize(("profile", "requirement", "document_row"), ROWS)
def test_a_row_asks_and_gives_what_the_document_says(profile: str, requirement: str, document_row: DocumentRow) -> None:
    rows = [row for row in load_profile(profile).rows.values() if requirement in row.requirements]
    required = [(set(actions), target) for actions, target in parse_needs(document_row.needs)]
    gives = set(ACTIONS if document_row.gives == "ALL" else filter(None, document_row.gives.split("|")))

    assert rows
    for row in rows:
        for alternative in row.alternatives:
            asked = [(set(p.actions), row.entity if p.target == "entity" else p.target) for p in alternative]
            # Core policies are for what a table does not list; a row of 005 also asks what 004 does.
            assert asked == required or (profile in PROFILES.values() and len(row.requirements) > 1)
            assert asked[: len(required)] == required
        assert set(row.gives) == gives
        assert row.open_question is ("open question" in document_row.note)


def test_every_document_with_a_table_is_held() -> None:
    assert len(ROWS) == 284 + 54
