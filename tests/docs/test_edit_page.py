"""The page on Ranger's web UI: what it says a form decides, by the engine; codes and labels are those of the code."""

from __future__ import annotations

import re

import msgspec
import pytest

import servicedef
from ranger_cdap.cdap.entity import parse_entity, to_resource
from ranger_cdap.cdap.grant import CREATORS_LABEL
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.engine.model.problem import ProblemCode
from ranger_cdap.ranger.client.downloader import COMMANDS
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.tools.policies.lint import LintCode
from ranger_cdap.tools.policies.needed_policies import PLAN_LABEL
from ranger_cdap.tools.roles.role_plan import ROLE_LABEL
from tests.docs.markdown_pages import ROOT, text_of

PAGE = ROOT / "docs" / "how-to" / "edit-policies-in-ranger.md"
NO_RULE = "\N{EN DASH}"
ROWS = re.findall(r"^\| [^|]+ \| `cdap` \| `sales` \| (`[^`]+`|\*none\*) \| ([^|]+) \|$", text_of(PAGE), re.MULTILINE)
ON = {
    "dataset:sales.orders": ("orders", "every dataset", "the same"),
    "dataset:sales.other": ("every dataset", "the same"),
    "namespace:sales": ("the namespace",),
    "application:sales.app": (),
}


def engine(dataset: str) -> PolicyEngine:
    levels = {
        "instance": "cdap",
        "namespace": "sales",
        **({} if dataset == "*none*" else {"dataset": dataset.strip("`")}),
    }
    policy = {
        "id": 1,
        "name": "p",
        "resources": {level: {"values": [value]} for level, value in levels.items()},
        "policyItems": [{"users": ["ann"], "accesses": [{"type": "read"}]}],
    }
    document = {"serviceName": "cdapdev", "policyVersion": 1, "policies": [policy]}
    document["serviceDef"] = servicedef.service_definition()
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))


def test_the_table_has_every_way() -> None:
    assert [dataset for dataset, _ in ROWS] == ["`orders`", "`?*`", "`*`", "*none*"]


@pytest.mark.parametrize(("dataset", "decides"), ROWS)
def test_a_form_decides_on_what_the_page_says(dataset: str, decides: str) -> None:
    by = engine(dataset)
    for entity, words in ON.items():
        asked = AccessRequest(to_resource(parse_entity(entity), "cdap"), "read", "ann")
        assert by.evaluate(asked).allowed == any(word in decides for word in words), entity


def test_the_codes_and_labels_of_the_page_are_those_of_the_code() -> None:
    text = text_of(PAGE)
    known = {code.value for code in (*LintCode, *ProblemCode)}
    named = set(re.findall(r"\(`([a-z]+-[a-z-]+)`\)|as `([a-z]+-[a-z-]+)`", text))
    assert {one or other for one, other in named} <= known
    assert named
    for label in (CREATORS_LABEL, PLAN_LABEL, ROLE_LABEL):
        assert f"| `{label}` |" in text
    assert f"`{COMMANDS}`" in text


def test_the_page_says_of_each_level_what_the_form_does_not_show() -> None:
    levels = [
        f"| {row['label']} | {row['description']} | {row['validationMessage'] or NO_RULE} |"
        for row in servicedef.service_definition()["resources"]
    ]
    assert "\n".join(levels) in text_of(PAGE)
