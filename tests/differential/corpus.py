"""Reads `tests/corpus/*.json`: cases a person can read, each with the rule it stands for.

A file: `about`; `serviceDef` (absent: CDAP's own); `cases`. A case: `rule`; `policies` (id, name and version may be
absent: then they are given by the place); what else a download may hold (`securityZones`, `tagPolicies`,
`serviceConfig`, `auditMode`); what comes beside it (`roles`, `tags`, and `laterTags` in their place, `userStore`,
`deltas`: one document or a list as in `steps.py`, and `conf`, keys of the plugin's configuration); and `asks`: each a
`request` of `ranger-cdap eval` with the answer expected, which is Java's.
Where this project differs on purpose, `ours` holds its answer and `why` the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.differential.definitions import cdap_definition
from tests.differential.strategies import numbered

Json = dict[str, Any]

CORPUS = Path(__file__).parents[1] / "corpus"
IN_DOWNLOAD = ("securityZones", "tagPolicies", "serviceConfig", "auditMode")
BESIDE_DOWNLOAD = ("roles", "tags", "laterTags", "userStore", "deltas", "conf")


@dataclass(frozen=True, slots=True)
class Case:
    """One rule with the questions that show it."""

    file: str
    rule: str
    scenario: Json
    asks: list[Json]

    def __str__(self) -> str:
        return f"{self.file}: {self.rule}"

    def expected(self, *, by_us: bool) -> list[Json]:
        return [ask.get("ours", ask["expect"]) if by_us else ask["expect"] for ask in self.asks]


def cases() -> Iterator[Case]:
    for path in sorted(CORPUS.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for case in document["cases"]:
            yield Case(path.stem, case["rule"], scenario(document.get("serviceDef"), case), case["asks"])


def scenario(service_def: Json | None, case: Json) -> Json:
    definition = case.get("serviceDef") or service_def or cdap_definition()
    download = {
        "serviceName": "cdapdev",
        "policyVersion": 1,
        "serviceDef": definition,
        "policies": numbered(case.get("policies", [])),
        **{key: case[key] for key in IN_DOWNLOAD if key in case},
    }
    beside = {key: case[key] for key in BESIDE_DOWNLOAD if key in case}
    return {"policies": download, **beside, "requests": [ask["request"] for ask in case["asks"]]}
