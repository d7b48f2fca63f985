"""Every command that names a policy, or what to change in one, names the policy's security zone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import Json, download, item, policy
from tests.engine.fixtures import TAG_ENRICHERS
from tests.tools.insights.audit_fixtures import line

IN_FIN9 = {"namespace": "fin9", "dataset": "kv"}
ZONED = {"zoneName": "finance"}
READERS = policy(7, IN_FIN9, item("read", users=["alice"]), name="readers", **ZONED)
AGAIN = policy(8, {**IN_FIN9, "dataset": "k*"}, item("read", users=["alice"]), name="again", **ZONED)
CLOSED = policy(9, {**IN_FIN9, "dataset": "no"}, name="closed", denyPolicyItems=[item("read", users=["bob"])], **ZONED)
LOST = policy(10, {"namespace": "hr"}, item("read", users=["alice"]), name="lost", **ZONED)
ELSEWHERE = policy(11, {"namespace": "hr"}, item("read", users=["alice"]), name="elsewhere")

TAGGED = {
    "id": 20,
    "version": 3,
    "name": "PII",
    "resources": {"tag": {"values": ["PII"]}},
    "policyItems": [item("cdap:read", users=["tom"])],
}


def zoned(*policies: Json, **more: Any) -> Json:
    zone = {"zoneName": "finance", "resources": [{"instance": ["cdap"], "namespace": ["fin*"]}]}
    return download([ELSEWHERE], securityZones={"finance": {**zone, "policies": list(policies)}}, **more)


KV = "dataset:fin9.kv"
FILES = ("--policies", "new.json")
AGAIN_DOCUMENT = '{ "id": 8, "name": "again", "zone": "finance" }'
ON_ENTITY = "to a policy of security zone `finance` on dataset:fin9.kv"
ROWS: dict[str, tuple[str, str]] = {
    # Command: what its text has, and its JSON, if it is to name a zone.
    "check alice dataset.get {KV} {FILES}": ("policy 8 (zone finance, version 3)", ""),
    "check bob dataset.get dataset:fin9.no {FILES}": ("policy 9 (zone finance, version 3) denies READ", ""),
    "check --why alice dataset.get {KV} {FILES}": ('policy 8 "again" (zone finance, version 3)', AGAIN_DOCUMENT),
    "check --why carol dataset.get {KV} {FILES}": (ON_ENTITY, ON_ENTITY),
    "access --entity {KV} {FILES}": ('policy 8 "again" (zone finance)', AGAIN_DOCUMENT),
    "access --entity dataset:fin9.k* {FILES}": ("in zone finance", '"zone": "finance"'),
    "access --user alice {FILES}": ("in zone finance", '"zone": "finance"'),
    "access --user alice --entity {KV} --ways {FILES}": ("in zone finance", AGAIN_DOCUMENT),
    "policies diff old.json new.json": ("in zone finance", '"zone": "finance"'),
    "policies lint {FILES}": ("10 lost (zone finance)", '"zone": "finance"'),
    "audit report records.jsonl {FILES}": ("8 again finance 1 alice", '"zone": "finance"'),
    "policies lint --propose {FILES}": ('7 "readers" (zone finance)', "(zone finance)"),
    "policies test wrong.toml {FILES}": (
        'READ on dataset:fin9.kv by policy 8 "again" (zone finance)',
        "(zone finance)",
    ),
}
NAMED = re.compile(r'policy (?:7|8|9|10)\b(?: "\w+")?(.{50})')


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    words = command.format(KV=KV, FILES=" ".join(FILES)).split()
    capsys.readouterr()
    assert main(words) in (ExitCode.OK, ExitCode.NO), command
    return re.sub(r"[\s│├└─]+", " ", capsys.readouterr().out.replace('\\"', '"'))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.json").write_text(json.dumps(zoned(CLOSED)))
    Path("new.json").write_text(json.dumps(zoned(READERS, AGAIN, CLOSED, LOST)))
    expected = f'[[expect]]\nuser = "alice"\noperation = "dataset.get"\nentity = "{KV}"\nexpected = "denied"\n'
    Path("wrong.toml").write_text(expected)
    Path("records.jsonl").write_bytes(line(resource="cdap/hr", resType="namespace", evtTime=0, reqUser="alice"))


def test_each_command_names_the_zone(capsys: pytest.CaptureFixture[str]) -> None:
    missing = []
    for command, (text, document) in ROWS.items():
        if text not in (found := printed(command, capsys)):
            missing.append((command, text, found))
        missing += [(command, place[0], found) for place in NAMED.finditer(found) if "zone finance" not in place[1]]
        if document and document not in (found := printed(f"{command} --json", capsys)):
            missing.append((f"{command} --json", document, found))
    assert missing == []


@pytest.mark.parametrize(("own", "expected"), [({}, "policy 20 (version 3)"), (ZONED, "policy 20 (zone finance, ")])
def test_the_zone_of_a_tag_policy_is_its_own(own: Json, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    definition = {
        "name": "tag",
        "resources": [{"name": "tag"}],
        "accessTypes": [{"name": "cdap:read"}],
        "contextEnrichers": TAG_ENRICHERS,
    }
    tags = {"serviceName": "tagdev", "policies": [{**TAGGED, **own}], "serviceDef": definition}
    document = zoned(READERS, tagPolicies=tags)
    document["securityZones"]["finance"]["containsAssociatedTagService"] = bool(own)
    Path("new.json").write_text(json.dumps(document))
    elements = {level: {"values": [value]} for level, value in {"instance": "cdap", **IN_FIN9}.items()}
    tagged = {
        "op": "add_or_update",
        "serviceName": "cdapdev",
        "tagVersion": 1,
        "tags": {"1": {"id": 1, "type": "PII"}},
        "serviceResources": [{"id": 1, "resourceElements": elements}],
        "resourceToTagIds": {"1": [1]},
    }
    Path("tags.json").write_text(json.dumps(tagged))
    assert expected in printed("check tom dataset.get {KV} --policies new.json,tags.json", capsys)
