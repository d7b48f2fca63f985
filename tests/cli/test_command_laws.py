"""Laws over all commands: help with examples that parse, the options all share, one table of exit codes, one page."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from pages.commands import commands

from ranger_cdap import errors
from ranger_cdap.cli.command import Described
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.main import command_line, main
from tests.cli.fixtures import COMPANY, named, policy

ROOT = command_line()
COMMANDS = {" ".join(words): command for words, command in commands(ROOT)}
DOING = {name: command for name, command in COMMANDS.items() if getattr(command, "has_outcome", True)}
PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("command-line*.md"))

# What these print has a form of its own: lines of JSON, a file of policies, pages, scripts, a story.
OWN_FORM = {
    "eval", "policies export", "demo",
}  # fmt: skip

# How a command is asked for its JSON; one that is named nowhere below is asked by its first example.
SPELLED = {
    "check --why": ["check", "--why", "bob", "dataset.get", "dataset:ns1.kv"],
    "access --entity": ["access", "--entity", "dataset:ns1.kv"],
    "access --user": ["access", "--user", "carol"],
    "access --ways": ["access", "--ways", "--user", "carol", "--entity", "dataset:ns1.kv"],
    "groups": ["groups", "carol"],
    "access --format": ["access", "--format", "matrix", "--entity", "namespace:ns1"],
    "policies lint": ["policies", "lint"],
    "policies test": ["policies", "test", "expectations.toml"],
    "needs USER": ["needs", "bob", "dataset.get", "dataset:ns1.kv"],
    "needs --profile": ["needs", "--profile", "003"],
    "roles explain": ["roles", "explain", "developer", "--namespace", "sales"],
}
WITH_POLICIES = ("check", "access", "groups", "policies lint", "policies test")

# These need a Ranger Admin, jars, a Spark session, a CDAP or an end of their own; their own tests read their JSON.
ASKED_ELSEWHERE = {
    "audit verify", "audit report", "policies diff",
    "roles apply", "roles remove", "import sentry",
    "setup", "doctor", "policies apply",
    "policies refresh", "serve", "console", "embedded-admin",
    "shadow report",
    "extension", "units",
    "sync run", "sync inventory", "sync repair", "sync baseline", "sync status", "sync lives",
    "sync reconcile", "sync regrant", "sync rezone", "sync retry", "sync assign", "sync forget",
}  # fmt: skip


def command_of(name: str) -> str:
    """The command of a key of `SPELLED`, which may name an option as well."""
    return re.sub(" (--.*|[A-Z]+)$", "", name)


ASKED = SPELLED | {
    name: shlex.split(DOING[name].examples[0])[1:]  # type: ignore[attr-defined]
    for name in sorted(DOING.keys() - OWN_FORM - ASKED_ELSEWHERE - set(map(command_of, SPELLED)))
}


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "expectations.toml").write_text(
        '[[expect]]\nuser = "bob"\noperation = "dataset.get"\nentity = "dataset:ns1.kv"\nexpected = "denied"\n'
    )


def arguments(name: str, folder: Path) -> list[str]:
    return ASKED[name] + (named(folder) if command_of(name) in WITH_POLICIES else [])


def parsed(text: str) -> str:
    """The command that this line is parsed to, by click alone; nothing is done."""
    program, *words = dropwhile(lambda word: "=" in word, shlex.split(text))
    assert program == "ranger-cdap"
    command: click.Command = ROOT
    context = ROOT.make_context(program, words, obj=Invocation())
    path: list[str] = []
    while isinstance(command, click.Group):
        words = [*context._protected_args, *context.args]
        if not words:
            assert command.invoke_without_command
            break
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        path.append(str(name))
        command = found
        context = command.make_context(str(name), words, parent=context)
    return " ".join(path)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_does_and_shows_examples_that_parse(name: str) -> None:
    command = COMMANDS[name]
    assert isinstance(command, Described)
    assert (command.help or "").strip()
    assert command.examples
    for example in command.examples:
        found = parsed(example)
        assert found == name or (not command.has_outcome and found.startswith(f"{name} "))


def test_the_examples_of_the_program_parse() -> None:
    assert [parsed(example) for example in ROOT.examples] == ["check", "doctor"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", DOING)
def test_every_command_has_the_options_that_all_share(name: str) -> None:
    with click.Context(DOING[name]) as context:
        options = {option for param in DOING[name].get_params(context) for option in param.opts}
    assert options >= {"--config", "--set", "--quiet"}
    assert ("--json" in options) == (name not in OWN_FORM)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_means(name: str) -> None:
    silent = [p.opts for p in COMMANDS[name].params if isinstance(p, click.Option) and not p.help]
    assert silent == []


def test_an_option_takes_the_same_kind_of_value_everywhere() -> None:
    kinds: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        for param in command.params:
            for option in param.opts if isinstance(param, click.Option) else ():
                kinds.setdefault(option, set()).add(param.metavar or param.type.name)
    differing = {name: found for name, found in kinds.items() if len(found) > 1}
    # `check` asks a decision service, `insights` names one of Ranger.
    assert differing == {
        "--out": {"FILE", "DIR", "FILE|DIR"},
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_whole(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert f"Usage: ranger-cdap {name} " in told.out
    assert "Examples:" in told.out
    assert ("Exit codes:" in told.out) == (name in DOING)


def test_the_help_lists_each_command_in_one_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = re.findall(r"^  ([a-z-]+) +[A-Z]", capsys.readouterr().out.partition("Decide:")[2], re.MULTILINE)
    assert sorted(listed) == sorted(ROOT.commands)  # type: ignore[attr-defined]


def test_no_command_is_asked_both_here_and_elsewhere() -> None:
    here = set(map(command_of, ASKED))
    assert here | ASKED_ELSEWHERE == DOING.keys() - OWN_FORM
    assert not here & ASKED_ELSEWHERE


@pytest.mark.parametrize("name", ASKED)
def test_json_is_one_document_and_nothing_else(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = arguments(name, tmp_path)
    codes = (ExitCode.OK, ExitCode.NO)

    assert main([*words, "--json"]) in codes
    behind = capsys.readouterr().out
    assert main(["--json", *words]) in codes
    before = capsys.readouterr().out

    documents = [json.loads(text) for text in (behind, before)]
    for document in documents:
        if isinstance(document, dict):
            document.pop("time", None)
    assert documents[0] == documents[1]
    assert all(key == key.lower() for key in keys(documents[0]) if name != "config")


def keys(document: object) -> Iterator[str]:
    """The names in a document that are ours: those of access types, actions and profiles are values."""
    if isinstance(document, dict):
        for key, value in document.items():
            if not key.isupper():
                yield key
            yield from keys(value)
    elif isinstance(document, list):
        for value in document:
            yield from keys(value)


@pytest.mark.parametrize("name", ASKED)
def test_a_quiet_command_gives_its_answer_and_nothing_besides(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(name, tmp_path)
    code = main(words)
    answer = capsys.readouterr().out

    assert main([*words, "--quiet"]) == code
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == (answer, "")
    assert answer


def test_what_quiet_leaves_out_is_said_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments("check --why", tmp_path)) == ExitCode.NO
    assert capsys.readouterr().err == "note: problems with other policies: 1; `ranger-cdap policies lint` shows them\n"


def test_errors_are_said_to_the_quiet_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["--quiet", "access", "--entity", "dataset:ns1.kv", "--policies", "nowhere.json"])
        == ExitCode.INVALID_INPUT
    )
    assert "`nowhere.json` cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_no_color_is_respected(
    no_color: str,
    coloured: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    assert main(arguments("check --why", tmp_path)) == ExitCode.NO
    assert ("\x1b[31m" in capsys.readouterr().out) is coloured


def test_a_name_in_a_policy_can_not_act_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = policy(
        9, {"namespace": "ns1"}, {"users": ["al\x1b[2Jice\u202e"], "accesses": [{"type": "read"}]}, name="\x1b]0;x\x07"
    )
    files = named(tmp_path, [*COMPANY, evil])
    for words in (
        ["access", "--entity", "namespace:ns1"],
        ["check", "--why", "al\x1b[2Jice\u202e", "namespace.get", "namespace:ns1"],
    ):
        main([*words, *files])
        told = capsys.readouterr()
        assert not {"\x1b", "\x07", "\u202e"} & set(told.out + told.err)
        assert "\\x1b[2J" in told.out


def all_errors(root: type[errors.RangerCdapError] = errors.RangerCdapError) -> Iterator[type[errors.RangerCdapError]]:
    yield root
    for below in root.__subclasses__():
        yield from all_errors(below)


@pytest.mark.parametrize("error", tuple(all_errors()), ids=lambda error: error.__name__)
def test_every_error_ends_with_a_code_of_the_table(error: type[errors.RangerCdapError]) -> None:
    assert error.exit_code in {ExitCode.ERROR, ExitCode.INVALID_INPUT, ExitCode.NOT_READY, ExitCode.LEASE_HELD}


def test_the_exit_codes_are_what_they_are_for_ever() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0,
        "ERROR": 1,
        "NO": 2,
        "INVALID_INPUT": 3,
        "NOT_READY": 4,
        "LEASE_HELD": 5,
        "ACCESS_CHANGED": 6,
        "INTERRUPTED": 130,
        "TERMINATED": 143,
    }
    assert set(MEANINGS) == set(ExitCode)
    assert (errors.NotReady.exit_code, errors.LeaseHeld.exit_code) == (ExitCode.NOT_READY, ExitCode.LEASE_HELD)


def test_interrupted_is_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Keyboard:
        def __iter__(self) -> Iterator[bytes]:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Keyboard()))
    assert main(["eval", "--policies", named(tmp_path)[1].split(",")[0], "--requests", "-"]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted"


def test_the_page_has_every_command_and_every_exit_code() -> None:
    page = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    for code, meaning in MEANINGS.items():
        assert f"| {int(code)} | {meaning} |" in page
    for name in COMMANDS:
        assert f"## `ranger-cdap {name}`\n" in page
