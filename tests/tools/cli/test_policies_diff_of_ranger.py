"""`ranger-cdap policies diff` with the policies of Ranger Admin."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.main import main
from ranger_cdap.cli.policy_files import PolicyFiles
from ranger_cdap.engine import EngineOptions
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.fixed import FixedPolicies
from ranger_cdap.tools.analysis.comparison import differences
from ranger_cdap.tools.analysis.impact import SpacePair
from ranger_cdap.tools.cli.policies_diff import _read
from tests.cli.live_ranger import PASSWORD, grant
from tests.tools.policies.test_creator_grants import granted

Json = dict[str, Any]
KV = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}


@pytest.fixture
def impact_of(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[Json, str]]:
    """Run the command in a service that is set up; its JSON document and what it says besides."""
    assert main(["setup", "--yes", "--quiet"]) == 0

    def run(*words: str, code: int = 0) -> tuple[Json, str]:
        capsys.readouterr()
        assert main(["policies", "diff", "--json", *words]) == code
        shown = capsys.readouterr()
        return json.loads(shown.out or "{}"), shown.err

    return run


def made(ranger: RangerAdmin, user: str = "alice") -> int:
    grant(ranger, "kv", KV, user, "read")
    policy = ranger.policy_by_name("cdapdev", "kv")
    assert policy is not None
    assert policy.id is not None
    return policy.id


def edit(ranger: RangerAdmin, policy_id: int, **members: Any) -> None:
    (document,) = (one for one in ranger.policy_documents("cdapdev") if one["id"] == policy_id)
    ranger.update_policy_document(policy_id, {**document, **members})


def item(user: str) -> Json:
    return {"users": [user], "accesses": [{"type": "read"}]}


def who(rows: list[Json]) -> list[tuple[list[str], list[str]]]:
    return [(row["who"], row["accesses"]) for row in rows]


def test_ranger_as_it_is_has_no_impact_on_itself(impact_of: Callable[..., tuple[Json, str]]) -> None:
    found, said = impact_of("ranger:", "ranger:", "--fail-on", "any")
    assert (found["gained"], found["lost"]) == ([], [])
    assert "--tags" not in said  # Ranger's tags are used


def test_a_history_compares_what_was_used_with_ranger_as_it_is(
    ranger: RangerAdmin, impact_of: Callable[..., tuple[Json, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__HISTORY_DIR", str(tmp_path / "history"))
    assert main(["policies", "refresh", "--quiet"]) == 0
    used = "2999-01-01"
    assert impact_of(f"history:{used}", "ranger:")[0]["gained"] == []
    made(ranger)
    assert who(impact_of(f"history:{used}", "ranger:")[0]["gained"]) == [(["user alice"], ["read"])]


def test_roles_are_those_of_ranger_on_both_sides(
    ranger: RangerAdmin, impact_of: Callable[..., tuple[Json, str]], tmp_path: Path
) -> None:
    role = {"name": "ops", "users": [{"name": "bob", "isAdmin": False}]}
    answer = requests.post(f"{ranger.url}/service/public/v2/api/roles", json=role, auth=("admin", PASSWORD), timeout=10)
    assert answer.ok
    number = made(ranger)
    assert main(["policies", "export", "--directory", str(tmp_path / "policies")]) == 0
    edit(ranger, number, policyItems=[{"roles": ["ops"], "accesses": [{"type": "read"}]}])
    found, _ = impact_of(str(tmp_path / "policies"), "ranger:")
    (row,) = found["gained"]
    assert row["who"] == ["role ops"]
    assert next(iter(row["examples"].values()))["user"] == "bob"


def test_a_directory_leaves_the_grants_of_the_sync_job_as_they_are(
    ranger: RangerAdmin, impact_of: Callable[..., tuple[Json, str]], tmp_path: Path
) -> None:
    document = granted(EntityId("dataset", ("ns1", "d1")), 1)
    ranger.create_policy_document({**document, "service": "cdapdev"})
    assert main(["policies", "export", "--directory", str(tmp_path / "policies")]) == 0
    assert not [path for path in (tmp_path / "policies").rglob("*") if "created" in path.name]
    found, _ = impact_of("ranger:", str(tmp_path / "policies"))
    assert (found["gained"], found["lost"]) == ([], [])
    assert main(["policies", "export", "--out", str(tmp_path / "all.json")]) == 0
    policies = json.loads((tmp_path / "all.json").read_text())
    policies["policies"] = [one for one in policies["policies"] if " created " not in one["name"]]
    (tmp_path / "all.json").write_text(json.dumps(policies))
    assert impact_of("ranger:", str(tmp_path / "all.json"))[0]["lost"]


def test_a_directory_is_compared_in_the_service_as_it_is(
    ranger: RangerAdmin, impact_of: Callable[..., tuple[Json, str]], tmp_path: Path
) -> None:
    service = ranger.get_service("cdapdev")
    assert service is not None
    ranger.update_service(
        service["id"], {**service, "configs": service["configs"] | {"ranger.plugin.super.users": "bob"}}
    )
    number = made(ranger)
    directory = tmp_path / "policies"
    assert main(["policies", "export", "--directory", str(directory)]) == 0
    (directory / "service.json").write_text(json.dumps({"service": "cdapdev"}))
    shutil.rmtree(directory / "tags")
    people = {"adminUsers": ["alice"], "auditUsers": ["alice"]}
    there = {"resources": [{"instance": ["cdap"], "namespace": ["fin*"]}]}
    zone = {"name": "z", "services": {"cdapdev": there}, **people}
    answer = requests.post(f"{ranger.url}/service/public/v2/api/zones", json=zone, auth=("admin", PASSWORD), timeout=10)
    assert answer.ok, answer.text
    levels = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["fin1"]}}
    inside = {"name": "fin", "zoneName": "z", "resources": levels, "policyItems": [item("alice")]}
    ranger.create_policy_document({**inside, "service": "cdapdev"})
    (directory / "policies" / "fin.json").write_text(json.dumps(inside))
    edit(ranger, number, policyItems=[item("bob"), item("alice"), item("cdapsync")])
    found, _ = impact_of("ranger:", str(directory))
    assert (found["gained"], who(found["lost"])) == ([], [(["user cdapsync"], ["read"])])
    # Only the changed policy is looked at: nothing else differs.
    read = _read(Invocation(), PolicyFiles("ranger:"), PolicyFiles(str(directory)))
    sets = [FixedPolicies.of(one, service="cdapdev", options=EngineOptions()).snapshot.engine for one in read]
    pair = SpacePair.of(*(engine for engine in sets if engine is not None))
    assert not differences(pair.old, pair.new)[0].all_differ


def test_a_service_administrator_without_download_gets_what_is_listed(
    ranger: RangerAdmin,
    impact_of: Callable[..., tuple[Json, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    service = ranger.get_service("cdapdev")
    assert service is not None
    configs = service["configs"] | {"service.admin.users": f"{service['configs']['service.admin.users']},bob"}
    ranger.update_service(service["id"], {**service, "configs": configs})
    number, directories = made(ranger), {name: tmp_path / name for name in ("admin", "bob")}
    for name, directory in directories.items():
        assert main(["policies", "export", "--ranger-user", name, "--directory", str(directory)]) == 0
    assert "are listed" in capsys.readouterr().err
    first, second = ({p.name: p.read_bytes() for p in (one / "policies").iterdir()} for one in directories.values())
    assert first == second
    edit(ranger, number, policyItems=[item("alice"), item("cdapsync")])
    expected, _ = impact_of(str(directories["admin"]), "ranger:")
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__USERNAME", "bob")
    found, said = impact_of(str(directories["bob"]), "ranger:")
    assert (who(found["gained"]), found["lost"]) == ([(["user cdapsync"], ["read"])], [])
    assert found["gained"] == expected["gained"]
    assert "without tag policies and settings" in said
    # Nothing that decides uses a part of what a plugin gets.
    assert main(["check", "cdapsync", "dataset.get", "dataset:ns1.kv", "--policies", "ranger:"]) == ExitCode.ERROR
    assert "forbidden" in capsys.readouterr().err


def test_an_account_without_rights_is_told_so(
    impact_of: Callable[..., tuple[Json, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__USERNAME", "bob")
    assert "forbidden" in impact_of("ranger:", "ranger:", code=ExitCode.ERROR)[1]
    monkeypatch.setenv("RANGER_CDAP_PLUGIN__PASSWORD", "wrong")
    assert "password" in impact_of("ranger:", "ranger:", code=ExitCode.ERROR)[1]


@pytest.mark.slow  # the client tries again for a while
@pytest.mark.usefixtures("impact_of")
def test_a_ranger_that_does_not_answer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = ("--set", "ranger.url=http://127.0.0.1:9")
    capsys.readouterr()
    assert main([*nowhere, "policies", "diff", "ranger:", "ranger:"]) == ExitCode.ERROR
    assert "http://127.0.0.1:9" in capsys.readouterr().err
