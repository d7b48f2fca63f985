"""Resources of policies as entities and patterns: what is spelled is the same resource, and all else stays."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.view import compile_element
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.tools.analysis.row_text import LevelText, resource_text
from ranger_cdap.tools.questions.entity_spelling import entity_spelling
from tests.cdap.test_spelling import ENTITIES
from tests.cli.fixtures import download

SPELLED = entity_spelling("cdap")
LEVELS = PolicyEngine.build(decode_service_policies(json.dumps(download([])).encode())).view.model.levels
DATASET = ("instance", "namespace", "dataset")
PROGRAM = ("instance", "namespace", "application", "program")


def levels(*values: str | tuple[str, ...]) -> list[LevelText]:
    return [LevelText((one,) if isinstance(one, str) else one) for one in values]


ASKED = {
    "an entity": (DATASET, levels("cdap", "ns1", "a.b"), "dataset:ns1.a.b"),
    "a pattern": (DATASET, levels("cdap", "ns1", "sales*"), "dataset:ns1.sales*"),
    "every name": (DATASET, levels("cdap", "*", "?*"), "dataset:*.*"),
    "several values": (DATASET, levels("cdap", "ns1", ("a", "b*")), "dataset:ns1.a, dataset:ns1.b*"),
    "programs of a type": (PROGRAM, levels("cdap", "ns1", "app", "workflow.*"), "program:ns1.app.workflow.*"),
    "the instance": (DATASET[:1], levels("cdap"), "instance:"),
}
LEFT = {
    "another instance": (DATASET, levels("other", "ns1", "kv")),
    "several instances": (DATASET, levels("*", "ns1", "kv")),
    "several values of several levels": (DATASET, levels("cdap", ("ns1", "ns2"), ("a", "b"))),
    "an excluded value": (DATASET, [*levels("cdap", "ns1"), LevelText(("x",), excludes=True)]),
    "one character": (DATASET, levels("cdap", "ns1", "a?")),
    "a macro": (DATASET, levels("cdap", "ns1", "{USER}")),
    "a name that CDAP has not": (DATASET, levels("cdap", "ns1", "a b")),
    "a separator in a name": (DATASET, levels("cdap", "ns.1", "kv")),
    "no program type": (PROGRAM, levels("cdap", "ns1", "app", "work*")),
    "another service": (("database", "table"), levels("sales", "orders")),
    "another service's level of that name": (("instance", "dataset"), levels("cdap", "kv")),
    "the root": ((), []),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_resource_is_spelled_as_it_is_asked(name: str) -> None:
    path, values, text = ASKED[name]
    assert SPELLED(path, values) == text


@pytest.mark.parametrize("name", LEFT)
def test_a_resource_that_no_pattern_is_equal_to_stays(name: str) -> None:
    path, values = LEFT[name]
    assert SPELLED(path, values) == resource_text(path, values)


NAMES = ["".join(letters) for length in (1, 2, 3) for letters in product("ab.", repeat=length)]


@given(st.lists(st.text("ab.*?", min_size=1, max_size=4), min_size=1, max_size=2, unique=True))
@example(["?*"])
def test_what_is_spelled_covers_the_very_same_entities(values: list[str]) -> None:
    """Every name of few characters, as the engine matches it."""
    text = SPELLED(DATASET, levels("cdap", "ns1", tuple(values)))
    try:
        patterns = [parse_pattern(one) for one in text.split(", ")]
    except InvalidInput:
        assert "?" in text
        return
    options = LEVELS["dataset"]
    policy = compile_element(values, False, options)
    asked = compile_element([one.parts[-1] for one in patterns], False, options)
    assert [name for name in NAMES if policy.covers(name, None)] == [name for name in NAMES if asked.covers(name, None)]


@given(ENTITIES)
def test_every_entity_is_spelled_as_itself(entity: EntityId) -> None:
    resource = to_resource(entity, "cdap")
    assert SPELLED(tuple(resource), levels(*resource.values())) == str(entity)
