"""The command `ranger-cdap eval` as a judge: a scenario goes in as files and JSON lines, answers come out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from ranger_cdap.cli.evaluate import evaluate

Json = Mapping[str, Any]

FILES = {
    "policies": "--policies",
    "roles": "--roles",
    "tags": "--tags",
    "userStore": "--userstore",
    "deltas": "--deltas",
}


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
    for key in FILES:
        if key in scenario or key == "tags":
            path = folder / f"{key}.json"
            path.write_text(json.dumps(scenario.get(key, {})), encoding="utf-8")
            yield f"--{key.lower()}={path}"
