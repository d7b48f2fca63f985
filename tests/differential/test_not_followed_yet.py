"""Where this project does not decide as Java and should: the table at the end of docs/reference/ranger-semantics.md.

A case that fails here because ours has become Java's answer is done: take its row out of the page, and move the case
into the corpus.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from deliberate_differences import (
    ASKED,
    DEFINITION,
    OPEN,
    PACKAGE,
    TAG_CLOSES,
    TAG_DEFINITION,
    TAG_OPENS,
    A,
    Difference,
    T,
    changed,
    closed,
    item,
    on,
    policy,
    tagged,
    zone,
)
from java_engine import HarnessError, JavaEngine
from our_engine import decide

Json = dict[str, Any]

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "ranger-semantics.md"
NOT_TAKEN: Json = {"refused": True}


def scenario(policies: list[Json], more: Json | None = None, **asked: Any) -> Json:
    return Difference("", None, True, True, policies, more or {}, {**ASKED, **asked}).scenario


def ignoring_case() -> Json:
    options = {"wildCard": "true", "ignoreCase": "true"}
    return {
        "serviceDef": {**DEFINITION, "resources": [{**r, "matcherOptions": options} for r in DEFINITION["resources"]]}
    }


def by_cluster() -> Json:
    condition = {"name": "cluster", "evaluator": PACKAGE + "RangerAccessedFromClusterCondition"}
    given = tagged(policy(T, [item("t:read", conditions=[{"type": "cluster", "values": ["c1"]}])]))
    definition = {**TAG_DEFINITION, "policyConditions": [*TAG_DEFINITION["policyConditions"], condition]}
    return {**given, "tagPolicies": {**given["tagPolicies"], "serviceDef": definition}}


def filtered() -> Json:
    given = tagged(TAG_OPENS)
    config = {"ranger.plugin.audit.filters": "[{'isAudited': true}]"}
    tag_policies = {**given["tagPolicies"], "serviceConfig": config, "auditMode": "audit-none"}
    return {**given, "tagPolicies": tag_policies, "auditMode": "audit-none"}


def first_of_tags() -> Json:
    given = tagged()
    delta = changed(0, {**TAG_CLOSES, "id": 50, "serviceType": "tag"})["deltas"]
    return {**given, "deltas": {**delta, "tagPolicies": {**given["tagPolicies"], "policyVersion": 2}}}


UNNAMED_ZONE = {**zone(r0=["a"]), **changed(0, {**closed(), "id": 2})}
OTHER_ITEMS = policy(T, [item("other:read")], isDenyAllElse=True, isAuditEnabled=False)
NO_RESOURCES = {"securityZones": {"z": {"zoneName": "z", "resources": None, "policies": []}}}

CASES: dict[str, tuple[Json, Json, Json]] = {
    "a boolean as the text `0` (§1)": (scenario([{**OPEN, "isDenyAllElse": "0"}]), NOT_TAKEN, {"allowed": True}),
    "a zone whose resources are null (§1.1)": (scenario([OPEN], NO_RESOURCES), NOT_TAKEN, {"allowed": True}),
    "an empty list of requested values, and `*` (§5.1)": (
        scenario([policy(on(r0=["*"]), [item()])], resource={"r0": []}),
        {"allowed": True},
        {"allowed": False},
    ),
    "letters that `equalsIgnoreCase` and `toLowerCase` fold differently (§5.1)": (
        scenario(
            [policy(on(r0=["\u017fx"]), [], [item()]), policy(on(r0=["*"]), [item()])],
            ignoring_case(),
            resource={"r0": "sx"},
        ),
        {"allowed": True},
        {"allowed": False},
    ),
    "`?` and a character beyond U+FFFF (§5.1.1)": (
        scenario([policy(on(r0=["x?"]), [item()])], resource={"r0": "x😀"}),
        {"allowed": False},
        {"allowed": True},
    ),
    "`_any` with a list of access types (§9.1)": (
        scenario([OPEN], accessType="_any", allAccessTypes=["write"]),
        {"allowed": True},
        {"allowed": False},
    ),
    "an audit filter of the tag service, with `audit-none` (§11.3)": (
        scenario([OPEN], filtered()),
        {"audited": False},
        {"audited": True},
    ),
    "a tag policy with deny-all-else, not audited, without an item of the component (§14.1)": (
        scenario([OPEN], tagged(OTHER_ITEMS)),
        {"allowed": True},
        {"allowed": False},
    ),
    "tags in the request, where there is an enricher (§14.2)": (
        scenario([OPEN], tagged(TAG_CLOSES, resource=on(r0=["z"])), tags=[{"type": "T"}]),
        {"allowed": True},
        {"allowed": False},
    ),
    "scope `SELF_OR_PREFIX` where tags are looked up (§14.2)": (
        scenario(
            [policy(on(r0=["*"]), [item()])],
            tagged(TAG_CLOSES, resource=on(r0=["abc"])),
            resource={"r0": "ab"},
            elementScopes={"r0": "SELF_OR_PREFIX"},
        ),
        {"allowed": False},
        {"allowed": True},
    ),
    "a tag without a type (§14.2)": (
        scenario([OPEN], tagged(TAG_CLOSES, tag={"type": None})),
        {"allowed": False},
        {"allowed": True},
    ),
    "cluster name in a condition of a tag policy (§14.4)": (
        scenario([], by_cluster(), clusterName="c1"),
        {"allowed": False},
        {"allowed": True},
    ),
    "a zone that a document with deltas does not name (§17)": (
        scenario([OPEN], UNNAMED_ZONE),
        {"zone": None},
        {"zone": "z"},
    ),
    "a delta without `serviceType` (§17)": (
        scenario([OPEN], changed(0, {**closed(), "id": 2, "serviceType": None})),
        {"allowed": True},
        {"allowed": False},
    ),
    "a delta that makes an access policy one of another type (§17)": (
        scenario([OPEN], changed(1, {**policy(A, []), "policyType": 1})),
        {"allowed": True},
        {"allowed": False},
    ),
    "the first policy of the tag service, by a delta (§17)": (
        scenario([OPEN], first_of_tags()),
        {"allowed": True},
        {"allowed": False},
    ),
}
"""By row: what is asked, Java's answer, ours."""


def said(answers: list[Json], fields: Json) -> Json:
    return {name: answers[0].get(name) for name in fields}


@pytest.mark.java
@pytest.mark.parametrize("row", CASES)
def test_java_answers_as_the_page_says(java: JavaEngine, row: str) -> None:
    asked, theirs, _ = CASES[row]
    if theirs is NOT_TAKEN:
        with pytest.raises(HarnessError):
            java.decide(asked)
    else:
        assert said(java.decide(asked), theirs) == theirs


@pytest.mark.parametrize("row", CASES)
def test_ours_still_differs(row: str) -> None:
    asked, _, ours = CASES[row]
    assert said(decide(asked), ours) == ours


def test_the_page_has_these_rows() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("\n## 24.")[2]
    assert re.findall(r"^\| (?!rule|---)(.+?) \|", table, re.MULTILINE) == list(CASES)
