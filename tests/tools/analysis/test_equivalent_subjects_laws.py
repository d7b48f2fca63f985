"""Subjects whom no policy near a resource tells apart: each of them has the same cells there."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain, combinations, product
from random import Random

import pytest
from hypothesis import given

from ranger_cdap.engine import Verdict
from ranger_cdap.tools.analysis.access_paths import Cell, CellFinder
from ranger_cdap.tools.analysis.subject import Subject
from ranger_cdap.tools.questions.cell_text import dependence, item_of_cell
from tests.tools.analysis.small_sets import ACCESSES, GROUPS, USERS, VALUES, definition, engine, numbered
from tests.tools.analysis.test_effective_access_laws import drawn_set
from tests.tools.analysis.test_impact_laws import EVERYTHING, drawn, features_of, randoms

SUBJECTS = [
    Subject(user, frozenset(groups))
    for user, groups in product(
        (*USERS, "w", "a"), chain.from_iterable(combinations((*GROUPS, "k"), n) for n in range(3))
    )
]
RESOURCES = [{}, *({"base": one} for one in VALUES[:3]), *({"base": a, "table": b} for a, b in product("ab", VALUES))]


def shown(cell: Cell) -> Hashable:
    items = [(item_of_cell(one), one.effective) for one in (*cell.allowing, *cell.denying)]
    return cell.verdict, dependence(cell), tuple(items), cell.decided_by


@pytest.mark.parametrize("kind", ["plain", "conditions", "macros", EVERYTHING])
def test_subjects_of_one_class_have_the_same_cells(kind: str) -> None:
    features, counted = features_of(kind), {"shared": 0, "apart": 0}

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        cells = CellFinder(made[1])
        for resource in random.sample(RESOURCES, 3):
            found: dict[Hashable, Hashable] = {}
            for subject in random.sample(SUBJECTS, 12):
                key, access = cells.class_of(subject, resource), random.choice(ACCESSES)
                cell = shown(cells.cell(subject, resource, access))
                counted["shared" if (key, access) in found else "apart"] += 1
                assert found.setdefault((key, access), cell) == cell, (subject, resource)

    holds()
    assert min(counted.values()) > 20, counted


def test_where_a_resource_names_the_user_each_is_a_class() -> None:
    policies = numbered(
        [
            {
                "resources": {"base": {"values": ["{USER}"]}},
                "policyItems": [{"groups": ["public"], "accesses": [{"type": "read"}]}],
            }
        ]
    )
    documents = {"serviceName": "s", "serviceDef": definition(False), "policies": policies}
    cells = CellFinder(engine({"policies": documents, "roles": {}}))
    mine, other, resource = Subject("a"), Subject("u"), {"base": "a"}
    assert cells.class_of(mine, resource) != cells.class_of(other, resource)
    found = [cells.cell(one, resource, "read").verdict for one in (mine, other)]
    assert found == [Verdict.ALLOWED, Verdict.NO_POLICY]
