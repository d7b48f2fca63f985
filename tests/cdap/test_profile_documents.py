"""The profiles of documents 000 to 003 against the documents as data, row by row (where that folder is there)."""

from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.profile import load_profile

yaml = pytest.importorskip("yaml")
OPERATIONS = Path(__file__).parents[3] / "shared" / "reference" / "seeds" / "operations.yaml"


def documents() -> dict[str, Any]:
    if not OPERATIONS.exists():
        return {}
    return {document["file"][:3]: document for document in yaml.safe_load(OPERATIONS.read_text())["seeds"]}


ROWS = [(name, row) for name, document in documents().items() if name != "004" for row in document["operations"]]


@pytest.mark.parametrize(("profile", "document_row"), [pytest.param(*pair, id=pair[1]["id"]) for pair in ROWS])
def test_a_row_asks_and_gives_what_the_document_says(profile: str, document_row: dict[str, Any]) -> None:
    table = load_profile(profile)
    rows = [row for row in table.rows.values() if document_row["id"] in row.requirements]
    required = [
        (set(one.get("any_of", [one.get("action")])), one["target"]) for one in document_row["required"]["all_of"]
    ]

    assert rows
    for row in rows:
        (alternative,) = row.alternatives
        asked = [(set(p.actions), row.entity if p.target == "entity" else p.target) for p in alternative]
        beyond = [one for one in asked if one not in required]
        assert [one for one in asked if one in required] == required
        # Core policy 5 of document 003: getting needs READ on the parent as well.
        assert [actions for actions, _ in beyond] == [{"READ"}] * len(beyond)
        assert not beyond or "S003-CORE-5" in row.requirements
        assert set(row.gives) == set((document_row["resultant"] or {}).get("actions", ()))
        assert row.open_question is ("open question" in document_row.get("note", ""))
