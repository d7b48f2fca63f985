"""`ranger-cdap needs --for-cdap`: what CDAP asks in addition, as a table, as JSON, as policies, and in Ranger."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cli.main import main
from ranger_cdap.config import Secret, load_settings
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from tests.cdap.checks.test_replay import RECORDED, is_for_a_type_of_cdap
from tests.cli.fixtures import download
from tests.cli.live_ranger import PASSWORD, grant

SERVICE = "cdapdev"
TRUNCATE = ["needs", "alice", "dataset.truncate", "dataset:ns1.ds1", "--for-cdap"]
DEPLOY = ["needs", "alice", "application.deploy", "application:ns1.ProbeApp", "--for-cdap"]
FROM_ARTIFACT = ["--artifact", "artifact:ns1.probeapp", "--with", "datasets=dataset:ns1.kv"]
FROM_ARTIFACT += ["--with", "datasets=dataset:ns1.customds"]
FROM_ARTIFACT += ["--with", "types=dataset_type:ns1.probeapp.ProbeApp$CustomDs"]
KV = {"instance": "cdap", "namespace": "ns1", "dataset": "ds1"}

Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command that ends with this code; its answer and what it says besides."""

    def answer(code: int, *words: str) -> tuple[str, str]:
        capsys.readouterr()
        assert main(list(words)) == code, capsys.readouterr().err
        shown = capsys.readouterr()
        return shown.out, shown.err

    return answer


@pytest.fixture
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_alone")
def test_a_second_table_has_what_cdap_asks_with_the_reason_and_the_requirement(run: Run) -> None:
    out, err = run(0, *TRUNCATE)
    first, _, second = out.partition("CDAP also asks for:\n")
    assert "ADMIN" in first
    assert "READ" not in first
    line = second.splitlines()[1]
    for word in ("alice", "the requesting user", "READ", "dataset:ns1.ds1", "GET on dataset:ns1.ds1"):
        assert word in line
    assert line.endswith("dataset.truncate")
    assert "S003-dataset-get: " in second
    assert err == ""


@pytest.mark.usefixtures("_alone")
def test_without_the_option_nothing_of_it_is_shown(run: Run) -> None:
    assert "CDAP also" not in run(0, *TRUNCATE[:-1])[0]
    assert isinstance(json.loads(run(0, *TRUNCATE[:-1], "--json")[0]), list)


@pytest.mark.usefixtures("_alone")
def test_as_json_every_privilege_has_its_checks(run: Run) -> None:
    document = json.loads(run(0, *TRUNCATE, "--json")[0])
    ((alternative,), recorded) = document["alternatives"], document["recorded"]
    assert recorded == ["dataset.truncate"]
    assert [need["actions"] for need in alternative["needs"]] == [["ADMIN"]]
    (more,) = alternative["cdap_asks"]
    assert (more["user"], more["actions"], more["requirements"]) == ("alice", ["READ"], ["S003-dataset-get"])
    (check,) = more["checks"]
    assert check["permissions"] == ["STANDARD.GET"]
    assert check["entity"] == "dataset:ns1.ds1"
    assert check["hint"].startswith("DatasetInstanceService.get ")


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["alice", "dataset.get", "dataset:ns1.kv"], "CDAP asks for nothing else"),
        (["alice", "namespace.enable_wrangler", "namespace:ns1"], "not recorded: only the profile's privileges are"),
        (["alice", "application.deploy", "application:ns1.a"], "CDAP's checks depend on artifact or jar"),
        (
            ["alice", "application.deploy", "application:ns1.a", "--jar", "artifact:ns1.a", "--impersonate", "svc"],
            "not recorded with this context: only the profile's privileges are known",
        ),
        (
            ["alice", "application.schedule", "application:ns1.a"],
            "CDAP also checks these, if there are any: programs; name them by --with ROLE=ENTITY",
        ),
    ],
)
def test_what_is_not_known_of_cdap_is_said(words: list[str], said: str, run: Run) -> None:
    assert said in run(0, "needs", *words, "--for-cdap")[0]


@pytest.mark.usefixtures("_alone")
def test_one_recorded_operation_can_be_chosen(run: Run) -> None:
    update = ["needs", "alice", "application.update", "application:ns1.a", "--for-cdap"]
    assert "namespace:system" in run(0, *update)[0]
    assert "namespace:system" not in run(0, *update, "--recorded", "application.update")[0]
    out, err = run(3, *update, "--recorded", "application.updat")
    assert (out, "did you mean `application.update`?" in err) == ("", True)
    wrangler = ["needs", "alice", "namespace.enable_wrangler", "namespace:ns1", "--for-cdap", "--recorded", "x"]
    assert "it was not recorded" in run(3, *wrangler)[1]


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--recorded", "x"], "`--recorded` needs `--for-cdap`"),
        (["--alternative", "1"], "`--alternative` needs `--policies`"),
        (["--policies", "--alternative", "2"], "there is no alternative 2; the number of alternatives is 1"),
    ],
)
def test_options_that_do_not_belong_together_are_one_sentence(words: list[str], said: str, run: Run) -> None:
    out, err = run(3, "needs", "alice", "dataset.get", "dataset:ns1.kv", *words)
    assert (out, len(err.splitlines())) == ("", 1)
    assert said in err


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("user", ["public", "{USER}", "a,b", "\x1b[2J"])
def test_nothing_is_given_to_what_is_no_single_user(user: str, run: Run) -> None:
    out, err = run(3, "needs", user, "dataset.get", "dataset:ns1.kv", "--policies")
    assert (out, "\x1b" in err) == ("", False)


@pytest.mark.usefixtures("_alone")
def test_policies_of_an_operation_that_cannot_be_decided_are_none(run: Run) -> None:
    Path("ranger-cdap.toml").write_text('[cdap]\nprofile = "004"\n')
    assert "artifact or jar: name it" in run(3, *DEPLOY, "--policies")[1]


@pytest.mark.usefixtures("_alone")
def test_the_policies_are_a_file_of_policies_and_say_which_alternative_they_are(run: Run) -> None:
    out, err = run(0, *DEPLOY, *FROM_ARTIFACT, "--policies")
    assert "note: alternative 2 of 2 gives least; `--alternative` takes another" in err
    other, said = run(0, *DEPLOY, *FROM_ARTIFACT, "--policies", "--alternative", "1")
    assert "note: alternative 1 of 2\n" in said
    assert '"application"' in out
    assert '"application"' not in other
    Path("needed.json").write_text(out)
    assert run(0, "policies", "lint", "--policies", "needed.json")
    for entity in ("dataset:ns1.kv", "dataset_type:ns1.probeapp.ProbeApp$CustomDs"):
        assert "alice" in run(0, "access", "--entity", entity, "--policies", "needed.json")[0]


ZONES = [
    {"name": name, "services": {SERVICE: {"resources": [{"instance": ["cdap"], **levels}]}}}
    for name, levels in (("finance", {"namespace": ["ns*"]}), ("lab", {"namespace": ["hr"]}))
]
OF_LAB = {"resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["hr"]}}, "name": "p"}
READ_KV = ["needs", "alice", "dataset.get", "dataset:ns1.kv", "--policies"]
UNKNOWN = "note: no security zones are known here, and a policy outside zones has no effect on an entity in one"
WITH_ZONES = {
    # WHICH: the zone of the policy, and the message, if there is one.
    "zoned.json": ("finance", ""),
    "policies.json,zones.json": ("finance", ""),
    "": (None, UNKNOWN),
    "policies.json": (None, UNKNOWN),
    "of-lab.json": (None, UNKNOWN),
    "unreadable.json": (None, "warning: securityZones.odd.resources[0].nothing: "),
}


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize(("which", "expected"), WITH_ZONES.items(), ids=WITH_ZONES)
def test_policies_are_in_the_zone_of_their_entity_or_zones_are_said_to_be_unknown(
    which: str, expected: tuple[str | None, str], run: Run
) -> None:
    odd = {"odd": {"zoneName": "odd", "resources": [{"nothing": ["x"]}]}}
    finance = {"finance": {"zoneName": "finance", "resources": [{"instance": ["cdap"], "namespace": ["ns*"]}]}}
    for name, content in {
        "zones.json": ZONES,
        "policies.json": {"policies": [OF_LAB]},
        "of-lab.json": {"policies": [{**OF_LAB, "zoneName": "lab"}]},
        "zoned.json": download([], securityZones=finance),
        "unreadable.json": download([], securityZones=odd),
    }.items():
        Path(name).write_text(json.dumps(content))
    out, err = run(0, *READ_KV, *filter(None, [which]))
    (found,) = json.loads(out)["policies"]
    assert (found.get("zoneName"), UNKNOWN in err) == (expected[0], expected[1] == UNKNOWN)
    assert expected[1] in err
    assert bool(err) == bool(expected[1])


@pytest.mark.usefixtures("_alone")
def test_zones_that_cannot_be_read_are_an_error_and_nothing_is_printed(run: Run) -> None:
    Path("zones.json").write_text(json.dumps(ZONES))
    for which, said in (("missing.json", "cannot be read"), ("zones.json", "the file holds no policies")):
        out, err = run(3, *READ_KV, which)
        assert (out, said in err) == ("", True)


# --- with a Ranger Admin ----------------------------------------------------------------------------------------------


@pytest.fixture
def service(ranger: RangerAdmin, run: Run) -> RangerAdmin:
    run(0, "setup", "--yes", "--quiet")
    ranger.create_user("svc", Secret(PASSWORD))
    ranger.create_user("cdap", Secret(PASSWORD))
    return ranger


def denied(recorded: str) -> list[str]:
    """The recorded calls that the enforcer of these settings denies."""
    found = []
    with Authorizer.open(load_settings(), refresh_in_background=False) as authorizer:
        enforcer = AccessEnforcer(authorizer)
        for call in RECORDED[recorded].calls:
            if call.visible and not all(enforcer.visible(call.by, call.visible).of_each):
                found.append(str(call.visible))
            elif (
                not (call.visible or is_for_a_type_of_cdap(call)) and not enforcer.enforce(call.by, call.check).allowed
            ):
                found.append(str(call.entity))
    return found


def versions(ranger: RangerAdmin) -> dict[str, int | None]:
    return {policy.name: policy.version for policy in ranger.list_policies(SERVICE)}


WAYS = [
    ("dataset.truncate", TRUNCATE),
    ("application.deploy(from artifact)", [*DEPLOY, *FROM_ARTIFACT]),
    (
        "schedule.create",
        [
            *("needs", "alice", "application.schedule", "application:ns1.ProbeApp", "--for-cdap"),
            *("--with", "programs=program:ns1.ProbeApp.workflow.ProbeWorkflow"),
        ],
    ),
]


@pytest.mark.parametrize(("recorded", "words"), WAYS, ids=[name for name, _ in WAYS])
@pytest.mark.usefixtures("service")
def test_the_policies_let_every_recorded_call_pass(recorded: str, words: list[str], run: Run) -> None:
    without = [word for word in words if word != "--for-cdap"]
    assert denied(recorded)
    for command, enough in ((without, False), (words, True)):
        Path("needed.json").write_text(run(0, *command, "--policies")[0])
        run(0, "policies", "apply", "--yes", "needed.json")
        assert (denied(recorded) == []) is enough, "the privileges of the profile alone should not be enough here"
    operation, entity = words[2:4]
    assert main(["check", "alice", operation, entity, *words[5:]]) == 0


def test_the_policies_are_taken_beside_those_of_people(service: RangerAdmin, run: Run) -> None:
    grant(service, "mine", KV, "bob", "read")
    Path("needed.json").write_text(run(0, *TRUNCATE, "--policies")[0])
    run(0, "policies", "apply", "--yes", "needed.json")
    assert denied("dataset.truncate") == []
    assert service.policy_by_name(SERVICE, "mine") is not None


HELD_BY_A_NAMESPACE = {
    "applications": "application:sales.app", "datasets": "dataset:sales.kv", "modules": "dataset_module:sales.m",
    "artifacts": "artifact:sales.a",
}  # fmt: skip


def test_deleting_a_namespace_needs_what_is_in_it_whether_it_was_recorded_or_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["needs", "alice", "namespace.delete", "namespace:sales", "--for-cdap", "--json"]
    assert main(words) == 0
    assert set(json.loads(capsys.readouterr().out)["not_named"]) == set(HELD_BY_A_NAMESPACE)

    named = [word for role, entity in HELD_BY_A_NAMESPACE.items() for word in ("--with", f"{role}={entity}")]
    assert main([*words, *named, "--with", "keys=secure_key:sales.k"]) == 0
    found = json.loads(capsys.readouterr().out)
    asked = {(one["actions"][0], one["entity"].partition(":")[0]) for one in found["alternatives"][0]["cdap_asks"]}
    assert asked == {("ADMIN", entity.partition(":")[0]) for entity in HELD_BY_A_NAMESPACE.values()}
    assert (found["not_named"], found["not_recorded_with"]) == ([], ["keys"])


def test_a_role_without_a_known_check_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["needs", "alice", "namespace.delete", "namespace:sales", "--for-cdap", "--with", "keys=secure_key:sales.k"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "not recorded with keys: what CDAP checks on them is not known" in text
    assert "CDAP asks for nothing else\n" not in text
