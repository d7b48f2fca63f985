"""What Ranger does not save is refused before anything is sent: by the recorded answers of a real one."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.refusals import require_savable
from ranger_cdap.ranger.changes.step import Step, StepChange

NOW = datetime(2026, 11, 29)
ROWS = [
    row
    for row in json.loads((Path(__file__).parents[2] / "data" / "ranger-answers.json").read_text("utf-8"))
    if row.get("post") == "policy" and {"validitySchedules", "description", "policyLabels"} & row["with"].keys()
]


def step(**members: Any) -> Step:
    long = {
        name: text * count
        for name, value in members.items()
        if isinstance(value, dict)
        for text, count in value.items()
    }
    return Step(StepChange.UPDATE, "policy", "new", "", wanted={"name": "new", **members, **long})


def test_what_a_real_one_refused_is_refused_and_what_it_saved_is_not() -> None:
    found = {}
    for row in ROWS:
        try:
            require_savable([step(**row["with"])], NOW)
        except InvalidInput as e:
            found[row["row"]] = str(e)
    assert set(found) == {row["row"] for row in ROWS if row["status"] == 400}
    assert all(text.startswith("nothing was done, because Ranger refuses: policy `new`: ") for text in found.values())
    assert {row["status"] for row in ROWS} == {200, 400}


def test_every_refused_policy_is_named_and_a_deletion_is_none() -> None:
    long, label = step(description="x" * 1025), step(policyLabels=["l" * 513])
    gone = Step(StepChange.DELETE, "policy", "old", "", there={"name": "old", "description": "x" * 2_000})
    require_savable([gone, step(policyLabels=["l" * 512], description="x" * 1024)], NOW)
    with pytest.raises(InvalidInput, match=r"longer than 1,024 characters; .* longer than 512 characters"):
        require_savable([gone, long, Step(StepChange.CREATE, "policy", "other", "", wanted=label.wanted)], NOW)
