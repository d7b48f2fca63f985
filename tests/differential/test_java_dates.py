"""Dates in tags, and the scripts about them, as Ranger's engine has them with a JavaScript engine beside it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from ranger_cdap.engine import EngineOptions
from ranger_cdap.engine.compiled.tag_date import read_date
from tests.date_texts import DATES, ONLY_JAVA_READS, at, date_texts
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import decide
from tests.differential.phenomena_tags import tag_definition
from tests.differential.small_documents import DEFINITION, OPEN, PACKAGE, item, on, policy
from tests.differential.strategies import numbered

Json = dict[str, Any]

pytestmark = pytest.mark.java

VALUES = ("yes", "No", "TRUE", "false", "fal\u017fe", "maybe", " no ", "", " ")
SCRIPTS = {"after": "ctx.isAccessedAfter('date');", "before": ' ctx . isAccessedBefore\n( "date" ) '}
MOMENTS = [at("2026-11-22") + offset for offset in (-86_400_000, -1, 0, 1, 86_400_000)]


def scenario(texts: list[str | None], values: tuple[str, ...] = ("yes", "no"), times: list[int] = MOMENTS) -> Json:
    """Each text as the date of a tag, under each condition that denies, at each time; None for a tag without a date."""
    evaluator = PACKAGE + "RangerScriptTemplateConditionEvaluator"
    conditions = [
        {"name": name, "evaluator": evaluator, "evaluatorOptions": {"scriptTemplate": script}}
        for name, script in SCRIPTS.items()
    ]
    kinds = [(name, value) for name in SCRIPTS for value in values]
    closing = [
        policy(on(tag=[f"T{n}"]), [], [item("t:read", conditions=[{"type": name, "values": [value]}])])
        for n, (name, value) in enumerate(kinds)
    ]
    tag_service = tag_definition({**DEFINITION, "policyConditions": conditions}, with_enricher=False)
    linked = {"serviceName": "tags", "policyVersion": 1, "serviceDef": tag_service}
    download = {"serviceName": "s", "policyVersion": 1, "serviceDef": DEFINITION, "policies": numbered([OPEN])}
    requests = [
        {
            "resource": {"r0": "a"},
            "user": "alice",
            "accessType": "read",
            "accessTime": moment,
            "tags": [{"type": f"T{n}", "attributes": {} if text is None else {"date": text}}],
        }
        for text in texts
        for n in range(len(kinds))
        for moment in times
    ]
    policies = numbered(closing, first=100, names="tag policy")
    return {"policies": {**download, "tagPolicies": {**linked, "policies": policies}}, "requests": requests}


def allowed(answers: list[Json]) -> list[bool]:
    return [answer["allowed"] for answer in answers]


def differing(asked: Json, one: list[Json], other: list[Json]) -> list[Json]:
    rows = zip(asked["requests"], allowed(one), allowed(other), strict=True)
    return [request for request, a, b in rows if a != b]


def test_a_date_means_what_it_means_to_java(java_with_javascript: JavaEngine) -> None:
    asked = scenario([None, *(text for text, _ in DATES)], times=[1, at("2026-11-22")])
    assert differing(asked, decide(asked), java_with_javascript.decide(asked)) == []


def test_around_each_date_java_turns_at_the_same_millisecond(java_with_javascript: JavaEngine) -> None:
    for text, moment in DATES:
        if moment is not None and (date := at(moment)) > 1:
            asked = scenario([text], times=[date - 1, date, date + 1])
            assert differing(asked, decide(asked), java_with_javascript.decide(asked)) == []


def test_a_value_means_what_it_means_to_java(java_with_javascript: JavaEngine) -> None:
    asked = scenario([None, "2026/11/22"], VALUES)
    assert differing(asked, decide(asked), java_with_javascript.decide(asked)) == []


def test_what_only_java_reads_it_does_read(java_with_javascript: JavaEngine) -> None:
    asked = scenario([None, *ONLY_JAVA_READS], times=[1])
    each = len(SCRIPTS) * 2
    answers = allowed(java_with_javascript.decide(asked))
    without_date, *others = (answers[n : n + each] for n in range(0, len(answers), each))
    assert [text for text, row in zip(ONLY_JAVA_READS, others, strict=True) if row == without_date] == []


def test_what_is_read_is_read_alike_and_what_is_not_never_allows_more(java_with_javascript: JavaEngine) -> None:
    texts: dict[str | None, None] = {}

    @settings(
        max_examples=150,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(date_texts)
    def collect(text: str) -> None:
        texts[text] = None

    collect()
    asked = scenario(list(texts), times=[at("2026-11-22")])
    java = java_with_javascript.decide(asked)
    unreadable = {text for text in texts if text is not None and read_date(text) is None}
    assert 20 < len(unreadable) < len(texts) - 20
    wrong = [r for r in differing(asked, decide(asked), java) if r["tags"][0]["attributes"]["date"] not in unreadable]
    assert wrong == []
    safe = decide(asked, EngineOptions())
    assert [r for r, a, b in zip(asked["requests"], allowed(safe), allowed(java), strict=True) if a and not b] == []
