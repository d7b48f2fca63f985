"""`ranger-cdap eval`: a line in, a line out."""

import json
from pathlib import Path

import msgspec
import pytest

import servicedef
from ranger_cdap.cli.eval_request import INFORMATION, RANGER_NAMES, EvalAnswer, EvalError, EvalRequest
from ranger_cdap.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "eval.md"

POLICIES = {
    "serviceName": "cdapdev",
    "policyVersion": 5,
    "serviceDef": servicedef.service_definition(),
    "policies": [
        {
            "id": 7,
            "version": 3,
            "name": "kv",
            "resources": {
                "instance": {"values": ["cdap"]},
                "namespace": {"values": ["ns1"]},
                "dataset": {"values": ["kv"]},
            },
            "policyItems": [{"users": ["alice"], "groups": ["etl"], "roles": ["ops"], "accesses": [{"type": "read"}]}],
        }
    ],
}
TAG_DEFINITION = {
    "name": "tag",
    "resources": [
        {
            "itemId": 1,
            "name": "tag",
            "matcher": "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher",
            "matcherOptions": {"wildCard": "false", "ignoreCase": "false"},
        }
    ],
    "accessTypes": [{"itemId": 1001, "name": "cdap:read", "label": "read"}],
}
KV = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}

LINES = [
    ({"id": 1, "resource": KV, "user": "alice", "accessType": "read"}, {"allowed": True, "policyId": 7}),
    ({"id": 2, "resource": KV, "user": "bob", "accessType": "read"}, {"allowed": False, "policyId": -1}),
    ({"id": "x", "resource": KV, "user": "bob", "groups": ["etl"], "accessType": "read"}, {"allowed": True}),
    ({"resource": KV, "user": "bob", "roles": ["ops"], "accessType": "read"}, {"allowed": True, "id": None}),
    ({"resource": {"instance": "cdap"}, "user": "alice"}, {"allowed": True}),
    (
        {
            "resource": {"instance": "cdap"},
            "user": "alice",
            "accessType": "read",
            "matchingScope": "SELF_OR_DESCENDANTS",
        },
        {"allowed": True, "policyVersion": 3, "audited": True, "auditPolicyId": 7},
    ),
    ({"resource": {**KV, "dataset": None}, "user": "alice", "accessType": "read"}, {"allowed": False}),
    ({"resource": {**KV, "dataset": ["x", "kv"]}, "user": "alice", "accessType": "read"}, {"allowed": True}),
    ({"resource": KV, "user": "bob", "userGroups": ["etl"], "accessType": "read"}, {"allowed": True}),
    ({"resource": KV, "user": "bob", "userRoles": ["ops"], "accessType": "read"}, {"allowed": True}),
    (
        {
            "id": 20,
            "resource": {"elements": KV, "ownerUser": "zoe"},
            "user": "alice",
            "accessType": "read",
            "clientIPAddress": "10.0.0.1",
            "remoteIPAddress": "10.0.0.2",
            "forwardedAddresses": ["10.0.0.3"],
            "requestData": "select 1",
            "clientType": "cli",
            "sessionId": "s",
        },
        {"id": 20, "allowed": True},
    ),
    (
        {
            "resource": {"elements": {"instance": "cdap"}},
            "user": "alice",
            "accessType": "read",
            "resourceMatchingScope": "SELF_OR_DESCENDANTS",
            "resourceElementMatchingScopes": {"instance": "SELF"},
        },
        {"allowed": True},
    ),
    ({"id": 21, "resource": KV, "groups": [], "userGroups": []}, {"id": 21, "error": "`groups` is given twice"}),
    ({"resource": {"elements": KV, "x": "y"}}, {"error": "`resource` has `elements`, and beside it `x`"}),
    ({"resource": {"elements": KV, "ownerUser": "a"}, "resourceOwner": "b"}, {"error": "`resourceOwner` is given"}),
    ({"id": 9, "resource": KV, "accessTime": "2026-11-21T08:00:00Z"}, {"allowed": False}),
    ({"id": 10, "resource": KV, "accessTime": "soon"}, {"error": "`accessTime` is `soon`, which is neither"}),
    ({"id": 11, "resurce": KV}, {"error": "object contains unknown field `resurce`"}),
    ({"id": 12, "resource": "kv"}, {"error": "expected `object`"}),
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "policies.json").write_text(json.dumps(POLICIES))
    (tmp_path / "requests.jsonl").write_text("\n".join(json.dumps(line) for line, _ in LINES) + "\nnot json\n\n")
    return tmp_path


def test_every_line_is_answered_in_order(files: Path) -> None:
    arguments = ["--policies", f"{files}/policies.json", "--requests", f"{files}/requests.jsonl"]

    assert main(["eval", *arguments, "--out", f"{files}/answers.jsonl"]) == 1

    answers = [json.loads(line) for line in (files / "answers.jsonl").read_text().splitlines()]
    assert len(answers) == len(LINES) + 1
    for (_, expected), answer in zip(LINES, answers, strict=False):
        for key, value in expected.items():
            assert answer[key].startswith(value) if key == "error" else answer[key] == value
    assert answers[-1]["id"] is None
    assert "error" in answers[-1]


def test_the_exit_code_says_whether_every_line_could_be_read(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = ({"resource": KV, "user": user, "accessType": "read"} for user in ("alice", "bob")), {"id": 1}
    words = ["eval", "--policies", f"{files}/policies.json", "--requests", f"{files}/requests.jsonl"]
    for lines, code, said in (
        ([*good], 0, ""),
        ([bad, bad], 1, "lines that could not be read: 2; their answers say why\n"),
        ([], 0, ""),
    ):
        (files / "requests.jsonl").write_text("\n".join(map(json.dumps, lines)))
        assert main(words) == code
        assert capsys.readouterr().err == said


@pytest.mark.parametrize("kind", ["cdap.", "my-type.", "my_type.", ""])
def test_keys_of_the_plugin_may_name_any_service_type(files: Path, kind: str) -> None:
    request = {"resource": KV, "user": "root", "accessType": "write"}
    (files / "requests.jsonl").write_text(json.dumps(request))
    words = ["eval", "--policies", f"{files}/policies.json", "--requests", f"{files}/requests.jsonl"]
    words += ["--conf", f"ranger.plugin.{kind}super.users=root", "--out", f"{files}/answers.jsonl"]
    assert main(words) == 0
    assert json.loads((files / "answers.jsonl").read_text())["reason"] == "superuser"


def test_the_page_has_every_field_of_requests_and_answers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    documented = {name.strip("`"): ranger for name, ranger, *_ in cells}
    requests = {field.encode_name for field in msgspec.structs.fields(EvalRequest)}
    answers = {field.encode_name for kind in (EvalAnswer, EvalError) for field in msgspec.structs.fields(kind)}
    assert documented.keys() == requests | answers
    for theirs, ours in RANGER_NAMES.items():
        assert f"`{theirs}`" in documented[ours]
    assert all(f"`{name}`" in page for name in INFORMATION)


def test_the_configuration_makes_super_users_and_takes_groups_from_the_user_store(files: Path) -> None:
    (files / "users.json").write_text(json.dumps({"userGroupMapping": {"carol": ["etl"]}}))
    (files / "requests.jsonl").write_text(
        "\n".join(
            json.dumps({"resource": KV, "user": user, "accessType": "read"}) for user in ("root", "carol", "dave")
        )
    )
    arguments = ["--policies", f"{files}/policies.json,{files}/users.json", "--requests", f"{files}/requests.jsonl"]
    arguments += ["--out", f"{files}/answers.jsonl"]
    arguments += ["--conf", "ranger.plugin.cdap.super.users=root", "--conf", "ranger.plugin.cdap.use.rangerGroups=true"]

    assert main(["eval", *arguments]) == 0

    answers = [json.loads(line) for line in (files / "answers.jsonl").read_text().splitlines()]
    assert [(a["allowed"], a["reason"]) for a in answers] == [(True, "superuser"), (True, ""), (False, "")]


def test_eval_transforms_names_as_the_plugin_does(files: Path) -> None:
    config = {"ranger.plugins.conf.ldap.username.caseconversion": "upper"}
    (files / "policies.json").write_text(json.dumps({**POLICIES, "serviceConfig": config}))
    (files / "users.json").write_text(json.dumps({"userAttrMapping": {"alice": {"_emailAddress": "A@X"}}}))
    asked = [{"resource": KV, "user": user, "accessType": "read"} for user in ("alice", "a@x")]
    (files / "requests.jsonl").write_text("\n".join(map(json.dumps, asked)))
    arguments = ["--policies", f"{files}/policies.json,{files}/users.json", "--requests", f"{files}/requests.jsonl"]
    arguments += ["--out", f"{files}/answers.jsonl"]
    for key in ("supports.name.transformation", "convert.emailToUser"):
        arguments += ["--conf", f"ranger.plugin.cdap.{key}=true"]

    assert main(["eval", *arguments]) == 0

    answers = [json.loads(line) for line in (files / "answers.jsonl").read_text().splitlines()]
    assert [answer["allowed"] for answer in answers] == [False, True]


@pytest.mark.parametrize("key", ["access.cluster.name", "policyengine.option.disable.tagpolicy.evaluation"])
def test_a_key_that_eval_does_not_support_is_refused_as_such(
    files: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    arguments = ["--policies", f"{files}/policies.json", "--requests", f"{files}/requests.jsonl"]
    assert main(["eval", *arguments, "--conf", f"ranger.plugin.cdap.{key}=x"]) == 3
    assert f"{key}` is not a key of the plugin's configuration that `eval` supports" in capsys.readouterr().err


def test_without_tags_tag_policies_speak_of_the_tags_of_the_request_alone(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a plugin decides whose service has no tags; whoever forgot them is told."""
    pii = {
        "id": 9,
        "resources": {"tag": {"values": ["PII"]}},
        "denyPolicyItems": [{"users": ["alice"], "accesses": [{"type": "cdap:read"}]}],
    }
    tag_service = {"serviceName": "tags", "serviceDef": TAG_DEFINITION, "policies": [pii]}
    (files / "policies.json").write_text(json.dumps({**POLICIES, "tagPolicies": tag_service}))
    asked = {"resource": KV, "user": "alice", "accessType": "read"}
    (files / "requests.jsonl").write_text(
        "\n".join(json.dumps(line) for line in (asked, {**asked, "tags": [{"type": "PII"}]}))
    )
    words = ["eval", "--policies", f"{files}/policies.json", "--requests", f"{files}/requests.jsonl"]

    assert main(words) == 0
    told = capsys.readouterr()
    answers = [json.loads(line) for line in told.out.splitlines()]
    assert [(answer["allowed"], answer["policyId"]) for answer in answers] == [(True, 7), (False, 9)]
    assert told.err == "warning: there are tag policies, but without a tag download no resource carries a tag\n"

    (files / "tags.json").write_text(json.dumps({"serviceName": "cdapdev", "tagVersion": 1}))
    words[2] += f",{files}/tags.json"
    assert main(words) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == answers


def test_deltas_are_applied_first(files: Path) -> None:
    gone = {"serviceName": "cdapdev", "policyVersion": 6, "serviceDef": POLICIES["serviceDef"]}
    policy = {"id": 7, "serviceType": "cdap", "policyType": 0}
    gone["policyDeltas"] = [{"changeType": 2, "policiesVersion": 6, "policy": policy}]
    (files / "deltas.json").write_text(json.dumps(gone))
    arguments = ["--policies", f"{files}/policies.json", "--requests", f"{files}/requests.jsonl"]

    assert main(["eval", *arguments, "--deltas", f"{files}/deltas.json", "--out", f"{files}/answers.jsonl"]) == 1

    assert not any(json.loads(line).get("allowed") for line in (files / "answers.jsonl").read_text().splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policies", "nowhere.json", "--requests", "x"], "`nowhere.json` cannot be read"),
        (["--conf", "x"], "KEY=VALUE"),
        (["--conf", "ranger.plugin.cdap.colour=red"], "is not a key"),
        (["--out", "no/such/dir/x"], "cannot be written"),
    ],
)
def test_bad_input_is_one_sentence(
    files: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    defaults = ["--policies", f"{files}/policies.json", "--requests", f"{files}/requests.jsonl"]

    assert main(["eval", *defaults, *arguments]) == 3
    assert message in capsys.readouterr().err


def test_a_set_that_cannot_be_used_is_invalid_input(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "policies.json").write_text("{")

    assert main(["eval", "--policies", f"{files}/policies.json", "--requests", f"{files}/requests.jsonl"]) == 3
    assert "it is not JSON" in capsys.readouterr().err
