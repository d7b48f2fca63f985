"""`ranger-cdap setup` when something is wrong in Ranger: it says so before it writes, or what it has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.errors import AdminFailed
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy
from tests.cli.live_ranger import PASSWORD
from tests.embedded_admin.caller import V2, Caller

WANTED = ["--admin-user", "alice", "--admin-user", "zoe", "--admin-group", "ops", "--master-user", "nobody-yet"]


def everything(ranger: RangerAdmin) -> dict[str, Any]:
    raw = Caller(ranger.url, password=PASSWORD)
    paths = (f"{V2}/servicedef", f"{V2}/service", f"{V2}/policy", "/service/xusers/users", "/service/xusers/groups")
    return {path: json.dumps(raw("GET", path)[1]).partition("queryTimeMS")[0] for path in paths}


@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_all_missing_users_and_groups_are_named_at_once_and_nothing_is_written(
    ranger: RangerAdmin, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything(ranger)
    assert main(["setup", how, *WANTED]) == 3
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
    assert main(["setup", "--yes", *WANTED]) == 3
    assert "no group `ops`" in capsys.readouterr().err
    assert raw("POST", "/service/xusers/secure/groups", {"name": "ops"})[0] == 200
    assert main(["setup", "--yes", *WANTED]) == 0
    assert ranger.policy_by_name("cdapdev", "instance cdap") is not None


def test_a_step_that_fails_names_the_steps_before_it(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(admin: RangerAdmin, policy: Policy) -> Policy:
        raise AdminFailed("Ranger Admin failed")

    monkeypatch.setattr(RangerAdmin, "create_policy", fail)
    assert main(["setup", "--yes", "--admin-user", "alice"]) == 1
    assert ranger.get_service("cdapdev") is not None
    error = capsys.readouterr().err
    assert "done before it: service definition `cdap`, service `cdapdev`" in error
    assert "run setup again" in error


def disable(ranger: RangerAdmin) -> None:
    service = ranger.get_service("cdapdev") or {}
    ranger.update_service(service["id"], {**service, "isEnabled": False})


def test_a_disabled_service_is_not_kept_but_named_with_what_to_do(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "--yes"]) == 0
    disable(ranger)
    capsys.readouterr()
    for command in (["setup", "--yes"], ["setup", "--dry-run"]):
        assert main(command) == 0
        (line,) = [row for row in capsys.readouterr().out.splitlines() if "service `cdapdev`" in row]
        assert line.startswith("disabled service `cdapdev`: ")
        assert "enable it in Ranger Admin" in line
    assert (ranger.get_service("cdapdev") or {})["isEnabled"] is False


def test_a_disabled_service_that_lacks_an_account_is_completed_and_named(
    ranger: RangerAdmin, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["setup", "--yes"]) == 0
    disable(ranger)
    capsys.readouterr()
    assert main(["setup", "--yes", "--admin-user", "alice"]) == 0
    (line,) = [row for row in capsys.readouterr().out.splitlines() if "service `cdapdev`" in row]
    assert line.startswith("update service `cdapdev`: ")
    assert "enable it in Ranger Admin" in line
    service = ranger.get_service("cdapdev") or {}
    assert (service["isEnabled"], "alice" in service["configs"]["service.admin.users"]) == (False, True)
