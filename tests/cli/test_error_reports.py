"""What a failed command says: a sentence with its cause first, and with `--json` the code and the message."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from pages.commands import commands

from ranger_cdap.cli.main import command_line, main
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin

ANSWERING = [
    " ".join(words)
    for words, command in commands(command_line())
    if any("--json" in param.opts for param in command.get_params(click.Context(command)))
]
NOWHERE = ["--set", "ranger.url=http://127.0.0.1:9", "--set", "ranger.attempts=1"]
CHECK = ["check", "alice", "dataset.get", "dataset:ns1.kv"]


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", ANSWERING)
def test_with_json_an_error_of_any_command_has_code_and_message(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([*name.split(), "--json", "--no-such-option"], ["--json", *name.split(), "--no-such-option"]):
        assert main(words) == 3
        told = capsys.readouterr()
        error = json.loads(told.out)
        assert error.keys() == {"code", "message"}
        assert (error["code"], "--no-such-option" in error["message"]) == ("invalid-input", True)
        assert error["message"] in told.err


FAILING = [
    # arguments; exit code, code, and the beginning of the message
    (["--config", "nowhere.toml", *CHECK], 3, "config", "configuration file `nowhere.toml` does not exist"),
    ([*CHECK[:2], "dataset.nosuch", CHECK[3]], 3, "unknown-operation", ""),
    (
        ["access", "--entity", "dataset:ns1.kv", "--policies", "nowhere.json"],
        3,
        "invalid-input",
        "`nowhere.json` cannot be read",
    ),
    ([*NOWHERE, "check", "--why", *CHECK[1:]], 4, "not-ready", "Ranger Admin at"),
    ([*NOWHERE, "policies", "refresh"], 4, "ranger-admin-unreachable", "Ranger Admin at"),
    (["check"], 3, "invalid-input", "Missing argument"),
    (["nosuch"], 3, "invalid-input", "No such command"),
]


@pytest.mark.parametrize(
    ("words", "exit_code", "code", "begins"), FAILING, ids=[" ".join(case[0][-2:]) for case in FAILING]
)
def test_the_code_and_the_sentence_are_those_of_standard_error(
    words: list[str], exit_code: int, code: str, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--json"]) == exit_code
    told = capsys.readouterr()
    error = json.loads(told.out)
    assert (error["code"], error["message"].startswith(begins)) == (code, True)
    assert error["message"] in told.err
    assert main(words) == exit_code
    assert capsys.readouterr().out == ""


def test_a_file_that_cannot_be_used_and_an_internal_error_have_codes_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for raised, code in ((OSError(28, "No space left"), "error"), (ZeroDivisionError("x"), "internal-error")):
        monkeypatch.setattr("ranger_cdap.cli.main.plugin_manager", _raises(raised))
        assert main(["plugins", "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["code"] == code


def _raises(error: Exception) -> object:
    def fail() -> None:
        raise error

    return fail


def test_an_answer_that_was_printed_stays_the_only_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NOWHERE, *CHECK, "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["allowed"] is False


def test_without_any_configuration_that_is_said_before_the_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["policies", "refresh"]) == 4
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"ranger-cdap: there is no configuration: no `ranger-cdap.toml` in `{tmp_path}`")
    assert "cannot be reached" in second

    assert main([*CHECK[:2], "dataset.nosuch", CHECK[3]]) == 3
    assert "no configuration" not in capsys.readouterr().err

    monkeypatch.setenv("RANGER_CDAP_RANGER__ATTEMPTS", "1")
    assert main(["policies", "refresh"]) == 4
    assert "no configuration" not in capsys.readouterr().err


def test_a_rejected_account_is_named_with_its_settings(
    ranger: RangerAdmin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__USERNAME", "somebody")
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__PASSWORD", "wrong")
    assert main(["policies", "refresh"]) == 1
    assert (
        "rejected the user name and password of `somebody` (`plugin.username`, `plugin.password`); check them"
        in capsys.readouterr().err
    )
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", "wrong")
    assert main(["setup", "--yes"]) == 1
    assert "of `admin` (`--ranger-user`, `RANGER_CDAP_SETUP_PASSWORD`)" in capsys.readouterr().err
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__USERNAME", "")
    assert main(["policies", "refresh"]) == 1
    assert "requires an account, and `plugin.username` is not set; set it and `plugin.password`" in (
        capsys.readouterr().err
    )


def test_a_secret_that_is_not_there_stops_only_who_needs_it(
    ranger: RangerAdmin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for table in ("SYNC__PASSWORD", "SERVICE__BRIDGE_PASSWORD", "AUDIT__SOLR_PASSWORD"):
        monkeypatch.setenv(f"RANGER_CDAP_{table}", "env:NOT_SET_ANYWHERE")
    assert main(["setup", "--yes"]) == 0
    assert main(["config"]) == 0
    assert main(["policies", "refresh"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__PASSWORD", "env:NOT_SET_ANYWHERE")
    assert main(["policies", "refresh"]) == 3
    assert "environment variable `NOT_SET_ANYWHERE`" in capsys.readouterr().err
