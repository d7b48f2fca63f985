"""`ranger-cdap policies test`: expectations of a user's own, run like unit tests."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.testing.admin.rules.tag_definition import BASE as TAG_DEFINITION
from tests.cli.fixtures import named

HELD = """
[[expect]]
user = "alice"
groups = ["etl"]
operation = "dataset.get"
entity = "dataset:ns1.kv"
expected = "allowed"

[[expect]]
user = "mallory"
groups = ["etl"]
operation = "dataset.get"
entity = "dataset:ns1.kv"
expected = "denied"
note = "she left the company"

[[expect]]
user = "carol"
groups = ["etl"]
operation = "application.deploy"
entity = "application:ns1.shop"
expected = "denied"
with = { artifact = ["artifact:ns1.shop"] }
"""
SHOP = "not met: 3. carol application.deploy on application:ns1.shop: expected allowed, is denied: carol needs "
ONE = HELD.split("\n\n")[0]


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def outcome(content: str | bytes, *options: str) -> int:
    file = Path("expected.toml")
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return main(["policies", "test", str(file), *named(Path()), *options])


def test_expectations_that_are_met(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(HELD) == 0
    assert capsys.readouterr().out == "3 of 3 expectations are met\n"


def test_what_is_not_met_is_a_line_that_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    turned = HELD.replace('"allowed"', '"?"').replace('"denied"', '"allowed"').replace('"?"', '"denied"')
    assert outcome(turned) == 2
    assert capsys.readouterr().out.splitlines() == [
        "not met: 1. alice dataset.get on dataset:ns1.kv: expected denied, is allowed: "
        'READ on dataset:ns1.kv by policy 2 "kv"',
        "not met: 2. mallory dataset.get on dataset:ns1.kv: expected allowed, is denied: "
        'mallory needs READ on dataset:ns1.kv; READ on dataset:ns1.kv by policy 2 "kv" (she left the company)',
        SHOP + 'READ on artifact:ns1.shop; WRITE on namespace:ns1 by policy 1 "readers of ns1"',
        "0 of 3 expectations are met",
    ]


def test_outcomes_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(ONE.replace('"allowed"', '"denied"') + "\n" + ONE, "--json") == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["expectations"], document["met"]) == (2, 1)
    first, second = document["outcomes"]
    assert (first["number"], first["expected"], first["allowed"], first["met"]) == (1, False, True, False)
    assert (second["number"], second["met"], second["policies"]) == (2, True, [2])
    assert second["entity"] == "dataset:ns1.kv"


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "has no expectations"),
    "an empty list": ("expect = []", "has no expectations"),
    "not a list": ("expect = 7", "has no expectations"),
    "one table instead of several": (ONE.replace("[[expect]]", "[expect]"), "has no expectations"),
    "a list of no tables": ("expect = [1]", "expectation 1: expected `object`, got `int`"),
    "another table": ("[[expected]]\n", "unknown key `expected`"),
    "not TOML": ("[[expect", "is not a TOML file"),
    "not text": (b"\xff\xfe[[expect]]", "is not a TOML file"),
    "a NUL": (b'[[expect]]\nuser = "a\x00b"', "is not a TOML file"),
    "nested deeper than anybody reads": ("x = " + "[" * 100_000, "is not a TOML file"),
    "an unknown key": (ONE + "\nuesr = 1", "expectation 1: object contains unknown field `uesr`"),
    "no user": (ONE.replace('user = "alice"', ""), "expectation 1: object missing required field `user`"),
    "a user without a name": (ONE.replace('"alice"', '""'), "expectation 1: expected `str` of length >= 1"),
    "a number for a user": (ONE.replace('"alice"', "7"), "expected `str`, got `int` - at `user`"),
    "groups in one text": (ONE.replace('["etl"]', '"etl"'), "expected `array`, got `str` - at `groups`"),
    "neither allowed nor denied": (ONE.replace('"allowed"', '"maybe"'), "invalid enum value 'maybe'"),
    "an unknown operation": (ONE.replace("dataset.get", "dataset.gett"), "did you mean `dataset.get`?"),
    "an operation on something else": (ONE.replace("dataset:ns1.kv", "topic:ns1.t"), "applies to a dataset"),
    "an unknown type": (ONE.replace("dataset:", "datset:"), "did you mean `dataset`?"),
    "a name with a star": (ONE.replace("ns1.kv", "ns1.*"), "is not a name that CDAP allows"),
    "a name that leaves its folder": (ONE.replace("ns1.kv", "../../etc/passwd"), "is not a name that CDAP allows"),
    "an unknown role": (ONE + '\nwith = { jars = ["artifact:n.a"] }', "did you mean `jar`?"),
    "a role for another type": (ONE + '\nwith = { jar = ["dataset:n.a"] }', "must be of type artifact"),
    "an impersonated nobody": (ONE + '\nimpersonate = ""', "the impersonated user has no name"),
    "one good, one bad": (f"{ONE}\n{ONE.replace('alice', '')}", "expectation 2: "),
    "too much": (b"#" * (17 << 20), "is larger than 16 MB"),
}


@pytest.mark.parametrize(("content", "said"), HOSTILE.values(), ids=HOSTILE)
def test_what_can_not_be_tested_is_one_sentence_and_no_test_is_run(
    content: str | bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(content) == 3
    told = capsys.readouterr()
    assert said in told.err
    assert "`expected.toml`" in told.err
    assert (told.out, len(told.err.splitlines())) == ("", 1)


@pytest.mark.parametrize("file", ["nowhere.toml", "/dev"], ids=["no file", "a folder"])
def test_a_file_that_is_none(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "test", file, *named(Path())]) == 3


@pytest.mark.parametrize(
    ("content", "code"),
    [("{", 3), ("[]", 3), ('{"serviceName": "cdapdev"}', 3), ("{}", 3)],
    ids=["no JSON", "a list", "no definition", "nothing"],
)
def test_policies_that_can_not_be_used(content: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    named(Path())
    Path("expected.toml").write_text(ONE)
    Path("policies.json").write_text(content)
    assert main(["policies", "test", "expected.toml", "--policies", "policies.json"]) == code
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_policies_of_another_service_are_tested_as_they_are() -> None:
    Path("expected.toml").write_text(ONE)
    files = named(Path())
    document = json.loads(Path("policies.json").read_text())
    Path("policies.json").write_text(json.dumps(document | {"serviceName": "elsewhere"}))
    assert main(["policies", "test", "expected.toml", *files]) == 0


def test_tag_policies_without_tags_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("expected.toml").write_text(ONE)
    files = named(Path())
    document = json.loads(Path("policies.json").read_text())
    tags = {
        "serviceName": "tags",
        "policyVersion": 1,
        "policies": [],
        "serviceDef": msgspec.to_builtins(TAG_DEFINITION),
    }
    Path("policies.json").write_text(json.dumps(document | {"tagPolicies": tags}))
    assert main(["policies", "test", "expected.toml", *files]) == 0
    assert "without a tag download no resource carries a tag" in capsys.readouterr().err


def test_what_is_not_enforced_is_not_taken_for_allowed_by_a_policy(capsys: pytest.CaptureFixture[str]) -> None:
    """A roll-out stage allows everything; who expects a denial must see that there is none."""
    stage = ["--set", "enforce.operations=", "--set", "enforce.outside=report"]
    Path("expected.toml").write_text(ONE.replace('"alice"', '"mallory"').replace('"allowed"', '"denied"'))
    assert main([*stage, "policies", "test", "expected.toml", *named(Path())]) == 2
    assert "not enforced" in capsys.readouterr().out


UNKNOWN = {
    "a user": ('"alice"', '"alcie"', "unknown user `alcie`"),
    "a group": ('["etl"]', '["elt"]', "unknown group `elt`"),
    "a namespace": ("dataset:ns1.kv", "dataset:ns2.kv", "unknown namespace `ns2`"),
}


@pytest.mark.parametrize(("known", "typed", "said"), UNKNOWN.values(), ids=UNKNOWN)
def test_an_expectation_that_names_something_unknown_is_refused(
    known: str, typed: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for expected in ("allowed", "denied"):
        assert outcome(ONE.replace(known, typed).replace('"allowed"', f'"{expected}"')) == 3
        told = capsys.readouterr()
        assert (told.out, said in told.err) == ("", True)


def test_an_expectation_on_what_a_wildcard_covers_is_tested(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(ONE.replace("ns1.kv", "ns1.nobody_names_it").replace('"alice"', '"ann"')) == 0
    assert capsys.readouterr().out == "1 of 1 expectations are met\n"
