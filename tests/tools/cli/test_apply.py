"""A directory of policies and a Ranger Admin: export, plan, apply and import, as whole flows."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests

from ranger_cdap import errors
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.main import main
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from tests.cli.live_ranger import PASSWORD, grant
from tests.tools.policies.test_creator_grants import granted

KV = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
SERVICE = "cdapdev"


def ns(name: str) -> dict[str, str]:
    return {"instance": "cdap", "namespace": name}


@pytest.fixture
def told(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[list[str], str]]:
    """Run a command that ends with this code, in a service that is set up; its lines and what it says besides."""
    assert main(["setup", "--yes", "--quiet"]) == 0
    capsys.readouterr()

    def run(code: int, *words: str) -> tuple[list[str], str]:
        capsys.readouterr()
        assert main(["policies", *words]) == code, capsys.readouterr().err
        shown = capsys.readouterr()
        return shown.out.splitlines(), shown.err

    return run


def names(ranger: RangerAdmin) -> set[str]:
    return {policy.name for policy in ranger.list_policies(SERVICE)}


def versions(ranger: RangerAdmin) -> dict[str, int | None]:
    return {policy.name: policy.version for policy in ranger.list_policies(SERVICE)}


def edit(path: Path, **members: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


def write_grants(ranger: RangerAdmin, *numbers: int) -> None:
    for number in numbers:
        made = granted(EntityId("dataset", ("ns1", f"d{number}")), number)
        ranger.create_policy_document({**made, "service": SERVICE})


def test_an_exported_directory_is_what_ranger_has(ranger: RangerAdmin, told: Any) -> None:
    grant(ranger, "kv", KV, "alice", "read")
    write_grants(ranger, 1, 2, 3)
    _, said = told(0, "export", "--directory", "ranger")
    assert "grants of the sync job left out: 3" in said
    lines, _ = told(0, "apply", "--dry-run", "ranger")
    assert lines == ["grants of the sync job, which stay: 3", "nothing to do: Ranger has these policies and no others"]
    assert told(0, "apply", "--dry-run", "ranger", "--json")[0] == ["[]"]
    before = versions(ranger)
    told(0, "apply", "ranger", "--delete", "--yes")
    assert versions(ranger) == before
    for path, form in (("ranger", ["--directory", "ranger", "--grants"]), ("all.json", ["--out", "all.json"])):
        told(0, "export", *form)
        assert main(["access", "--entity", "dataset:ns1.d1", "--policies", path, "--json"]) == 0
        told(0, "apply", "--dry-run", path)


def test_apply_does_what_plan_says_and_nothing_else(ranger: RangerAdmin, told: Any) -> None:
    for name in ("kept", "changed", "renamed", "lost", "extra"):
        grant(ranger, name, ns(name), "alice", "read")
    write_grants(ranger, 1)
    told(0, "export", "--directory", "ranger")
    folder = Path("ranger/policies")
    edit(folder / "changed.json", description="new")
    edit(folder / "renamed.json", name="new name")
    (folder / "extra.json").unlink()
    lost = ranger.policy_by_name(SERVICE, "lost")
    assert lost is not None
    ranger.delete_policy(lost.id or 0)
    before = versions(ranger)

    planned, _ = told(2, "apply", "--dry-run", "ranger")
    assert versions(ranger) == before
    assert [line for line in planned if not line.startswith(" ")] == [
        "update policy `changed`: differs in description",
        "update policy `new name`: was `renamed`, differs in name",
        "keep policy `extra`: is not in the file",
        "create policy `lost`",
        "grants of the sync job, which stay: 1",
    ]
    applied, _ = told(0, "apply", "ranger", "--yes")
    assert applied == planned
    after = versions(ranger)
    assert after == {
        **{name: version for name, version in before.items() if name != "renamed"},
        "changed": 2,
        "new name": 2,
        "lost": 1,
    }
    assert told(2, "apply", "--dry-run", "ranger")[0][0] == "keep policy `extra`: is not in the file"
    told(0, "apply", "ranger", "--yes", "--delete")
    assert told(0, "apply", "--dry-run", "ranger", "--json")[0] == ["[]"]
    assert names(ranger) == set(after) - {"extra"}


def test_a_plan_that_was_reviewed_is_applied_or_refused(ranger: RangerAdmin, told: Any) -> None:
    grant(ranger, "kv", KV, "alice", "read")
    told(0, "export", "--directory", "ranger")
    edit(Path("ranger/policies/kv.json"), description="reviewed")
    Path("plan.json").write_text("\n".join(told(2, "apply", "--dry-run", "ranger", "--json")[0]))
    edit(Path("ranger/policies/kv.json"), description="slipped in")
    assert "nothing was done" in told(1, "apply", "ranger", "--plan", "plan.json", "--yes")[1]
    edit(Path("ranger/policies/kv.json"), description="reviewed")
    write_grants(ranger, 1)  # the sync job goes on meanwhile
    found = ranger.policy_by_name(SERVICE, "kv")
    assert found is not None
    ranger.update_policy(found)
    before = versions(ranger)
    assert "nothing was done" in told(1, "apply", "ranger", "--plan", "plan.json", "--yes")[1]
    assert versions(ranger) == before
    Path("plan.json").write_text("\n".join(told(2, "apply", "--dry-run", "ranger", "--json")[0]))
    told(0, "apply", "ranger", "--plan", "plan.json", "--yes")
    assert told(0, "apply", "--dry-run", "ranger", "--json")[0] == ["[]"]
    Path("plan.json").write_text("{")
    assert "`plan.json` cannot be used: it is not JSON" in told(3, "apply", "ranger", "--plan", "plan.json", "--yes")[1]


@pytest.mark.parametrize(("answer", "code"), [("", 3), ("n\n", 130)])
def test_without_a_yes_nothing_is_changed(
    answer: str, code: int, ranger: RangerAdmin, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(ranger, "kv", KV, "alice", "read")
    told(0, "export", "--directory", "ranger")
    grant(ranger, "extra", ns("x"), "alice", "read")
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    assert "of which 1 deletion" in told(code, "apply", "ranger", "--delete")[1]
    assert "extra" in names(ranger)


def test_a_change_while_it_asks_is_noticed(ranger: RangerAdmin, told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    grant(ranger, "kv", KV, "alice", "read")
    told(0, "export", "--directory", "ranger")
    edit(Path("ranger/policies/kv.json"), description="mine")

    class Meanwhile(io.StringIO):
        def readline(self, *_: Any) -> str:
            found = ranger.policy_by_name(SERVICE, "kv")
            assert found is not None
            ranger.update_policy(msgspec.structs.replace(found, description="theirs"))
            return "y\n"

    monkeypatch.setattr(sys, "stdin", Meanwhile())
    assert "has changed since it was shown, and nothing was done" in told(1, "apply", "ranger")[1]
    found = ranger.policy_by_name(SERVICE, "kv")
    assert found is not None
    assert found.description == "theirs"


def test_a_grant_of_the_sync_job_while_it_asks_stops_nothing(
    ranger: RangerAdmin, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(ranger, "kv", KV, "alice", "read")
    told(0, "export", "--directory", "ranger")
    edit(Path("ranger/policies/kv.json"), description="mine")

    class Granting(io.StringIO):
        def readline(self, *_: Any) -> str:
            write_grants(ranger, 1)
            return "y\n"

    monkeypatch.setattr(sys, "stdin", Granting())
    told(0, "apply", "ranger")
    assert told(0, "apply", "--dry-run", "ranger")[0][0] == "grants of the sync job, which stay: 1"


@pytest.mark.parametrize(
    ("service", "has_policies", "said"),
    [
        ("cdapprod", True, "the policies of service `cdapprod`"),
        ("", False, "would delete all of service `cdapdev`"),
    ],
)
def test_the_wrong_directory_deletes_nothing(
    service: str, has_policies: bool, said: str, ranger: RangerAdmin, told: Any
) -> None:
    grant(ranger, "kv", KV, "alice", "read")
    told(0, "export", "--directory", "ranger")
    edit(Path("ranger/service.json"), service=service)
    for path in Path("ranger/policies").iterdir() if not has_policies else ():
        path.unlink()
    before = versions(ranger)
    assert said in told(3, "apply", "ranger", "--delete", "--yes")[1]
    assert said in told(3, "apply", "--dry-run", "ranger", "--delete")[1]
    assert versions(ranger) == before


def test_a_plan_with_an_obstacle_is_refused_as_a_whole(ranger: RangerAdmin, told: Any) -> None:
    grant(ranger, "theirs", KV, "bob", "read")
    told(0, "export", "--directory", "ranger")
    edit(Path("ranger/policies/theirs.json"), name="mine", description="another", isAuditEnabled=False)
    edit(Path("ranger/policies/theirs.json"), policyItems=[{"users": ["alice"], "accesses": [{"type": "read"}]}])
    before = versions(ranger)
    lines, _ = told(3, "apply", "--dry-run", "ranger")
    assert "blocked policy `mine`: policy `theirs` has the same resource, and Ranger takes one policy for it" in lines
    assert "policy `mine` is blocked" in told(3, "apply", "ranger", "--yes")[1]
    assert versions(ranger) == before
    told(0, "apply", "ranger", "--yes", "--delete")
    assert told(0, "apply", "--dry-run", "ranger", "--json")[0] == ["[]"]


@pytest.mark.parametrize("ending", [errors.AdminUnreachable, KeyboardInterrupt])
def test_after_a_failure_the_same_command_goes_on(
    ending: type[BaseException], ranger: RangerAdmin, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        grant(ranger, f"p{n}", ns(f"n{n}"), "alice", "read")
    told(0, "export", "--directory", "ranger")
    for policy in ranger.list_policies(SERVICE):
        if policy.name.startswith("p"):
            ranger.delete_policy(policy.id or 0)
    real, left = RangerAdmin.create_policy_document, [2]

    def failing(self: RangerAdmin, policy: Any) -> Any:
        left[0] -= 1
        made = real(self, policy) if left[0] >= -1 else None
        if left[0] < 0:
            raise ending("no answer")  # although it did it
        return made

    with monkeypatch.context() as patched:
        patched.setattr(RangerAdmin, "create_policy_document", failing)
        _, said = told(4 if ending is errors.AdminUnreachable else 130, "apply", "ranger", "--yes")
    assert "2 of 5 changes were made" in said
    assert ("policy `p2` (create): no answer" in said) == (ending is errors.AdminUnreachable)
    lines, _ = told(0, "apply", "ranger", "--yes")
    assert lines == ["create policy `p3`", "create policy `p4`"]
    assert set(versions(ranger).values()) == {1}


def test_a_policy_that_ranger_rejects_is_named(ranger: RangerAdmin, told: Any) -> None:
    grant(ranger, "a", ns("a"), "alice", "read")
    told(0, "export", "--directory", "ranger")
    unknown = {"roles": ["nobody"], "accesses": [{"type": "read"}]}
    edit(Path("ranger/policies/a.json"), policyItems=[unknown])
    _, said = told(1, "apply", "ranger", "--yes")
    assert "policy `a` (update)" in said
    assert "nobody" in said
    assert "0 of 1 changes" in said


def test_an_account_that_sees_only_some_policies_exports_none(
    ranger: RangerAdmin, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(ranger, "kv", KV, "alice", "read")
    monkeypatch.setattr(RangerAdmin, "policy_documents", lambda self, service: [])
    _, said = told(1, "export", "--directory", "ranger")
    assert "does not see all policies of service `cdapdev`" in said
    assert not Path("ranger").exists()


@pytest.mark.parametrize(
    "words",
    [["--format", "yaml"], ["--grants"], ["--directory", "a", "--out", "b"]],
)
def test_options_that_do_not_fit_are_refused(words: list[str], told: Any) -> None:
    told(3, "export", *words)


def test_policies_of_security_zones_are_exported_and_planned(ranger: RangerAdmin, told: Any) -> None:
    there = {"resources": [{"instance": ["cdap"], "namespace": ["fin*"]}]}
    people = {"adminUsers": ["alice"], "auditUsers": ["alice"]}
    zone = {"name": "z", "services": {SERVICE: there}, **people}
    address = f"{ranger.url}/service/public/v2/api/zones"
    assert requests.post(address, json=zone, auth=("admin", PASSWORD), timeout=10).status_code == 200
    levels = {level: PolicyResource(values=[value]) for level, value in ns("fin1").items()}
    given = [PolicyItem(users=["alice"], accesses=[PolicyItemAccess(type="read")])]
    inside = Policy(service=SERVICE, name="inside", zone_name="z", resources=levels, policy_items=given)
    ranger.create_policy(inside)
    grant(ranger, "outside", KV, "alice", "read")

    told(0, "export", "--directory", "ranger")
    assert told(0, "apply", "--dry-run", "ranger")[0] == ["nothing to do: Ranger has these policies and no others"]
    kept = {one["name"]: (path, one) for path in Path("ranger").rglob("*.json") if "name" in (one := read(path))}
    assert kept["inside"][1]["zoneName"] == "z"
    kept["inside"][0].unlink()
    assert told(2, "apply", "--dry-run", "ranger")[0][0] == "keep policy `inside` in zone `z`: is not in the file"
    told(0, "apply", "ranger", "--delete", "--yes")
    assert "inside" not in {one["name"] for one in ranger.policy_documents(SERVICE)}


def read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text())
    assert isinstance(found, dict)
    return found


def test_names_that_ranger_lacks_are_all_told_before_anything_is_shown_or_done(ranger: RangerAdmin, told: Any) -> None:
    grant(ranger, "kv", KV, "alice", "read")
    told(0, "export", "--directory", "ranger")
    before = versions(ranger)
    given = {"accesses": [{"type": "read", "isAllowed": True}], "users": ["{USER}", "alice", "zed"]}
    edit(
        Path("ranger/policies/kv.json"),
        policyItems=[{**given, "groups": ["public", "auditors"]}],
        denyPolicyItems=[{**given, "groups": ["contractors"]}],
    )
    lines, said = told(3, "apply", "ranger", "--yes")
    assert lines == []
    assert "Ranger has no user `zed` and groups `auditors`, `contractors`" in said
    assert versions(ranger) == before
