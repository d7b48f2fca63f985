"""`policies diff` as a page, and as a comment that is not too long."""

from __future__ import annotations

import copy
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.tools.cli.diff_formats import LONGEST_COMMENT
from tests.cli.fixtures import COMPANY, download, item, policy
from tests.tools.cli.test_policies_diff import EVIL, company, files, widened

Json = dict[str, Any]


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command on two sets in a format; what it prints, by exit code."""
    monkeypatch.chdir(tmp_path)

    def run(form: str, new: Json, *words: str, old: Json | None = None, code: int = 0) -> str:
        arguments = files(tmp_path, old or company(), new)
        capsys.readouterr()
        assert main([*arguments, "--format", form, *words]) == code
        return capsys.readouterr().out

    return run


def both() -> Json:
    """`widened`, and one more row that is gained and one that is lost."""
    new = copy.deepcopy(widened())
    new["policies"][1]["policyItems"] = [item("read", "write", users=["bob"]), COMPANY[1]["policyItems"][1]]
    return new


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
    assert "u202e49" not in hostile.text, "the template was carried out"
    assert name.split("\x1b")[0].replace("\n", "\\n") in hostile.text


def test_the_page_needs_nothing_else_and_shows_every_row(shown: Any) -> None:
    content = shown("html", both(), "--fail-on", "any", code=ExitCode.ACCESS_CHANGED)
    page = Elements(content)
    assert not {key for key, _ in page.attributes} & {"src", "href"}
    assert "url(" not in content
    assert ("http-equiv", "Content-Security-Policy") in page.attributes
    assert ("name", "viewport") in page.attributes
    assert "prefers-color-scheme: dark" in content
    document = json.loads(shown("json", both()))
    assert page.tags.count("article") == len(document["gained"]) + len(document["lost"]) > 2
    assert "No access changes" in Elements(shown("html", company())).text


# --- all formats ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "json", "markdown", "html"])
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
