"""Rows of patterns in a matrix: the engine's answer on every entity of a small universe agrees with its row."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId, entity_id, to_resource
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.engine import AccessRequest, PolicyEngine, Verdict
from ranger_cdap.engine.decide.acl import ANONYMOUS_USER
from ranger_cdap.tools.questions.matrix import ActionAccess, MatrixSubject
from ranger_cdap.tools.questions.namespace_matrix import NamespaceMatrix, namespace_matrix
from tests.cli.fixtures import Json, download, item, policy

IP = "org.apache.ranger.plugin.conditionevaluator.RangerIpMatcher"
NOW = 1_790_000_000_000
NAMES = ["".join(letters) for length in (1, 2, 3) for letters in product("abx", repeat=length)]
PROGRAMS = [f"{kind}.{name}" for kind in ("service", "worker") for name in ("a", "b", "ab")]
UNIVERSE = [entity_id("dataset", ["ns1", name]) for name in NAMES] + [
    entity_id("program", ["ns1", app, program]) for app in ("a", "b", "ab") for program in PROGRAMS
]
USERS, GROUPS = ("a", "bob", "cid"), ("g", "h")
ADDRESSES = ("10.1.0.1", "10.2.0.1", None)
MEMBERS = {"bob": ["g"], "cid": ["g", "h"]}
PATTERNS = ("*", "?*", "a*", "*a*", "*b", "??", "a?", "ab", "b", "{USER}", "{USER}*", "x*x", "a b*")
SETS = 120 * (int(os.environ.get("FUZZ_TIMES", "0")) or 1)
PART = "in part"
WANTED = {Verdict.ALLOWED, Verdict.CONDITIONAL, Verdict.DENIED, Verdict.NO_POLICY, PART}


def items() -> st.SearchStrategy[list[Json]]:
    who = st.one_of(
        st.sampled_from(USERS).map(lambda user: {"users": [user]}),
        st.sampled_from((*GROUPS, "public")).map(lambda group: {"groups": [group]}),
    )
    conditions = st.sampled_from(([], [], [{"type": "ip", "values": ["10.1.*"]}]))
    one = st.builds(lambda who, c: {**item("read", **who), "conditions": c}, who, conditions)
    return st.lists(one, min_size=1, max_size=2)


def values(*names: str) -> st.SearchStrategy[Json]:
    several = st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)
    return st.builds(lambda v, e: {"values": v, "isExcludes": e}, several, st.sampled_from([False] * 7 + [True]))


RESOURCES = st.one_of(
    st.fixed_dictionaries({"dataset": values(*PATTERNS)}),
    st.fixed_dictionaries({"dataset": values(*PATTERNS)}),
    st.fixed_dictionaries(
        {"application": values("*", "a", "a*", "b"), "program": values("*", "service.*", "*.a", "worker.b", "*.a?")}
    ),
)
POLICIES = st.lists(
    st.builds(
        lambda resources, allow, deny, both, all_else: {
            "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}, **resources},
            "policyItems": [] if both == 1 else allow,
            "denyPolicyItems": deny if both else [],
            "isDenyAllElse": all_else,
        },
        RESOURCES,
        items(),
        items(),
        st.sampled_from((0, 0, 1, 2)),
        st.sampled_from([False] * 9 + [True]),
    ),
    min_size=1,
    max_size=6,
)


def shown(folder: Path, policies: list[Json], inventory: list[EntityId]) -> tuple[NamespaceMatrix, PolicyEngine]:
    numbered = [{**policy(n, {}), **one} for n, one in enumerate(policies, 1)]
    definition = {**servicedef.service_definition(), "policyConditions": [{"name": "ip", "evaluator": IP}]}
    (folder / "policies.json").write_text(json.dumps(download(numbered, serviceDef=definition)))
    (folder / "users.json").write_text(json.dumps({"userGroupMapping": MEMBERS}))
    with Authorizer.from_policies(folder / "policies.json", userstore=folder / "users.json") as authorizer:
        wanted = entity_id("namespace", ["ns1"])
        found = namespace_matrix(authorizer, wanted, entities=inventory, users=USERS, groups=GROUPS, now=NOW)
        assert authorizer.snapshot.engine is not None
        return found, authorizer.snapshot.engine


def in_row(entity: EntityId, row: EntityPattern, rows: list[Any]) -> bool:
    """By comparing what the patterns match in the universe rather than the patterns."""

    def has(pattern: EntityPattern, one: EntityId) -> bool:
        parts = [re.compile(".*".join(map(re.escape, part.split("*")))) for part in pattern.parts]
        return pattern.type == one.type and all(map(re.Pattern.fullmatch, parts, one.parts))

    def matched(pattern: EntityPattern) -> set[EntityId]:
        return {one for one in UNIVERSE if has(pattern, one)}

    if entity in rows or not has(row, entity):
        return False
    others = (one for one in rows if isinstance(one, EntityPattern) and has(one, entity))
    return not any(matched(other) < matched(row) for other in others)


def answers(engine: PolicyEngine, subject: MatrixSubject, entity: EntityId, action: str) -> Verdict:
    user = subject.name if subject.kind == "user" else ANONYMOUS_USER
    allowed = {
        engine.evaluate(
            AccessRequest(
                to_resource(entity, "cdap"),
                action.lower(),
                user,
                frozenset(subject.groups),
                client_ip=address,
                access_time=NOW,
            )
        ).allowed
        for address in ADDRESSES
    }
    if len(allowed) == 2:
        return Verdict.CONDITIONAL
    return Verdict.ALLOWED if allowed == {True} else Verdict.NO_POLICY


def plain(status: Verdict) -> Verdict:
    return Verdict.NO_POLICY if status is Verdict.DENIED else status


def answered(mark: ActionAccess) -> Verdict | str:
    return PART if mark.in_part else mark.verdict


def must_agree(mark: ActionAccess, truths: set[Verdict]) -> None:
    if mark.parts:
        assert truths <= {plain(part.access.verdict) for part in mark.parts}
    elif truths:
        assert truths == {plain(mark.verdict)}


@pytest.mark.slow
def test_the_engine_agrees_with_a_row_on_every_entity_of_it(tmp_path: Path) -> None:
    counted = Counter[Verdict | str]()

    @settings(max_examples=SETS, deadline=None, database=None, phases=[Phase.explicit, Phase.generate])
    @given(POLICIES, st.lists(st.sampled_from(UNIVERSE), max_size=3))
    @example([dataset_policy("?*")], [])
    @example([dataset_policy("*"), dataset_policy("{USER}")], [])
    def holds(policies: list[Json], inventory: list[EntityId]) -> None:
        found, engine = shown(tmp_path, policies, inventory)
        rows = list(found.matrix.entities)
        for row, cells in zip(rows, found.matrix.rows, strict=True):
            alone = isinstance(row, EntityId)
            here = [row] if alone else [entity for entity in UNIVERSE if in_row(entity, row, rows)]
            for subject, cell in zip(found.matrix.subjects, cells, strict=True):
                for action, mark in cell.marks:
                    if action not in ("READ", "WRITE"):
                        continue
                    counted[answered(mark)] += 1
                    assert mark.verdict is not Verdict.UNDECIDED
                    must_agree(mark, {answers(engine, subject, entity, action) for entity in here})
                    for part in mark.parts:
                        assert in_row(part.example, row, rows)
                        assert plain(part.access.verdict) is answers(engine, subject, part.example, action)
                    assert mark.in_part <= (len(mark.parts) > 1)
                    assert bool(mark.depends) is (answered(mark) is Verdict.CONDITIONAL)

    holds()
    assert set(counted) == WANTED


@pytest.mark.parametrize(
    ("pattern", "user", "expected"),
    [
        ("?*", "ann", Verdict.ALLOWED),
        ("??", "ann", PART),
        ("home_{USER}", "ann", PART),
        ("a b*", "ann", None),
    ],
)
def test_a_value_without_a_row_of_its_own_is_seen(
    tmp_path: Path, pattern: str, user: str, expected: Verdict | str | None
) -> None:
    one = dataset_policy(pattern)
    one["policyItems"] = [item("read", users=[user])]
    found, _ = shown(tmp_path, [one], [])
    marks = {
        (str(subject), action): answered(mark)
        for row, cells in zip(found.matrix.entities, found.matrix.rows, strict=True)
        if row.type == "dataset"
        for subject, cell in zip(found.matrix.subjects, cells, strict=True)
        for action, mark in cell.marks
    }
    assert marks.get((f"user {user}", "READ")) is expected
    assert marks.get(("everybody", "READ")) is (None if expected is None else Verdict.NO_POLICY)


def test_names_with_rows_of_their_own_stand_for_nothing_else(tmp_path: Path) -> None:
    """The shortest names are taken, and denied: those of the row have others."""
    taken = [entity_id("dataset", ["ns1", name]) for name in ("x", "any_name", "x1", "_0", "q7z", "a", "y")]
    deny = dataset_policy("x")
    deny["resources"]["dataset"]["values"] = [one.parts[1] for one in taken]
    deny |= {"policyItems": [], "denyPolicyItems": [item("read", groups=["public"])]}
    found, _ = shown(tmp_path, [dataset_policy("*"), deny], taken)
    at = found.matrix.entities.index(EntityPattern("dataset", ("ns1", "*")))
    assert {dict(cell.marks)["READ"].verdict for cell in found.matrix.rows[at]} == {Verdict.ALLOWED}
    assert {action for cell in found.matrix.rows[at] for action, _ in cell.marks} == set(ACTIONS)


def test_below_another_name_there_are_names_without_rows(tmp_path: Path) -> None:
    """The program of each application that would be named first has a row of its own."""
    resources = {"instance": "cdap", "namespace": "ns1", "application": "*"}
    levels = {level: {"values": [value]} for level, value in resources.items()}
    excluded = levels | {"program": {"values": ["worker.b"], "isExcludes": True}}
    one = {"resources": excluded, "policyItems": [item("read", groups=["public"])]}
    taken = [entity_id("program", ["ns1", name, "worker.b"]) for name in ("x", "any_name", "x1", "_0", "q7z", "y")]
    found, _ = shown(tmp_path, [one], taken)
    at = found.matrix.entities.index(EntityPattern("program", ("ns1", "*", "*")))
    for cell in found.matrix.rows[at]:
        mark = dict(cell.marks)["READ"]
        assert (mark.in_part, mark.depends) == (True, "")
        assert {part.example.parts[2] == "worker.b": part.access.verdict for part in mark.parts} == {
            True: Verdict.NO_POLICY,
            False: Verdict.ALLOWED,
        }


def dataset_policy(pattern: str) -> Json:
    resources = {"instance": "cdap", "namespace": "ns1", "dataset": pattern}
    return {
        "resources": {level: {"values": [value]} for level, value in resources.items()},
        "policyItems": [item("read", groups=["public"])],
    }
