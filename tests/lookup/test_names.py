"""What is offered: exactly the existing names that the account may see and that match what was typed and chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.errors import InvalidInput
from servicedef import NOT_LISTED, service_definition
from tests.lookup.ranger_service import RangerService, other_account
from tests.lookup.stub_cdap import PATHS, Parts, Server, World, configs, serving

pytestmark = pytest.mark.java

LEVELS = [row["name"] for row in service_definition()["resources"]]
WITHIN = [level for level in LEVELS if len(PATHS[level]) > 1 and level not in {"topic", "principal"}]
ODD = ("*", "a*", "?", "a b", "", "ü", "../a", "a/b", "a\n", "{USER}", "A", "b\\", "%2e")
KINDS = ("workflow", "service", "mapreduce")

names = st.one_of(st.text("ab1", min_size=1, max_size=3), st.sampled_from(ODD))
safe_parents = st.sampled_from(["a", "b", "ab"])
values = st.one_of(safe_parents, safe_parents, st.sampled_from(["*", "a*", "?", "*b", "..", "a/b", "{USER}"]))
inputs = st.one_of(
    st.just(""), st.text("abAB1*?", max_size=3), st.sampled_from([" a", "w", "workflow.a", "a b", "%", "&"])
)


def children(level: str) -> st.SearchStrategy[str]:
    return st.builds("{}.{}".format, st.sampled_from(KINDS), names) if level == "program" else names


some = st.lists(values, min_size=1, max_size=2)
choices = st.fixed_dictionaries({"namespace": some, "application": some, "stream": some}, optional={"dataset": some})


@st.composite
def entity_sets(draw: st.DrawFn) -> dict[str, frozenset[Parts]]:
    """A few entities of each level, in few enough parents that all are asked; namespaces are as CDAP has them."""
    made: dict[str, frozenset[Parts]] = {}
    for level in WITHIN:
        parent = PATHS[level][-2]
        above = sorted(made[parent]) if parent != "instance" else [()]
        own = st.one_of(safe_parents, st.just("system")) if level == "namespace" else children(level)
        own = safe_parents if level in ("application", "stream") else own
        pairs = st.builds(lambda parts, name: (*parts, name), st.sampled_from(above), own) if above else st.nothing()
        made[level] = draw(st.frozensets(pairs, min_size=1, max_size=5)) if above else frozenset()
    return made


@st.composite
def worlds(draw: st.DrawFn) -> World:
    entities = draw(entity_sets())
    everything = [(level, parts) for level, several in sorted(entities.items()) for parts in sorted(several)]
    hidden = st.frozensets(st.sampled_from(everything), max_size=4) if everything else st.just(frozenset())
    namespaces = sorted(parts[0] for parts in entities["namespace"])
    principals = st.dictionaries(st.sampled_from(namespaces), st.sampled_from(["etl@X", "a/b@X", "a b", "*"]))
    return World(
        entities,
        {other_account(): draw(hidden), other_account(): draw(hidden)},
        draw(principals) if namespaces else {},
    )


def glob(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern), flags | re.DOTALL)


def can_be_granted(level: str, parts: Parts) -> bool:
    """Whether grants take the name: the last part, within parents that are as they should be."""
    with suppress(InvalidInput):
        return bool(entity_id(level, (*["a"] * (len(parts) - 1), parts[-1])))
    return False


def expected(world: World, account: str, level: str, typed: str, chosen: Mapping[str, Sequence[str]]) -> list[str]:
    wanted = glob(typed.strip() + "*", re.IGNORECASE)
    above = PATHS[level][1:-1]
    return sorted(
        {
            parts[-1]
            for parts in world.visible(account, level)
            if all(
                any(glob(v).fullmatch(part) for v in chosen.get(at, ())) for at, part in zip(above, parts, strict=False)
            )
            and can_be_granted(level, parts)
            and parts[-1] not in chosen.get(level, ())
            and (wanted.fullmatch(parts[-1]) or (level == "program" and wanted.fullmatch(parts[-1].partition(".")[2])))
        }
    )


@dataclass
class Drawn:
    """What the server shows at the moment."""

    world: World = field(default_factory=lambda: World({}), repr=False)


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return Drawn()


@pytest.fixture(scope="module")
def cdap(drawn: Drawn) -> Any:
    with serving(lambda asked: drawn.world.answer(asked)) as server:
        yield server


@settings(max_examples=120)
@given(
    world=worlds(),
    by_token=st.booleans(),
    typed=inputs,
    chosen=choices,
)
def test_exactly_the_visible_names_that_match_are_offered(
    ranger_service: RangerService,
    drawn: Drawn,
    cdap: Server,
    world: World,
    by_token: bool,
    typed: str,
    chosen: dict[str, list[str]],
) -> None:
    drawn.world = World(world.entities, world.hidden, world.principals, f"{cdap.url}/token" if by_token else "")
    for level in [*WITHIN, "principal"]:
        for account in world.hidden:
            offered = ranger_service.names(configs(cdap, account), level, typed, chosen)
            assert offered == expected(world, account, level, typed, chosen), level


def test_names_that_mean_something_else_in_a_policy_are_not_offered(
    ranger_service: RangerService, drawn: Drawn, cdap: Server
) -> None:
    longest = "d" * 1_000
    odd = [*ODD, longest + "d", "\u202ename", "name\x00", "*.*"]
    drawn.world = World(
        {"namespace": frozenset({("ns",)}), "dataset": frozenset(("ns", name) for name in [*odd, longest])}
    )

    offered = ranger_service.names(configs(cdap, other_account()), "dataset", "", {"namespace": ["ns"]})

    assert offered == ["A", longest]


@pytest.mark.parametrize(
    ("level", "resources", "offered"),
    [
        ("instance", {}, ["prod"]),
        ("instance", {"instance": ["prod"]}, []),
        ("namespace", {"instance": ["prod"]}, ["ns"]),
        ("namespace", {"instance": ["other", "p*"]}, ["ns"]),
        ("namespace", {"instance": ["other"]}, []),
        ("namespace", {"instance": ["*"], "namespace": ["ns"]}, []),
        ("dataset", {"instance": ["prod"]}, []),
        ("dataset", {"instance": ["prod"], "namespace": []}, []),
        ("dataset", {"instance": ["other"], "namespace": ["ns"]}, []),
        ("topic", {"instance": ["prod"], "namespace": ["ns"]}, []),
        ("no_such_level", {}, []),
        (None, {}, []),
        ("namespace", None, ["ns"]),
        ("namespace", {"namespace": None}, ["ns"]),
    ],
)
def test_what_was_chosen_above_narrows_what_is_offered(
    ranger_service: RangerService,
    drawn: Drawn,
    cdap: Server,
    level: str,
    resources: dict[str, list[str]],
    offered: list[str],
) -> None:
    drawn.world = World({"namespace": frozenset({("ns",)}), "dataset": frozenset({("ns", "d")})})
    prod = configs(cdap, other_account(), **{"cdap.instance.name": "prod"})

    assert ranger_service.names(prod, level, None, resources) == offered


def test_every_level_with_look_up_is_known_to_the_jar_and_no_other(
    ranger_service: RangerService, drawn: Drawn, cdap: Server
) -> None:
    one = {level: frozenset({tuple(f"{at}1" for at in PATHS[level][1:])}) for level in WITHIN}
    one["program"] = frozenset({("namespace1", "application1", "workflow.p")})
    one["credential_profile"] = frozenset({("namespace1", "c1")})
    one["credential_identity"] = frozenset({("namespace1", "c1")})
    drawn.world = World(one, principals={"namespace1": "etl/host@EXAMPLE"})
    everything = {level: [f"{level}1"] for level in ("namespace", "application", "stream")}
    account = configs(cdap, other_account())

    offering = {
        level
        for level in LEVELS
        if ranger_service.names(account, level, "", {at: v for at, v in everything.items() if at != level})
    }

    assert offering == set(LEVELS) - NOT_LISTED


def test_of_ten_thousand_names_some_hundreds_are_offered_and_typing_finds_each(
    ranger_service: RangerService, drawn: Drawn, cdap: Server
) -> None:
    many = {(f"ns{n:05}",) for n in range(10_000)}
    apps = frozenset(("ns00000", f"app{n:05}") for n in range(10_000))
    datasets = frozenset(("ns00000", f"data{n:05}") for n in range(10_000))
    drawn.world = World({"namespace": frozenset(many), "application": apps, "dataset": datasets}, page=1_000)
    account = configs(cdap, other_account())

    for level, prefix in (("namespace", "ns"), ("application", "app"), ("dataset", "data")):
        chosen = {} if level == "namespace" else {"namespace": ["ns00000"]}
        assert ranger_service.names(account, level, "", chosen) == [f"{prefix}{n:05}" for n in range(500)]
        assert ranger_service.names(account, level, f"{prefix}0999", chosen) == [
            f"{prefix}{n:05}" for n in range(9_990, 10_000)
        ]
