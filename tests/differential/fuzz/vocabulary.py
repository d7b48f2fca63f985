"""The features a scenario may have, as data (`vocabulary.toml`), and which of them one has."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from tests.differential.fuzz.mixed import documents_of, policies_of
from tests.differential.fuzz.mixed_definitions import ignores_case
from tests.differential.fuzz.mixed_deltas import levels_of
from tests.differential.steps import DELETE

Json = dict[str, Any]
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Feature:
    """A place in a scenario, and what is found there."""

    name: str
    of: str
    path: tuple[str, ...]
    like: re.Pattern[str] | None
    row: str = ""

    def is_in(self, parts: Mapping[str, list[Any]]) -> bool:
        return any(self._holds(value) for part in parts[self.of] for value in reached(part, self.path))

    def _holds(self, value: Any) -> bool:
        if self.like is None:
            return bool(value)
        return self.like.search(json.dumps(value, ensure_ascii=False)) is not None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Features in their order, the pairs that cannot be with the reason, and what is decided otherwise on purpose."""

    features: tuple[Feature, ...]
    apart: Mapping[Pair, str]
    wilful: tuple[Feature, ...]

    def of(self, scenario: Json) -> list[int]:
        """The places of the features that the scenario has, in order."""
        parts = parts_of(scenario)
        return [n for n, feature in enumerate(self.features) if feature.is_in(parts)]

    def wilful_of(self, scenario: Json) -> list[str]:
        parts = parts_of(scenario)
        return [feature.name for feature in self.wilful if feature.is_in(parts)]

    @property
    def pairs(self) -> list[Pair]:
        """The pairs that can be."""
        places = range(len(self.features))
        return [
            (one, other) for one, other in product(places, places) if one < other and (one, other) not in self.apart
        ]


def reached(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """The values at a path; `*` is every member, a number a place in a list."""
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        inside = list(value.values()) if step == "*" else [value[step]] if step in value else []
    elif isinstance(value, list):
        inside = value if step == "*" else value[int(step) :][:1] if step.isdigit() else []
    else:
        inside = []
    for each in inside:
        yield from reached(each, rest)


def parts_of(scenario: Json) -> dict[str, list[Any]]:
    """What a feature can be a feature of."""
    download, documents = scenario["policies"], documents_of(scenario)
    of_tags, of_resources = policies_of(scenario)
    zones = [zone for document in documents for zone in document.get("securityZones", {}).values()]
    levels = download["serviceDef"]["resources"]
    folded = {level["name"] for level in levels if ignores_case(level)}
    places = [*(policy.get("resources", {}) for policy in of_resources), *(r["resource"] for r in scenario["requests"])]
    return {
        "scenario": [scenario],
        "definition": [download["serviceDef"]],
        "level": levels,
        "download": [download],
        "policy": of_resources,
        "tag policy": of_tags,
        "zone": zones,
        "tags": [scenario[key] for key in ("tags", "laterTags") if scenario.get(key)],
        "document": documents[1:],
        "documents": [_told(documents)],
        "change": [change for held in (*documents[1:], *zones) for change in held.get("policyDeltas", ())],
        "request": scenario["requests"],
        "parent value": [
            {
                name: r["resource"].get(name)
                for name, scope in r.get("elementScopes", {}).items()
                if scope == "SELF_OR_CHILD"
            }
            for r in scenario["requests"]
        ],
        "folded value": [{name: value for name, value in place.items() if name in folded} for place in places],
    }


def _told(documents: list[Json]) -> list[Json]:
    """Each document by its zones, whether they moved, the levels of policies it replaces, and policies it deletes."""
    told: list[Json] = []
    known: Json = {}
    for document in documents:
        zones = document.get("securityZones", {})
        where = {name: zone["resources"] for name, zone in zones.items()}
        moved = bool(told) and where != told[-1]["where"]
        replaced, deleted = [], []
        for held in (document, *zones.values()):
            known |= {str(policy["id"]): policy for policy in held.get("policies", ())}
            for change in held.get("policyDeltas", ()):
                id_ = str(change["policy"]["id"])
                (deleted if change["changeType"] == DELETE else replaced).append(known.get(id_, {}))
                known[id_] = change["policy"]
        levels = [level for policy in (*replaced, *deleted) for level in levels_of(policy)]
        told.append({"where": where, "moved": moved, "replaced": levels, "deleted": deleted})
    return told


@cache
def vocabulary() -> Vocabulary:
    given = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))
    features = tuple(map(_feature, given["feature"]))
    place: Callable[[str], int] = [feature.name for feature in features].index
    apart: dict[Pair, str] = {}
    for row in given["apart"]:
        for one, other in product(map(place, row["one"]), map(place, row["other"])):
            apart[min(one, other), max(one, other)] = row["why"]
    return Vocabulary(features, apart, tuple(map(_feature, given["wilful"])))


def _feature(row: Json) -> Feature:
    path = tuple(row["at"].split(".")) if row["at"] else ()
    return Feature(row["name"], row["of"], path, re.compile(row["like"]) if "like" in row else None, row.get("row", ""))
