"""`policies impact` as SARIF, JUnit XML, a page, and as a comment that is not too long."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.impact import FORMATS
from ranger_cdap.cli.impact_formats import LONGEST_COMMENT
from ranger_cdap.cli.impact_reports import sarif
from ranger_cdap.cli.main import main
from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.policy_directory import write_directory
from tests.cli.fixtures import COMPANY, download, item, policy
from tests.cli.test_impact import EVIL, company, files, widened

Json = dict[str, Any]
GATE = """
[[allow]]
who = ["group analysts"]
access = ["write"]
where = { instance = "cdap", namespace = "ns1", dataset = "sales.*" }
reason = "ticket 7"
"""


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command on two sets in a format; what it prints, by exit code."""
    monkeypatch.chdir(tmp_path)

    def run(form: str, new: Json, *words: str, old: Json | None = None, code: int = 0) -> str:
        arguments = files(tmp_path, old or company(), new)
        (tmp_path / "allow.toml").write_text(GATE)
        capsys.readouterr()
        assert main([*arguments, "--format", form, *words]) == code
        return capsys.readouterr().out

    return run


def both() -> Json:
    """`widened`, and one more row that is gained and one that is lost."""
    new = copy.deepcopy(widened())
    new["policies"][1]["policyItems"] = [item("read", "write", users=["bob"]), COMPANY[1]["policyItems"][1]]
    return new


def results(log: str) -> list[Json]:
    found: list[Json] = json.loads(log)["runs"][0]["results"]
    return found


# --- SARIF ------------------------------------------------------------------------------------------------------------


def test_a_log_has_the_members_that_code_scanning_needs(shown: Any) -> None:
    log = json.loads(shown("sarif", both(), "--fail-on", "gained", code=ExitCode.ACCESS_CHANGED))
    (run,) = log["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert log["version"] == "2.1.0"
    assert len(rules) == 4
    assert all(rule[member]["text"] for rule in rules.values() for member in ("shortDescription", "help"))
    assert {(one["ruleId"], one["level"]) for one in run["results"]} == {
        ("access-gained", "error"),
        ("access-lost", "warning"),
    }
    for one in run["results"]:
        (location,) = one["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "new.json"
        assert one["message"]["text"]
        assert one["ruleId"] in rules


def test_a_log_has_no_row_that_is_expected(shown: Any) -> None:
    texts = [one["message"]["text"] for one in results(shown("sarif", both(), "--allow", "allow.toml"))]
    assert texts
    assert not any("analysts gains" in text for text in texts)


def prints(log: str) -> list[str]:
    return [one["partialFingerprints"]["primaryLocationLineHash"] for one in results(log)]


def test_a_fingerprint_does_not_depend_on_numbers_and_order(shown: Any) -> None:
    old, new = copy.deepcopy(company()), both()
    before = prints(shown("sarif", new, old=old))
    assert len(set(before)) == len(before) > 1
    for each in (old, new):
        for number, one in enumerate(each["policies"]):
            one |= {"id": 1000 - number, "version": 9}
        each["policies"].reverse()
    assert sorted(prints(shown("sarif", new, old=old))) == sorted(before)
    new["policies"][0]["policyItems"].insert(0, item("execute", users=["nobody"]))
    assert set(before) < set(prints(shown("sarif", new, old=old)))


def test_rows_of_one_fingerprint_are_told_apart(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "sarif", lambda report: sarif(replace(report, rows=report.rows * 2)))
    one, other = prints(shown("sarif", widened()))
    assert (one.partition(":")[2], other) == ("1", one.replace(":1", ":2"))


def write(root: Path, document: Json) -> None:
    write_directory(root, PolicyCollection.of_download(json.dumps(document).encode()))


def test_a_row_is_shown_in_the_file_of_its_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    old, new = (download(copy.deepcopy(list(each["policies"]))) for each in (widened(), both()))
    gone = policy(30, {"namespace": "ns9"}, item("read", groups=["x"]), name="gone")
    old["policies"] = [*old["policies"], gone]
    write(tmp_path / "old", old)
    write(tmp_path / "new", new)
    moved = tmp_path / "new" / "policies" / "any where" / "kv.json"
    moved.parent.mkdir()
    (tmp_path / "new" / "policies" / "kv.json").rename(moved)
    (tmp_path / "new" / ".note.json").write_text("{")
    assert main(["policies", "impact", "old", "new", "--format", "sarif"]) == ExitCode.OK
    found = {
        one["message"]["text"].partition(",")[0]: one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for one in results(capsys.readouterr().out)
    }
    assert "new/policies/any%20where/kv.json" in found.values()
    assert found["group x loses read on namespace cdap/ns9"] == "old/policies/gone.json"


# --- JUnit ------------------------------------------------------------------------------------------------------------


def cases(report: str) -> dict[str, bool]:
    root = ET.fromstring(report)
    suite = root[0]
    found = {case.get("name", ""): case.find("failure") is None for case in suite.iter("testcase")}
    assert (suite.get("tests"), suite.get("failures")) == (str(len(found)), str(list(found.values()).count(False)))
    return found


def test_a_case_fails_if_it_is_not_expected(shown: Any) -> None:
    without, allowed = cases(shown("junit", both())), cases(shown("junit", both(), "--allow", "allow.toml"))
    sales = "group analysts gains write on dataset cdap/ns1/sales.*"
    assert set(without.values()) == {False}
    assert {name: passed for name, passed in allowed.items() if passed} == {sales: True}


def test_a_case_that_fail_on_does_not_count_passes(shown: Any) -> None:
    found = cases(shown("junit", both(), "--fail-on", "lost", code=ExitCode.ACCESS_CHANGED))
    assert {" loses " in name: passed for name, passed in found.items()} == {True: False, False: True}


def test_without_a_change_there_is_one_case_that_passes(shown: Any) -> None:
    assert cases(shown("junit", company())) == {"no access changes": True}


# --- the page ---------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\x1b[2J\u202e{{7*7}}'


@pytest.mark.parametrize("name", [HOSTILE, EVIL, "'-alert(1)-'"])
def test_no_name_is_more_than_text_on_the_page(shown: Any, name: str) -> None:
    new = widened(name)
    new["policies"][-1] |= {"name": name}
    new["policies"][-1]["resources"]["dataset"]["values"] = [f"{name}*"]
    hostile, plain = Elements(shown("html", new)), Elements(shown("html", widened()))
    assert sorted(set(hostile.tags)) == sorted(set(plain.tags))
    assert "script" not in hostile.tags
    assert {key for key, _ in hostile.attributes} == {key for key, _ in plain.attributes}
    assert not {"\x1b", "\u202e"} & set(hostile.text)
    assert "49" not in hostile.text.partition("from")[0]
    assert name.split("\x1b")[0].replace("\n", "\\n") in hostile.text


def test_the_page_needs_nothing_else_and_shows_every_row(shown: Any) -> None:
    content = shown("html", both(), "--allow", "allow.toml", "--fail-on", "any", code=ExitCode.ACCESS_CHANGED)
    page = Elements(content)
    assert not {key for key, _ in page.attributes} & {"src", "href"}
    assert "url(" not in content
    assert ("http-equiv", "Content-Security-Policy") in page.attributes
    assert ("name", "viewport") in page.attributes
    assert "prefers-color-scheme: dark" in content
    document = json.loads(shown("json", both()))
    assert page.tags.count("article") == len(document["gained"]) + len(document["lost"]) > 2
    assert "expected by entry 1: ticket 7" in page.text
    assert "No access changes" in Elements(shown("html", company())).text


# --- all formats ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "json", "markdown", "html", "sarif", "junit"])
def test_a_file_holds_what_is_printed_otherwise(shown: Any, tmp_path: Path, form: str) -> None:
    printed = shown(form, both())
    assert shown(form, both(), "--out", "out.txt") == ""
    assert (tmp_path / "out.txt").read_text() == printed
    assert (
        shown(form, both(), "--out", "nosuch/out.txt", code=ExitCode.INVALID_INPUT) in ("", printed) or form == "json"
    )


def test_a_comment_is_not_longer_than_a_server_takes(shown: Any) -> None:
    more = [
        policy(100 + n, {"namespace": f"ns{n}", "dataset": "x" * 200}, item("read", users=[f"u{n}"]))
        for n in range(400)
    ]
    text = shown("markdown", download([*COMPANY, *more]))
    rows = [line for line in text.splitlines() if line.startswith("| user")]
    assert LONGEST_COMMENT - 1_000 < len(text) < 65_536
    assert f"\n{400 - len(rows)} more rows are left out.\n" in text
    assert "**400 gained, 0 lost**" in text
