"""`--at` and `history:`: questions about the policies that this host used earlier."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger.refresh.history import PolicyHistory
from tests.cli.fixtures import COMPANY, ROLES, download, item, policy

WHO = ("access", "--entity", "dataset:ns1.kv")
Json = dict[str, Any]
DAY = 86_400_000
NOW = time.time_ns() // 1_000_000
KV = {"namespace": "ns1", "dataset": "kv"}


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command where the policies of the company were used until eve got access, four days ago."""
    service = download([])["serviceName"]
    history = PolicyHistory(tmp_path / "history", service, 10_000_000)
    later = [*copy.deepcopy(list(COMPANY)), policy(30, KV, item("read", users=["eve"]), name="new")]
    for days, policies in ((9, COMPANY), (4, later)):
        found = Documents(msgspec.json.encode(download(list(policies))), msgspec.json.encode(ROLES))
        history.keep(found, NOW - days * DAY)
    (tmp_path / "now.json").write_text(json.dumps(download(later)), encoding="utf-8")

    def run(*words: str, kept: bool = True) -> tuple[int, str, str]:
        settings = [f"ranger.service={service}", *([f"plugin.history_dir={tmp_path / 'history'}"] if kept else [])]
        code = main([*(word for setting in settings for word in ("--set", setting)), *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.mark.parametrize(("when", "expected"), [("5d", False), ("3d", True), ("2999-01-01", True)])
@pytest.mark.parametrize(
    "command",
    [
        ["access", "--entity", "dataset:ns1.kv"],
        ["access", "--user", "eve"],
        ["access", "--ways", "--user", "eve", "--entity", "dataset:ns1.kv"],
    ],
)
def test_a_question_is_answered_by_the_policies_of_then(
    asked: Callable[..., tuple[int, str, str]], command: list[str], when: str, expected: bool
) -> None:
    code, out, _ = asked(*command, "--policies", f"history:{when}")
    assert code == ExitCode.OK
    assert ('"new"' in out) is expected


def test_the_impact_since_then(asked: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    now = str(tmp_path / "now.json")
    for sets in (
        ["history:5d", "history:3d"],
        ["history:5d", now],
    ):
        code, out, _ = asked("policies", "diff", *sets, "--json", "--fail-on", "gained")
        assert code == ExitCode.ACCESS_CHANGED
        found = json.loads(out)
        assert [row["who"] for row in found["gained"]] == [["user eve"]]
        assert found["lost"] == []
    assert asked("policies", "diff", "history:3d", "history:1d", "--fail-on", "any")[0] == ExitCode.OK


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*WHO, "--policies", "history:30d"], "so old: it begins at 2"),
        (
            ["access", "--entity", "dataset:ns1.kv", "--policies", "history:yesterday"],
            "`history: yesterday` is not a time",
        ),
        (["policies", "diff", "history:30d", "history:1d"], "so old: it begins at 2"),
        (["policies", "diff", "history:", "history:1d"], "is not a time"),
    ],
)
def test_what_the_history_does_not_have_is_refused(
    asked: Callable[..., tuple[int, str, str]], words: list[str], message: str
) -> None:
    code, _, err = asked(*words)
    assert code == ExitCode.INVALID_INPUT
    assert message in err


@pytest.mark.parametrize(
    "words",
    [["access", "--entity", "dataset:ns1.kv", "--policies", "history:5d"], ["policies", "diff", "history:5d", "x"]],
)
def test_without_a_history_the_setting_is_named(asked: Callable[..., tuple[int, str, str]], words: list[str]) -> None:
    code, _, err = asked(*words, kept=False)
    assert code == ExitCode.INVALID_INPUT
    assert "needs `plugin.history_dir`" in err
