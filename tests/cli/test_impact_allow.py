"""`policies impact --allow`: expected changes, and `--write-allow`, which writes them."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.analysis.expected_changes import ExpectedChange
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import item
from tests.cli.test_impact import EVIL, company, files, widened
from tests.docs.markdown_pages import ROOT, blocks

Json = dict[str, Any]
ENTRY = {
    "who": '["group analysts"]',
    "access": '["write"]',
    "where": '{ instance = "cdap", namespace = "ns1", dataset = "sales.*" }',
}
IP_RANGE = "org.apache.ranger.plugin.conditionevaluator.RangerIpMatcher"


def entry(**changes: str | None) -> str:
    members = {**ENTRY, **changes}
    return "[[allow]]\n" + "".join(f"{name} = {text}\n" for name, text in members.items() if text is not None)


def where(dataset: str, namespace: str = '"ns1"') -> str:
    return f'{{ instance = "cdap", namespace = {namespace}, dataset = {dataset} }}'


@pytest.fixture
def gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command on two sets with a file of expected changes; exit code, document and messages."""

    def run(content: str | bytes, *words: str, old: Json | None = None, new: Json | None = None) -> Any:
        arguments = files(tmp_path, old or company(), new or widened())
        path = tmp_path / "allow.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        capsys.readouterr()
        code = main([*arguments, "--allow", str(path), "--json", *(words or ("--fail-on", "any"))])
        shown = capsys.readouterr()
        return code, json.loads(shown.out or "{}"), shown.err

    return run


COVERING = {
    "the row itself": {},
    "more people": {"who": '["group analysts", "user bob"]'},
    "everyone": {"who": '["everyone"]'},
    "more access types": {"access": '["read", "write", "_admin"]'},
    "a wider wildcard": {"where": where('"sales*"')},
    "several wildcards, one of which is wider": {"where": where('["x", "s*"]')},
    "all but others": {"where": where('{ not = ["salaries", "x*"] }')},
    "everything": {"where": '{ instance = "*", namespace = "*", dataset = "*" }'},
    "levels in another order": {"where": '{ dataset = "sales.*", namespace = "ns1", instance = "cdap" }'},
    "that policy by name": {"policy": '"sales"'},
    "that policy by id": {"policy": "20"},
    "gained": {"change": '"gained"'},
    "until a later day": {"until": "9999-12-31"},
    "with a reason": {"reason": '"ticket 7"'},
    "may": {"may": "true"},
}
NOT_COVERING = {
    "other people": {"who": '["group analyst"]'},
    "any user, where one may have none": {"who": '["any user"]'},
    "a user for the group": {"who": '["user analysts"]'},
    "other access types": {"access": '["read"]'},
    "a narrower wildcard": {"where": where('"sales.?*"')},
    "a single value": {"where": where('"sales.x"')},
    "some of the values": {"where": where('["sales.a*", "sales.b*"]')},
    "all but one of them": {"where": where('{ not = ["sales.x"] }')},
    "another namespace": {"where": where('"sales.*"', '"ns2"')},
    "the namespace alone": {"where": '{ instance = "cdap", namespace = "ns1" }'},
    "another policy": {"policy": '"readers of ns1"'},
    "another id": {"policy": "2"},
    "lost": {"change": '"lost"'},
    "until a former day": {"until": "2020-12-31"},
}


@pytest.mark.parametrize("name", COVERING)
def test_an_entry_that_names_all_of_a_row_lets_it_through(gate: Any, name: str) -> None:
    code, found, said = gate(entry(**COVERING[name]))
    assert (code, found["gained"][0]["expected"]["entry"]) == (ExitCode.OK, 1)
    assert found["allow"]["unused"] == []
    assert "allow.toml" not in said


@pytest.mark.parametrize("name", NOT_COVERING)
def test_an_entry_that_names_a_part_or_something_else_lets_nothing_through(gate: Any, name: str) -> None:
    code, found, said = gate(entry(**NOT_COVERING[name]))
    assert (code, found["gained"][0]["expected"]) == (ExitCode.ACCESS_CHANGED, None)
    what = "expired on 2020-12-31" if "until" in NOT_COVERING[name] else "covers no row"
    assert f"entry 1 {what}" in said
    assert found["allow"]["expired" if "until" in NOT_COVERING[name] else "unused"] == [1]


def test_two_entries_together_cover_no_row(gate: Any) -> None:
    wide = widened()
    wide["policies"][-1]["policyItems"][0]["groups"] = ["analysts", "interns"]
    code, found, _ = gate(entry() + entry(who='["group interns"]'), new=wide)
    assert (code, found["allow"]["unused"]) == (ExitCode.ACCESS_CHANGED, [1, 2])


@pytest.mark.parametrize("first", [{"policy": '"sales"'}, {"policy": "20"}, {}])
def test_the_first_of_several_entries_covers(gate: Any, first: dict[str, str]) -> None:
    _, found, _ = gate(entry(**first) + entry() + entry(policy='"sales"'))
    assert (found["gained"][0]["expected"]["entry"], found["allow"]["unused"]) == (1, [2, 3])


def test_only_what_changes_must_be_named(gate: Any) -> None:
    # bob's group reads all of ns1 already, so that only the others gain.
    old = widened("analysts")
    new = widened("analysts")
    new["policies"][-1]["policyItems"][0]["groups"] = ["analysts", "interns"]
    assert gate(entry(who='["group interns"]'), old=old, new=new)[0] == ExitCode.OK


def test_a_condition_does_not_matter_but_doubt_does(gate: Any) -> None:
    old, new = company(), widened()
    for each in (old, new):
        conditions = [{"itemId": 1, "name": "ip", "evaluator": IP_RANGE}]
        each["serviceDef"] = {**each["serviceDef"], "policyConditions": conditions}
    one, other = ({"type": "ip", "values": [value]} for value in ("10.1.*", "10.1.7.*"))
    new["policies"][-1]["policyItems"][0]["conditions"] = [one]
    assert gate(entry(), old=old, new=new)[0] == ExitCode.OK
    new["policies"][-1]["policyItems"][0]["conditions"] = [{"type": "ip", "values": ["10.2.*"]}, one, other]
    code, found, _ = gate(entry(), old=old, new=new)
    assert (code, found["gained"][0]["certainty"]) == (ExitCode.ACCESS_CHANGED, "may")
    assert gate(entry(may="true"), old=old, new=new)[0] == ExitCode.OK


def test_a_role_stands_for_its_members(gate: Any) -> None:
    new = company(policyItems=[*company()["policies"][1]["policyItems"], item("execute", users=["olga"])])
    place = where('"kv"')
    assert gate(entry(who='["role ops"]', access='["execute"]', where=place), new=new)[0] == ExitCode.OK
    assert gate(entry(who='["role other"]', access='["execute"]', where=place), new=new)[0] == 6


def test_an_entry_of_access_types_that_were_not_compared_is_not_called_unused(gate: Any) -> None:
    _, found, said = gate(entry() + entry(access='["read"]'), "--access", "read")
    assert found["allow"]["unused"] == [2]
    assert "entry 2 covers no row" in said


def test_an_entry_holds_on_its_last_day() -> None:
    last = ExpectedChange(1, True, (), (), {}, until=date(2026, 12, 31))
    assert not last.is_expired(date(2026, 12, 31))
    assert last.is_expired(date(2027, 1, 1))
    assert not ExpectedChange(1, True, (), (), {}).is_expired(date.max)


REFUSED = {
    "no TOML": ("x = = 1", "is not a TOML file"),
    "bytes": (b"\xff\xfe", "is not a TOML file"),
    "deeply nested": ("x = " + "[" * 100_000, "is not a TOML file"),
    "another key": ('[[allowed]]\nwho = ["everyone"]', "unknown key `allowed`"),
    "one table": ('[allow]\nwho = ["everyone"]', "one table `[allow]`"),
    "a number": ("allow = [1]", "entry 1: "),
    "an unknown field": (entry() + entry(expires="2026-01-01"), "entry 2: Object contains unknown field `expires`"),
    "no one": (entry(who="[]"), "entry 1: Expected `array` of length >= 1"),
    "no where": (entry(where=None), "entry 1: Object missing required field `where`"),
    "a text for people": (entry(who='"group analysts"'), "entry 1: Expected `array`, got `str`"),
    "no kind of principal": (entry(who='["analysts"]'), "`who` names `analysts`; write `user NAME`"),
    "the group public": (entry(who='["group public"]'), "`group public` is written as `everyone`"),
    "an access type that is unknown": (entry(access='["wirte"]'), "there is no access type `wirte`"),
    "a level that is unknown": (entry(where='{ database = "x" }'), "no kind of resource"),
    "a level too few": (entry(where='{ dataset = "x" }'), "no kind of resource"),
    "no values": (entry(where=where("[]")), "entry 1: Expected `array` of length >= 1"),
    "an empty value": (entry(where=where('[""]')), "entry 1: Expected `str` of length >= 1"),
    "an empty exclusion": (entry(where=where("{ not = [] }")), "entry 1: Expected `array` of length >= 1"),
    "an expression": (entry(where=where('"${{USER.x}}"')), "has an expression"),
    "another direction": (entry(change='"both"'), "entry 1: Invalid enum value 'both'"),
    "a time": (entry(until="2026-12-31T00:00:00Z"), "`until` is a time"),
    "a text for a day": (entry(until='"soon"'), "entry 1: "),
    "a yes": (entry(may='"yes"'), "entry 1: Expected `bool`, got `str`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_read_strictly_and_the_place_named(gate: Any, name: str) -> None:
    content, why = REFUSED[name]
    code, found, said = gate(content)
    assert (code, "allow.toml`" in said) == (ExitCode.INVALID_INPUT, True)
    assert why in found["message"]


def test_the_files_that_are_shown_are_accepted(gate: Any) -> None:
    page = ROOT / "docs" / "how-to" / "review-a-policy-change.md"
    (on_page,) = (block.text for block in blocks(page, "text") if block.text.startswith("[[allow]]"))
    example = (ROOT / "examples" / "policies-as-code" / "expected-changes.toml").read_text()
    table = [line.removeprefix("# ") for line in example.splitlines() if " = " in line or "[[" in line]
    for content in (on_page, "\n".join(table)):
        assert content.count("[[allow]]") == 1
        assert gate(content)[0] in (ExitCode.OK, ExitCode.ACCESS_CHANGED)


def test_an_empty_file_expects_nothing(gate: Any) -> None:
    code, found, _ = gate("")
    assert (code, found["allow"]["unused"]) == (ExitCode.ACCESS_CHANGED, [])


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = files(tmp_path, company(), widened())
    assert main([*arguments, "--allow", str(tmp_path / "nosuch.toml")]) == ExitCode.INVALID_INPUT
    assert "nosuch.toml` cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["analysts", EVIL, 'a"b\\c\x7f\x00'])
def test_a_written_file_lets_through_what_was_found_and_is_not_overwritten(
    gate: Any, tmp_path: Path, group: str
) -> None:
    written = tmp_path / "written.toml"
    gate("", "--write-allow", str(written), new=widened(group))
    content = written.read_bytes()
    assert tomllib.loads(content.decode())["allow"][0]["who"] == [f"group {group}"]
    assert gate(content, new=widened(group))[0] == ExitCode.OK
    assert gate(content, new=widened(group + "x"))[0] == ExitCode.ACCESS_CHANGED
    code, _, said = gate("", "--write-allow", str(written))
    assert (code, f"`{written}` exists" in said) == (ExitCode.INVALID_INPUT, True)
    assert written.read_bytes() == content
