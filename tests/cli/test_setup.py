"""`ranger-cdap setup` when something is wrong in Ranger: it says so before it writes, or what it has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.errors import AdminFailed, ConflictingChange
from ranger_cdap.ranger.changes.carry_out import carry_out
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemAccess
from tests.cli.live_ranger import PASSWORD
from tests.testing.admin.caller import V2, Caller

NAMED = ("admin.users=alice,zoe", "admin.groups=ops", "master.user=nobody-yet")
WANTED = [*(word for setting in NAMED for word in ("--set", setting)), "setup"]


def everything(ranger: RangerAdmin) -> dict[str, Any]:
    raw = Caller(ranger.url, password=PASSWORD)
    paths = (f"{V2}/servicedef", f"{V2}/service", f"{V2}/policy", "/service/xusers/users", "/service/xusers/groups")
    return {path: json.dumps(raw("GET", path)[1]).partition("queryTimeMS")[0] for path in paths}


@pytest.mark.parametrize("profile", ["", "004"])
def test_the_profile_is_named_where_no_setting_has_chosen_it(
    ranger: RangerAdmin, profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*(["--set", f"cdap.profile={profile}"] if profile else []), "setup", "--dry-run"]) == 2
    assert ("`cdap.profile` is not set, so the profile is `default`" in capsys.readouterr().err) is (not profile)


@pytest.mark.parametrize("url", ["", "https://cdap.example:11015"])
def test_the_confirmation_by_cdap_is_asked_for(
    ranger: RangerAdmin, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    confirm = f'[sync.confirm]\nurl = "{url}"\nuser = "reader"\ncaller = "sync"\nsecret = "env:HOME"\n' if url else ""
    file = Path("ranger-cdap.toml")
    file.write_text(f"{file.read_text()}\n{confirm}")
    assert main(["setup", "--dry-run"]) == 2
    assert ("`sync.confirm.url` is not set" in capsys.readouterr().err) is (not url)


@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_all_missing_users_and_groups_are_named_at_once_and_nothing_is_written(
    ranger: RangerAdmin, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything(ranger)
    assert main([*WANTED, how]) == 3
    shown = capsys.readouterr()
    assert "create service `cdapdev`" in shown.out
    assert "users `zoe`, `nobody-yet` and group `ops`" in shown.err
    assert "alice" not in shown.err
    assert everything(ranger) == before


def test_with_existing_users_and_groups_it_goes_on(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    raw = Caller(ranger.url, password=PASSWORD)
    for name in ("zoe", "nobody-yet"):
        raw.create_user(name)
    assert raw("POST", "/service/xusers/secure/groups", {"name": "ops-team"})[0] == 200
    assert main([*WANTED, "--yes"]) == 3
    assert "no group `ops`" in capsys.readouterr().err
    assert raw("POST", "/service/xusers/secure/groups", {"name": "ops"})[0] == 200
    assert main([*WANTED, "--yes"]) == 0
    assert ranger.policy_by_name("cdapdev", "instance cdap") is not None


def test_a_step_that_fails_is_named_with_the_number_made_before(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(admin: RangerAdmin, policy: Any) -> Any:
        raise AdminFailed("Ranger Admin failed")

    monkeypatch.setattr(RangerAdmin, "create_policy_document", fail)
    assert main([*administrators("alice"), "--yes"]) == 1
    assert ranger.get_service("cdapdev") is not None
    error = capsys.readouterr().err
    assert "policy `instance cdap` (create): Ranger Admin failed; 2 of 3 changes were made before" in error


def test_an_interruption_says_how_many_steps_were_made(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(admin: RangerAdmin, policy: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(RangerAdmin, "create_policy_document", interrupt)
    assert main([*administrators("alice"), "--yes"]) == 130
    error = capsys.readouterr().err
    assert "2 of 3 changes were made; the same command goes on from there" in error


def administrators(*names: str) -> list[str]:
    return ["--set", f"admin.users={','.join(names)}", "setup"]


def test_administrators_in_ranger_follow_the_settings(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*administrators("alice"), "--yes"]) == 0
    policy = ranger.policy_by_name("cdapdev", "instance cdap")
    assert policy is not None
    by_hand = PolicyItem(users=["cdapplugin"], accesses=[PolicyItemAccess(type="execute")])
    ranger.update_policy(replaced(policy, policy_items=[by_hand, *policy.policy_items]))
    before = everything(ranger)
    capsys.readouterr()

    assert main([*administrators("bob"), "--dry-run"]) == 2
    shown = capsys.readouterr().out
    assert "remove alice from service.admin.users" in shown
    assert "give read, write, admin for bob; revoke read, write, admin for alice" in shown
    assert everything(ranger) == before

    assert main([*administrators("bob"), "--yes"]) == 0
    assert capsys.readouterr().out == shown
    policy = ranger.policy_by_name("cdapdev", "instance cdap")
    assert policy is not None
    assert [(item.users, sorted(item.access_types())) for item in policy.policy_items] == [
        (["cdapplugin"], ["execute"]),
        (["bob"], ["admin", "read", "write"]),
    ]
    assert (ranger.get_service("cdapdev") or {})["configs"]["service.admin.users"] == "cdapsync,bob"

    after = everything(ranger)
    assert main([*administrators("bob"), "--yes"]) == 0
    assert everything(ranger) == after


def test_what_changes_while_the_plan_is_shown_is_not_overwritten(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*administrators("alice"), "--yes"]) == 0
    policy = ranger.policy_by_name("cdapdev", "instance cdap")
    assert policy is not None
    edited = replaced(policy, policy_items=[*policy.policy_items, replaced(policy.policy_items[0], users=["bob"])])
    monkeypatch.setattr("ranger_cdap.cli.ranger_changes.confirm", lambda question: ranger.update_policy(edited))
    assert main(administrators("bob")) == 1
    assert "the plan has changed since it was shown, and nothing was done" in capsys.readouterr().err
    found = ranger.policy_by_name("cdapdev", "instance cdap")
    assert found is not None
    assert found.policy_items == edited.policy_items
    assert "bob" not in (ranger.get_service("cdapdev") or {})["configs"]["service.admin.users"]


def test_a_policy_changed_since_it_was_read_is_not_written(ranger: RangerAdmin) -> None:
    assert main([*administrators("alice"), "--yes"]) == 0
    wanted = DesiredState("cdapdev", "cdap", admin_users=("bob",))
    steps = service_setup.plan(wanted, service_setup.read_state(ranger, "cdapdev"))
    policy = ranger.policy_by_name("cdapdev", "instance cdap")
    assert policy is not None
    ranger.update_policy(replaced(policy, description="by a person"))
    with pytest.raises(ConflictingChange, match="it was changed in Ranger since the plan was made"):
        list(carry_out(steps, ranger, "cdapdev"))


def test_members_of_a_policy_that_are_unknown_here_stay(ranger: RangerAdmin) -> None:
    assert main([*administrators("alice"), "--yes"]) == 0
    (document,) = ranger.policy_documents("cdapdev")
    ranger.update_policy_document(document["id"], {**document, "options": {"theirs": "kept"}})
    assert main([*administrators("bob"), "--yes"]) == 0
    assert ranger.policy_documents("cdapdev")[0]["options"] == {"theirs": "kept"}


def disable(ranger: RangerAdmin) -> None:
    service = ranger.get_service("cdapdev") or {}
    ranger.update_service(service["id"], {**service, "isEnabled": False})


def test_a_disabled_service_is_not_kept_but_named_with_what_to_do(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "--yes"]) == 0
    disable(ranger)
    capsys.readouterr()
    for command, code in ((["setup", "--yes"], 0), (["setup", "--dry-run"], 2)):
        assert main(command) == code
        (line,) = [row for row in capsys.readouterr().out.splitlines() if "service `cdapdev`" in row]
        assert line.startswith("blocked service `cdapdev`: ")
        assert "enable it in Ranger Admin" in line
    assert (ranger.get_service("cdapdev") or {})["isEnabled"] is False


def test_a_disabled_service_that_lacks_an_account_is_completed_and_named(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["setup", "--yes"]) == 0
    disable(ranger)
    capsys.readouterr()
    assert main([*administrators("alice"), "--yes"]) == 0
    (line,) = [row for row in capsys.readouterr().out.splitlines() if "service `cdapdev`" in row]
    assert line.startswith("update service `cdapdev`: ")
    assert "enable it in Ranger Admin" in line
    service = ranger.get_service("cdapdev") or {}
    assert (service["isEnabled"], "alice" in service["configs"]["service.admin.users"]) == (False, True)
