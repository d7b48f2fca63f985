"""A migration from the Java predecessor, from its files to the day on which everything is enforced.

The people of its README's case study go on working: first by the old rule, while the audit says what enforcing would
change; then the gaps are closed, and everything that they could do is still allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

import servicedef
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.config import RangerSettings, Secret, load_settings
from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from tests.docs.case_study import CASE_STUDY
from tests.docs.markdown_pages import blocks
from tests.docs.test_case_study import STEPS, checks, differences
from tests.docs.test_migration_page import PAGE, definition_of_the_predecessor

PASSWORD = Secret("Correct-Horse-1")
SERVICE = "cdapdev"
RESOURCES = {"principal", "artifact", "dataset_module", "dataset_type"}
MOST_ROUNDS = 5

Run = Callable[..., Any]


def old_policies() -> Iterator[Policy]:
    """The study's, with what they mean where Ranger 2.9 would match nothing."""
    for one in CASE_STUDY:
        levels = dict(part.split("=") for part in one.effective.split())
        resources = {level: PolicyResource(values=values.split(",")) for level, values in levels.items()}
        resources["instance"] = PolicyResource(values=["cdap"])
        accesses = [PolicyItemAccess(type=access) for access in one.accesses.split()]
        items = [PolicyItem(users=[one.user], accesses=accesses)]
        yield Policy(service=SERVICE, name=one.name, resources=resources, policy_items=items)


@pytest.fixture
def ranger() -> Iterator[RangerAdmin]:
    """A Ranger Admin as the predecessor left it."""
    with (
        EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server,
        RangerAdmin.connect(RangerSettings(url=server.url), "admin", PASSWORD) as admin,
    ):
        for user in ("alice", "svcclicks", "cdap", "plugin"):
            admin.create_user(user, PASSWORD)
        old = definition_of_the_predecessor()
        more = [row for row in servicedef.service_definition()["resources"] if row["name"] in RESOURCES]
        admin.create_service_def({**old, "resources": [*old["resources"], *more]})
        configs = {"policy.download.auth.users": "cdap"}
        admin.create_service({"name": SERVICE, "type": "cdap", "isEnabled": True, "configs": configs})
        yield admin


def xml(path: Path, properties: dict[str, str]) -> None:
    rows = "".join(f"<property><name>{k}</name><value>{escape(v)}</value></property>" for k, v in properties.items())
    path.write_text(f"<configuration>{rows}</configuration>", encoding="utf-8")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", PASSWORD.reveal())

    def answer(*words: str) -> str:
        capsys.readouterr()
        code = main(list(words))
        shown = capsys.readouterr()
        assert code in (ExitCode.OK, ExitCode.NO), shown.err
        return shown.out

    return answer


@pytest.mark.parametrize("profile", ["cdap-6", "default"])
def test_people_go_on_working_from_the_old_jar_to_full_enforcement(
    profile: str, ranger: RangerAdmin, run: Run, tmp_path: Path
) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    p = "ranger.plugin.cdap."
    xml(conf / "ranger-cdap-security.xml", {p + "service.name": SERVICE, p + "policy.rest.url": ranger.url})
    xml(
        conf / "ranger-cdap-audit.xml",
        {"xasecure.audit.is.enabled": "true", "xasecure.audit.kafka.is.enabled": "false"},
    )
    site = "security.authorization."
    xml(
        conf / "cdap-site.xml",
        {
            site + "enabled": "true",
            site + "extension.jar.path": "/opt/cdap/master/ext/security/cdap-ranger-binding.jar",
            site + "extension.extra.classpath": str(conf),
            "instance.name": "production",
        },
    )
    proposed = run("setup", "--from-cdap-site", str(conf / "cdap-site.xml"))
    assert 'profile = "cdap-6"' in proposed
    proposed = proposed.replace('profile = "cdap-6"', f'profile = "{profile}"')
    state = f'[plugin]\nusername = "plugin"\npassword = "{PASSWORD.reveal()}"\ncache_dir = "{tmp_path}/cache"\n'
    enforce = '[enforce]\noperations = []\noutside = "predecessor"\n'
    settings = tmp_path / "ranger-cdap.toml"
    settings.write_text(f'{proposed}{state}[audit]\nfile = "{tmp_path}/audit.jsonl"\n{enforce}', encoding="utf-8")

    run("setup", "--yes")
    for policy in old_policies():
        ranger.create_policy(policy)
    before = a_day(settings)
    assert {user for user, _ in before} == {"alice", "svcclicks"}
    assert 0 < sum(before.values()) < len(before)

    if profile == "cdap-6":
        (block,) = (one.text for one in blocks(PAGE, "text") if "newly denied" in one.text)
        assert without_times(run("shadow", "report")) == without_times(block), "the output on the page"

    reports = []
    for _ in range(MOST_ROUNDS):
        report = json.loads(run("shadow", "report", "--json"))
        reports.append(report)
        if not any(not row["closed"] for row in report["changes"] if row["change"] == "newly denied"):
            break
        run("shadow", "close", "--yes")
        assert a_day(settings) == before, "closing gaps changed what the old rule decides"
    first = {(row["change"], row["operation"]) for row in reports[0]["changes"]}
    if profile == "cdap-6":
        assert {operation for change, operation in first if change == "newly denied"} == set(differences(profile)[0])
        # It asked for any privilege on the artifact, and did not know single runs.
        allowed = {op for change, op in first if change == "newly allowed"}
        assert allowed == {"artifact.incidental", "program.get_history"}
    assert len(reports) > 1
    assert reports[-1]["compared_with_predecessor"] > 0
    assert (reports[-1]["rejected"], reports[-1]["other_services"]) == (0, 0)

    closed = datetime.now(UTC).isoformat()
    assert a_day(settings) == before
    assert main(["shadow", "report", "--since", closed, "--accept-allowed"]) == ExitCode.OK
    last = json.loads(run("shadow", "report", "--since", closed, "--json"))
    assert {row["change"] for row in last["changes"]} <= {"newly allowed"}
    assert last["unchanged"] > 0

    settings.write_text(settings.read_text(encoding="utf-8").replace(enforce, ""), encoding="utf-8")
    after = a_day(settings)
    assert [check for check, allowed in before.items() if allowed and not after[check]] == []


def without_times(text: str) -> list[str]:
    return [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", line).rstrip() for line in text.strip().splitlines()]


def a_day(settings: Path) -> dict[tuple[str, Any], bool]:
    """What CDAP is answered when the people of the study do all that it describes."""
    with Authorizer.open(load_settings(settings, {}), refresh_in_background=False) as authorizer:
        enforcer = AccessEnforcer(authorizer)
        return {(person, check): enforcer.enforce(person, check).allowed for person, check in checks(STEPS)}
