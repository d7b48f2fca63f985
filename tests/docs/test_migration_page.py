"""What `docs/how-to/migrate-from-cdap-security-extn.md` says becomes of the predecessor's files becomes of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import servicedef
from ranger_cdap.cdap.grant import comparable
from ranger_cdap.config import RangerSettings, Secret, Settings, load_settings
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.docs.markdown_pages import ROOT, blocks, text_of

PAGE = ROOT / "docs" / "how-to" / "migrate-from-cdap-security-extn.md"


def test_the_predecessors_file_becomes_these_settings(tmp_path: Path) -> None:
    (xml,) = blocks(PAGE, "xml")
    (tmp_path / "ranger-cdap-security.xml").write_text(xml.text)
    file = tmp_path / "ranger-cdap.toml"
    file.write_text(blocks(PAGE, "toml")[0].text.replace("/etc/cdap/conf", str(tmp_path)))

    settings: Any = load_settings(file, {})

    section = text_of(PAGE).split("these settings are read:")[1].split("`ranger-cdap config`")[0]
    said = re.findall(r"^\| `(\w+)\.(\w+)` \| `([^`]+)` \|", section, re.MULTILINE)
    assert len(said) == 5
    assert [(t, k, str(getattr(getattr(settings, t), k))) for t, k, _ in said] == said


PREDECESSOR = {
    *("instance", "namespace", "principal", "application", "artifact", "dataset", "dataset_module", "dataset_type"),
    *("secure_key", "stream", "program"),
}


def definition_of_the_predecessor() -> dict[str, Any]:
    """As cdap-security-extn registered it: fewer resources, and nothing said of where a policy may end."""
    ours = servicedef.service_definition()
    rows = [row for row in ours["resources"] if row["name"] in PREDECESSOR]
    old = [{key: value for key, value in row.items() if key != "isValidLeaf"} | {"mandatory": False} for row in rows]
    return {**ours, "resources": old}


def policy(name: str, **levels: str) -> Policy:
    return Policy(
        service="cdapdev",
        name=name,
        resources={level: PolicyResource(values=[value]) for level, value in levels.items()},
        policy_items=[PolicyItem(users=["alice"], accesses=[PolicyItemAccess(type="read")])],
    )


def test_setup_lets_the_old_definition_grow_and_the_old_policies_stay() -> None:
    password = Secret("Correct-Horse-1")
    on_a_dataset = policy("old", instance="cdap", namespace="ns1", dataset="*")
    on_a_namespace = policy("new", instance="cdap", namespace="ns1")
    with (
        EmbeddedAdmin(admin_password=password.reveal()) as ranger,
        RangerAdmin.connect(Settings(ranger=RangerSettings(url=ranger.url)), "admin", password) as admin,
    ):
        admin.create_user("alice", password)
        admin.create_service_def(definition_of_the_predecessor())
        admin.create_service({"name": "cdapdev", "type": "cdap", "isEnabled": True, "configs": {}})
        before = admin.create_policy(on_a_dataset)

        service_setup.set_up(admin, DesiredState("cdapdev", "cdap"))

        assert admin.create_policy(on_a_namespace).id is not None
        assert comparable(before) in map(comparable, admin.list_policies("cdapdev"))
        grown = service_setup.read_state(admin, "cdapdev").definition
        assert grown is not None
        ours = servicedef.service_definition()["resources"]
        assert {row["name"] for row in grown["resources"] if row["isValidLeaf"]} == {row["name"] for row in ours}
        again = service_setup.plan(DesiredState("cdapdev", "cdap"), service_setup.read_state(admin, "cdapdev"))
        assert {step.change for step in again} == {StepChange.KEEP}
