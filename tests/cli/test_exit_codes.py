"""The command line as a user meets it: one sentence and one exit code for each kind of outcome."""

import io
import json
import sys
from pathlib import Path

import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from tests.cli.live_ranger import PASSWORD, grant


def test_a_check_is_on_record_by_default_and_with_required_denied_without_one(
    ranger: RangerAdmin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["setup", "--yes"]) == 0
    grant(ranger, "kv", {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}, "alice", "read")
    grant(ranger, "ns1", {"instance": "cdap", "namespace": "ns1"}, "alice", "read")
    question = ["check", "alice", "dataset.get", "dataset:ns1.kv"]

    assert main(question) == 0
    (line, *_) = (tmp_path / "ranger-cdap" / "audit" / "records.jsonl").read_text().splitlines()
    assert (json.loads(line)["reqUser"], json.loads(line)["result"]) == ("alice", 1)
    (tmp_path / "file").touch()
    nowhere = f"audit.file={tmp_path / 'file' / 'records.jsonl'}"
    assert main(["--set", nowhere, *question]) == 0
    capsys.readouterr()
    assert main(["--set", nowhere, "--set", "audit.required=true", *question]) == 2
    assert "access is denied while it cannot be audited" in capsys.readouterr().out


def test_setup_then_allowed_denied_and_explained(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "admin.users=alice", "setup", "--yes"]) == 0
    grant(ranger, "kv", {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}, "alice", "read")
    grant(ranger, "ns1", {"instance": "cdap", "namespace": "ns1"}, "alice", "read")
    capsys.readouterr()

    assert main(["check", "alice", "dataset.get", "dataset:ns1.kv"]) == 0
    assert "allowed: alice dataset.get on dataset:ns1.kv" in capsys.readouterr().out
    assert main(["check", "bob", "dataset.get", "dataset:ns1.kv"]) == 2
    assert "bob" in capsys.readouterr().out
    assert main(["check", "--why", "bob", "dataset.get", "dataset:ns1.kv"]) == 2
    assert "bob needs READ on dataset:ns1.kv" in capsys.readouterr().out


def test_who_can_do_what(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--yes"]) == 0
    grant(ranger, "kv", {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}, "alice", "read")
    capsys.readouterr()

    assert main(["access", "--entity", "dataset:ns1.kv"]) == 0
    assert ["user", "alice", "read", "allowed"] in [line.split()[:4] for line in capsys.readouterr().out.splitlines()]
    assert main(["access", "--entity", "dataset:ns1.other"]) == 0
    assert capsys.readouterr().out == "no one has any access to dataset:ns1.other\n"
    assert main(["access", "--entity", "dataset:ns1.*"]) == 0
    assert "user alice has read on dataset:ns1.kv" in capsys.readouterr().out
    assert main(["access", "--entity", "data:ns1.*"]) == 3


def test_policies_travel_as_a_file(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["setup", "--yes"]) == 0
    for name in ("kept", "changed", "lost"):
        grant(ranger, name, {"instance": "cdap", "namespace": name}, "alice", "read")
    assert main(["policies", "export", "--out", "policies.json"]) == 0
    assert main(["policies", "apply", "--dry-run", "policies.json"]) == 0
    changed, lost = ranger.policy_by_name("cdapdev", "changed"), ranger.policy_by_name("cdapdev", "lost")
    assert changed is not None
    assert lost is not None
    changed.policy_items[0].users = ["bob"]
    ranger.update_policy(changed)
    ranger.delete_policy(lost.id or 0)
    grant(ranger, "new", {"instance": "cdap", "namespace": "new"}, "bob", "read")
    capsys.readouterr()

    assert main(["policies", "apply", "--dry-run", "policies.json"]) == 2
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if not line.startswith(" ")] == [
        "update policy `changed`: differs in policyItems",
        "keep policy `new`: is not in the file",
        "create policy `lost`",
    ]
    assert ranger.policy_by_name("cdapdev", "lost") is None

    assert main(["policies", "apply", "--yes", "policies.json"]) == 0
    again = ranger.policy_by_name("cdapdev", "changed")
    assert again is not None
    assert again.policy_items[0].users == ["alice"]
    assert ranger.policy_by_name("cdapdev", "new") is not None
    capsys.readouterr()
    assert main(["policies", "apply", "--dry-run", "policies.json"]) == 2
    assert capsys.readouterr().out.splitlines() == ["keep policy `new`: is not in the file"]

    assert main(["policies", "apply", "--dry-run", "nowhere.json"]) == 3
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", "wrong")
    assert main(["policies", "export"]) == 1
    shown = capsys.readouterr()
    assert (shown.out, len(shown.err.splitlines())) == ("", 2)


def test_lint_looks_at_what_ranger_has_now(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--yes"]) == 0
    grant(ranger, "kv", {"instance": "cdap", "namespace": "ns1", "dataset": "kv{TEAM}"}, "alice", "read")
    capsys.readouterr()

    assert main(["policies", "lint"]) == 2

    told = capsys.readouterr().out
    assert "unknown-macro" in told
    assert "resources.dataset" in told
    assert "unknown-user" not in told


def test_what_is_not_enforced_says_so(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["setup", "--yes"]) == 0
    capsys.readouterr()
    with Path("ranger-cdap.toml").open("a") as file:
        file.write('[enforce]\noperations = []\noutside = "report"\n')

    assert main(["check", "bob", "dataset.get", "dataset:ns1.kv"]) == 0

    shown = capsys.readouterr()
    assert shown.out.startswith("allowed, because it is not enforced: bob dataset.get on dataset:ns1.kv\n")
    assert "bob lacks READ on dataset:ns1.kv" in " ".join(shown.out.replace("  lacks", "bob lacks").split())
    assert "note: enforced operations: none; all else: report" in shown.err


def test_setup_twice_changes_nothing_the_second_time(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "admin.users=alice", "--set", "master.user=bob", "setup", "--yes"]) == 0
    before = ranger.get_service("cdapdev")
    capsys.readouterr()

    assert main(["--set", "admin.users=alice", "--set", "master.user=bob", "setup", "--yes"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith("keep ") for line in lines)
    assert ranger.get_service("cdapdev") == before


@pytest.mark.parametrize(
    ("answer", "code", "said"), [("", 3, "`--yes` confirms beforehand"), ("n\n", 130, "interrupted")]
)
def test_who_is_not_asked_or_says_no_changes_nothing(
    ranger: RangerAdmin,
    answer: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    assert main(["setup"]) == code
    assert said in capsys.readouterr().err.splitlines()[-1]
    assert ranger.get_service("cdapdev") is None


def test_an_import_that_has_nothing_to_do_says_so(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--yes"]) == 0
    grant(ranger, "kv", {"instance": "cdap", "namespace": "ns1"}, "alice", "read")
    assert main(["policies", "export", "--out", "policies.json"]) == 0
    capsys.readouterr()
    assert main(["policies", "apply", "policies.json"]) == 0
    assert capsys.readouterr().out == "nothing to do: Ranger has these policies and no others\n"


def test_a_dry_run_shows_the_plan_and_does_nothing(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--dry-run"]) == 2
    assert "create service `cdapdev`" in capsys.readouterr().out
    assert ranger.get_service("cdapdev") is None


def test_without_a_service_the_plugin_is_not_ready(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "alice", "dataset.get", "dataset:ns1.kv"]) == 4
    assert "cdapdev" in capsys.readouterr().err


def test_a_wrong_password_is_one_line_and_is_tried_once(
    ranger: RangerAdmin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", "Wrong-Horse-1")

    assert main(["setup", "--yes"]) == 1

    error = capsys.readouterr().err
    assert "ranger-admin-authentication" in error
    assert "Wrong-Horse-1" not in error
    assert len(error.splitlines()) == 1
    # One try: the account is not locked, the right password still works.
    assert ranger.get_service("cdapdev") is None


def test_no_ranger_admin_is_one_line_for_setup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", PASSWORD)
    monkeypatch.setenv("RANGER_CDAP_RANGER__URL", "http://127.0.0.1:1")
    monkeypatch.setenv("RANGER_CDAP_RANGER__ATTEMPTS", "1")

    assert main(["setup", "--yes"]) == 4

    error = capsys.readouterr().err
    assert "http://127.0.0.1:1" in error
    assert len(error.splitlines()) == 1


def test_ranger_admin_away_is_a_warning_for_a_plugin_with_a_cache(
    ranger: RangerAdmin,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["setup", "--yes"]) == 0
    assert main(["check", "alice", "dataset.get", "dataset:ns1.kv"]) == 2
    capsys.readouterr()
    monkeypatch.setenv("RANGER_CDAP_RANGER__URL", "http://127.0.0.1:1")
    monkeypatch.setenv("RANGER_CDAP_RANGER__ATTEMPTS", "1")

    assert main(["check", "alice", "dataset.get", "dataset:ns1.kv"]) == 4
    assert f"it came from `{ranger.url}`, which is not in `ranger.url`" in capsys.readouterr().err
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__ACCEPT_CACHE_OF", ranger.url)
    assert main(["check", "alice", "dataset.get", "dataset:ns1.kv"]) == 2

    captured = capsys.readouterr()
    assert "denied" in captured.out
    assert captured.err.startswith("warning: cached policies are used (fresh): Ranger Admin at `http://127.0.0.1:1`")
    assert len(captured.err.splitlines()) == 1
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "alice", "dataset.gett", "dataset:ns1.kv"], "did you mean `dataset.get`"),
        (["check", "alice", "dataset.get", "datset:ns1.kv"], "did you mean `dataset`"),
        (["check", "alice", "dataset.get", "dataset:ns1.*"], "not a name that CDAP allows"),
        (["check", "alice", "dataset.get", "namespace:ns1"], "applies to a dataset"),
        (["check", "alice"], "Missing argument"),
        (["chek"], "No such command"),
        (["--config", "nowhere.toml", "check", "a", "dataset.get", "dataset:ns1.kv"], "does not exist"),
    ],
)
def test_invalid_input_is_exit_code_3(
    ranger: RangerAdmin, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "--yes"]) == 0

    assert main(arguments) == 3
    assert message in capsys.readouterr().err


def test_json_is_one_document(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    assert main(["setup", "--yes"]) == 0
    capsys.readouterr()

    assert main(["check", "alice", "dataset.get", "dataset:ns1.kv", "--json"]) == 2

    document = json.loads(capsys.readouterr().out)
    assert document["allowed"] is False
    assert document["missing"][0] == {
        "user": "alice",
        "capacity": "requesting",
        "actions": ["READ"],
        "entity": "dataset:ns1.kv",
    }
