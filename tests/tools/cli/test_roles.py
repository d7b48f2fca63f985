"""`ranger-cdap roles` as a user sees it: what it prints, asks and refuses, and its JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.presets import load_preset, preset_names
from ranger_cdap.cli import ranger_changes
from ranger_cdap.cli.main import main
from ranger_cdap.ranger.client.ranger_roles import RoleClient
from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from tests.testing.admin.caller import V2, Caller

ANN = ("--namespace", "sales", "--user", "ann")


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedRanger]:
    with embedded_ranger() as ranger:
        ranger.create_users("ann")
        yield ranger


@pytest.fixture
def ranger(shared: EmbeddedRanger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedRanger:
    """A Ranger Admin without roles, and a configuration file in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", shared.password.reveal())
    (tmp_path / "ranger-cdap.toml").write_text(f'[ranger]\nurl = "{shared.url}"\nservice = "{shared.service}"\n')
    for name in preset_names():
        main(["--quiet", "roles", "remove", name, "--namespace", "sales", "--yes"])
    assert state(shared)[0] == []
    return shared


def state(ranger: EmbeddedRanger) -> tuple[Any, Any]:
    raw = Caller(ranger.url, password=ranger.password.reveal())
    return raw("GET", f"{V2}/roles")[1], raw("GET", f"{V2}/service/{ranger.service}/policy?pageSize=1000")[1]


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("nowhere")
def test_the_list_has_every_preset_and_every_role_of_the_ldap_binding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roles", "explain"]) == 0
    text = capsys.readouterr().out
    assert main(["roles", "explain", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["preset"] for row in found["presets"]] == list(preset_names())
    for row in found["presets"]:
        assert f"{row['preset']} " in text
        assert f"  {', '.join(row['ldap'])}: {row['preset']}\n" in text
    for row in found["ldap_without_preset"]:
        assert f"  {row['role']}: no preset; {row['instead']}\n" in text


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", preset_names())
def test_explain_names_every_operation_policy_and_reason(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    preset = load_preset(name, "default")
    assert main(["roles", "explain", name, "--namespace", "sales"]) == 0
    text = capsys.readouterr().out
    assert main(["roles", "explain", name, "--namespace", "sales", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["operations"], found["also"]) == (list(preset.operations), dict(preset.also))
    assert len(found["policies"]) == len(preset.rights)
    for operation in preset.operations:
        kind, _, verb = operation.partition(".")
        assert any(
            line.startswith(f"  {kind}: ") and verb in line.split(": ")[1].split(", ") for line in text.split("\n")
        )
    for reason in (*preset.also.values(), *preset.system_also.values()):
        assert reason in text
    for one in found["policies"]:
        assert f"  {one['resource']}: {', '.join(one['accesses'])}\n" in text


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain", "develper"], "did you mean `developer`"),
        (["apply", "develper", *ANN], "did you mean `developer`"),
        (["apply", "viewer", "--namespace", "sa-les", "--user", "ann"], "sa-les"),
        (["apply", "viewer", "--namespace", "system", "--user", "ann"], "CDAP's own"),
        (["apply", "viewer", "--user", "ann"], "--namespace"),
        (["apply", "viewer", "--namespace", "sales", "--group", "public"], "everyone"),
        (["apply", "viewer", "--namespace", "sales", "--group", ""], "a name of --user or --group is empty"),
        (["remove", "viewer", "--namespace", "sales", "--user", " "], "a name of --user or --group is empty"),
        (["explain", "viewer", "--namespace", "\x1b[2J"], "\\x1b"),
    ],
)
def test_a_mistake_is_named_before_the_password_is_needed(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["roles", *words]) == 3
    error = capsys.readouterr().err
    assert said in error
    assert "\x1b" not in error
    assert "RANGER_CDAP_SETUP_PASSWORD" not in error


@pytest.mark.usefixtures("nowhere")
def test_a_profile_without_presets_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "cdap.profile=002", "roles", "explain", "viewer"]) == 3
    assert "profiles default, cdap-6, 004" in capsys.readouterr().err


def test_a_dry_run_shows_the_plan_and_changes_nothing(
    ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(ranger)
    assert main(["roles", "apply", "viewer", *ANN, "--dry-run"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("create role `sales_viewer`: Made by ranger-cdap: viewer in namespace:sales")
    assert "create policy `roles: namespace sales of cdap`: give read to role sales_viewer" in lines
    assert lines[-1] == "update role `sales_viewer`: add user `ann`"
    assert state(ranger) == before


@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_all_unknown_users_and_groups_are_named_and_nothing_is_changed(
    ranger: EmbeddedRanger, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(ranger)
    words = ["--group", "ghosts", "--user", "casper", "--user", "ann", "--namespace", "sales", how]
    assert main(["roles", "apply", "viewer", *words]) == 3
    error = capsys.readouterr().err
    assert "Ranger has no user `casper` and group `ghosts`; create them in Ranger Admin" in error
    assert state(ranger) == before


def test_without_a_terminal_and_without_yes_nothing_is_done(
    ranger: EmbeddedRanger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    before = state(ranger)
    assert main(["roles", "apply", "viewer", *ANN]) == 3
    assert "`--yes` confirms beforehand" in capsys.readouterr().err
    assert state(ranger) == before


def test_a_plan_that_changed_while_it_was_confirmed_is_not_carried_out(
    ranger: EmbeddedRanger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def meanwhile(question: str) -> None:
        assert question.startswith("Make ")
        assert ranger.admin.roles.create(ranger.service, "sales_viewer", description="of others")

    monkeypatch.setattr(ranger_changes, "confirm", meanwhile)
    policies = state(ranger)[1]
    assert main(["roles", "apply", "viewer", *ANN]) == 1
    assert "the plan has changed since it was shown, and nothing was done" in capsys.readouterr().err
    assert state(ranger)[1] == policies
    ranger.admin.roles.delete(ranger.service, "sales_viewer")


def test_an_interrupted_command_says_how_far_it_came(
    ranger: EmbeddedRanger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(RoleClient, "grant", interrupt)
        assert main(["roles", "apply", "viewer", *ANN, "--yes"]) == 130
    error = capsys.readouterr().err
    rights = len(load_preset("viewer", "default").rights)
    assert f"{rights + 1} of {rights + 2} changes were made; the same command goes on from there" in error
    assert main(["roles", "apply", "viewer", *ANN, "--yes"]) == 0
    assert capsys.readouterr().out == "update role `sales_viewer`: add user `ann`\n"


@pytest.mark.usefixtures("ranger")
def test_json_has_every_step_once_and_the_exit_code_tells_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roles", "apply", "viewer", *ANN, "--dry-run", "--json"]) == 2
    wanted = json.loads(capsys.readouterr().out)
    assert all(step["change"] in ("create", "update") for step in wanted)
    assert main(["roles", "apply", "viewer", *ANN, "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == wanted
    assert main(["roles", "apply", "viewer", *ANN, "--dry-run", "--json"]) == 0
    [kept] = json.loads(capsys.readouterr().out)
    assert (kept["change"], kept["kind"], kept["name"]) == ("keep", "role", "sales_viewer")
    assert main(["roles", "remove", "viewer", "--namespace", "sales", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[-1]["change"] == "delete"


@pytest.mark.usefixtures("ranger")
def test_a_hostile_description_of_a_role_is_escaped(ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]) -> None:
    ranger.admin.roles.create(ranger.service, "sales_viewer", description="x\x1b]0;owned\x07\u202e")
    assert main(["roles", "apply", "viewer", *ANN, "--dry-run"]) == 3
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "\\x1b]0;owned" in shown.out
    ranger.admin.roles.delete(ranger.service, "sales_viewer")
