"""The law of spelling: every entity and pattern that a command prints can be asked again, and is the same."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import Json, dataset, item, policy
from tests.tools.cli.test_access_review_law import files, policies

WORD = re.compile(rf"(?<![\w.])(?:instance:|(?:{'|'.join(sorted(entity_types()))}):[$./@*\w-]+)", re.ASCII)
ANSWERS = {ExitCode.OK, ExitCode.NO, ExitCode.ACCESS_CHANGED}
NAMES = ("ns1", "n*", "*", "?*", "{USER}", "ns-1")
LONG = "a-long-name" * 20
INNER = {
    "dataset": ("kv", "sales*", "a.b", "*", "?*", "s?", "{USER}.x", "x y", LONG),
    "application": ("shop", "s*", "*"),
    "artifact": ("core.lib", "core*", "?*"),
}
PROGRAMS = ("workflow.*", "spark.Job-1", "*.Job", "work*", "*", "?*")


def level(names: tuple[str, ...]) -> st.SearchStrategy[Json]:
    values = st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)
    return st.builds(
        lambda one, excludes: {"values": one, "isExcludes": excludes}, values, st.sampled_from([False] * 4 + [True])
    )


def resources() -> st.SearchStrategy[Json]:
    above = {"instance": st.sampled_from(["cdap", "cdap", "c*", "other"]).map(lambda one: {"values": [one]})}
    inside = {**above, "namespace": level(NAMES)}
    inner = [st.fixed_dictionaries({**inside, name: level(names)}) for name, names in INNER.items()]
    programs = st.fixed_dictionaries({**inside, "application": level(INNER["application"]), "program": level(PROGRAMS)})
    return st.one_of(st.fixed_dictionaries(above), st.fixed_dictionaries(inside), *inner, programs)


SETS = st.lists(policies(resources()), min_size=1, max_size=4)
WORLD = {
    "tagPolicies": [],
    "roles": {"r1": (["bob"], ["g1"], False)},
    "groups": {"ann": ["g1"]},
    "tags": {},
    "super": "",
}
COMMANDS = (
    "access --user ann",
    "access --user ann --entity dataset:ns1.*",
    "access --user ann --entity dataset:ns1.kv --ways",
    "access --entity dataset:ns1.kv",
    "access --entity dataset:ns1.*",
    "access --entity program:*.shop.*",
    "access --entity namespace:ns1 --format matrix",
    "check ann dataset.get dataset:ns1.kv --why",
    "check ann application.deploy application:ns1.shop --with datasets=dataset:ns1.kv",
    "policies lint",
    "policies lint --propose",
)
ELSEWHERE = (
    "needs ann dataset.truncate dataset:ns1.kv --for-cdap",
    "needs ann program.start program:ns1.app.workflow.W --impersonate svc",
    "roles explain developer --namespace ns1",
)
FORMATS = ("table", "json", "markdown", "html")


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) in ANSWERS, words
    return html.unescape(capsys.readouterr().out)


def outputs(old: list[str], new: list[str], capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    for words in COMMANDS:
        yield printed([*words.split(), *new], capsys)
        yield printed([*words.split(), *new, "--json"], capsys)
    for form in FORMATS:
        text = printed(["policies", "diff", old[1], new[1], "--format", form], capsys)
        yield re.sub(r"\\([^\w\s])", r"\1", text) if form == "markdown" else text


def ask_again(word: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pattern = parse_pattern(word)
    assert str(pattern) == word
    answer = json.loads(printed(["access", "--entity", word, "--json", *options], capsys))
    assert answer["entity"] == word
    assert isinstance(pattern, EntityId) is ("holders" in answer)


@given(SETS, SETS)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_command_prints_of_an_entity_can_be_asked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: list[Json], new: list[Json]
) -> None:
    options = []
    for name, those in (("old", old), ("new", new)):
        (tmp_path / name).mkdir(exist_ok=True)
        options.append(files(tmp_path / name, {**WORLD, "policies": those}))
    words = {word for text in outputs(*options, capsys) for word in WORD.findall(text)}
    assert words
    for word in sorted(words):
        ask_again(word, options[1], capsys)


def test_whatever_is_printed_without_policies_can_be_asked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = files(tmp_path, {**WORLD, "policies": []})
    for command in ELSEWHERE:
        for form in ([], ["--json"]):
            words = set(WORD.findall(printed([*command.split(), *form], capsys)))
            assert words, command
            for word in sorted(words):
                ask_again(word, options, capsys)


def test_a_name_longer_than_a_line_is_printed_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given_twice = [policy(n, dataset(LONG), item("read", users=["ann"])) for n in (1, 2)]
    options = []
    for name, those in (("none", []), ("two", given_twice)):
        (tmp_path / name).mkdir()
        options.append(files(tmp_path / name, {**WORLD, "policies": those}))
    (_, none), (_, two) = options
    for words in ("access --user ann", "access --entity dataset:ns1.*", "policies lint --propose"):
        assert f"dataset:ns1.{LONG}" in WORD.findall(printed([*words.split(), "--policies", two], capsys))
    assert f"dataset:ns1.{LONG}" in WORD.findall(printed(["policies", "diff", none, two], capsys))
