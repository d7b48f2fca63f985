"""The command `ranger-cdap eval` as a judge: a scenario goes in as files and JSON lines, answers come out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from ranger_cdap.cli.evaluate import evaluate

Json = Mapping[str, Any]

MARKS = {"roles": "roleVersion", "tags": "tagVersion", "userStore": "userGroupMapping"}
"""Members by which the downloads that accompany policies are known, with a value that means nothing."""
UNMARKED: Mapping[str, Any] = {"roleVersion": 0, "tagVersion": 0, "userGroupMapping": {}}


def decide_by_eval(scenario: Json, folder: Path, compatibility: str) -> list[dict[str, Any]]:
    """What the command answers to the scenario's requests, line by line."""
    out = folder / "answers.jsonl"
    lines = "\n".join(json.dumps(request) for request in scenario["requests"])
    given = [*files(scenario, folder), "--requests", "-", "--out", str(out), "--compatibility", compatibility]
    given += [f"--conf={key}={value}" for key, value in scenario.get("conf", {}).items()]
    result = CliRunner().invoke(evaluate, given, input=lines, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def in_files(scenario: Json) -> bool:
    """Return True if the command can be given the scenario: it takes one document with changes, and tags once."""
    return not isinstance(scenario.get("deltas"), list) and "laterTags" not in scenario


def files(scenario: Json, folder: Path) -> Iterator[str]:
    """The options of the command that name files; no tags are an empty download of tags."""
    contents = {"policies": scenario["policies"]}
    for key, mark in MARKS.items():
        if key in scenario or key == "tags":
            contents[key] = {mark: UNMARKED[mark], **scenario.get(key, {})}
    if "deltas" in scenario:
        (folder / "deltas.json").write_text(json.dumps(scenario["deltas"]), encoding="utf-8")
        yield f"--deltas={folder / 'deltas.json'}"
    for key, content in contents.items():
        (folder / f"{key}.json").write_text(json.dumps(content), encoding="utf-8")
    yield f"--policies={','.join(str(folder / f'{key}.json') for key in contents)}"
