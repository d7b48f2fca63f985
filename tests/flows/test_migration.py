"""A migration from the Java predecessor, from its files to the day on which everything is enforced.

Its Ranger has the policies of its README's case study as its service definition forced them to be written, down to a
leaf and with everything excluded on the lower levels; and its audit has a day of work, which says what changes before
anything is switched. The commands are those of the page. Once the gaps are closed, everything that the people could do
is still allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import msgspec
import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.config import RangerSettings, Secret, Settings, load_settings
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.authz.fixtures import engine
from tests.cdap.checks.predecessor_answers import old_answer
from tests.docs.case_study import CASE_STUDY, StudyPolicy, levels
from tests.docs.markdown_pages import blocks, text_of
from tests.docs.test_case_study import STEPS, checks, differences
from tests.docs.test_migration_page import PAGE, definition_of_the_predecessor
from tests.tools.shadow.test_shadow_replay import old_events

PASSWORD = Secret("Correct-Horse-1")
SERVICE = "cdapdev"
CONFIRMED = ("ranger-cdap setup", "ranger-cdap policies apply")
OLD_AUDIT = "/var/log/cdap/audit/cdap_ranger_audit.log"

Run = Callable[..., Any]
Asked = tuple[str, CdapCheck]


POLICIES = (
    *CASE_STUDY,
    StudyPolicy(
        "Bob the Name Spacer", "bob", "namespace=clicks application=!* program=!*", "admin", "namespace=clicks"
    ),
)
STUDY = tuple(checks(STEPS))
ALL = (*STUDY, *(("bob", check) for person, check in STUDY if person == "alice"))
"""Who does what on a day: the people of the study, and Bob, whom its last step adds."""


def old_policies() -> Iterator[Policy]:
    """As the README writes them."""
    for one in POLICIES:
        resources = msgspec.convert(levels(one.resource), dict[str, PolicyResource])
        accesses = [PolicyItemAccess(type=access) for access in one.accesses.split()]
        items = [PolicyItem(users=[one.user], accesses=accesses)]
        yield Policy(service=SERVICE, name=one.name, resources=resources, policy_items=items)


def old_answers() -> dict[Asked, bool]:
    """What the old jar answered, by what its policies meant."""
    meant = engine(
        [
            {
                "id": number,
                "version": 1,
                "resources": levels(one.effective),
                "policyItems": [{"users": [one.user], "accesses": [{"type": a} for a in one.accesses.split()]}],
            }
            for number, one in enumerate(POLICIES, 1)
        ]
    )
    return {(person, check): old_answer(meant, person, check) for person, check in ALL}


def commands(*sections: str) -> list[str]:
    """The commands of these sections of the page, in order."""
    found = []
    for section in sections:
        text = text_of(PAGE).split(f"\n{section}\n")[1].split("\n#")[0]
        found += [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    return found


@pytest.fixture
def ranger() -> Iterator[RangerAdmin]:
    """A Ranger Admin as the predecessor left it."""
    with (
        EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server,
        RangerAdmin.connect(Settings(ranger=RangerSettings(url=server.url)), "admin", PASSWORD) as admin,
    ):
        for user in ("alice", "bob", "svcclicks", "cdap", "plugin"):
            admin.create_user(user, PASSWORD)
        admin.create_service_def(definition_of_the_predecessor())
        configs = {"policy.download.auth.users": "cdap"}
        admin.create_service({"name": SERVICE, "type": "cdap", "isEnabled": True, "configs": configs})
        for policy in old_policies():
            admin.create_policy(policy)
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
    settings = tmp_path / "ranger-cdap.toml"
    settings.write_text(f'{proposed}{state}[audit]\nfile = "{tmp_path}/audit.jsonl"\n', encoding="utf-8")

    old = old_answers()
    assert {user for user, _ in old} == {"alice", "bob", "svcclicks"}
    assert 0 < sum(old.values()) < len(old)
    old_audit, study_audit = tmp_path / "cdap_ranger_audit.log", tmp_path / "study.log"
    for file, work in ((old_audit, old), (study_audit, STUDY)):
        events = (line for asked in work for line in old_events(*asked, old[asked]))
        file.write_text("".join(f"{json.dumps(line)}\n" for line in events), encoding="utf-8")

    def follow(line: str) -> str:
        assert line.startswith("ranger-cdap "), line
        words = line.replace(OLD_AUDIT, str(old_audit)).split()[1:]
        return run(*words, *(["--yes"] if line.startswith(CONFIRMED) and "--dry-run" not in line else []))

    for line in commands("## 2. Extend the service definition"):
        follow(line)
    shown = {line: follow(line) for line in commands("## 3. Review the policies")}
    assert "Alice the Deployer resources rewrite it ends at its application" in " ".join(
        shown["ranger-cdap policies lint --propose --policies before.json --out after.json"].split()
    )
    assert "never-matches" in shown["ranger-cdap policies lint"]
    assert "never-matches" not in run("policies", "lint")

    written, apply, again = commands("## 5. Compare before you switch")
    report = written.removesuffix(" --out gaps.json")
    if profile == "cdap-6":
        (block,) = (one.text for one in blocks(PAGE, "text") if "newly denied" in one.text)
        of_study = report.replace(OLD_AUDIT, str(study_audit)).split()[1:]
        assert without_times(run(*of_study)) == without_times(block), "the output on the page"
        changed = {(row["change"], row["operation"]) for row in json.loads(run(*of_study, "--json"))["changes"]}
        assert {("newly denied", operation) for operation in differences(profile)[0]} <= changed
        # It asked for any privilege on the artifact, and did not know single runs.
        assert {operation for change, operation in changed if change == "newly allowed"} == {
            "artifact.incidental",
            "program.get_history",
        }
    of_old = json.loads(follow(f"{report} --json"))
    assert (of_old["rejected"], of_old["undecided"], of_old["other_services"]) == (0, [], 0)
    assert of_old["changed"] > 0
    assert {row["operation"] for row in of_old["changes"] if row["change"] == "newly denied"}
    follow(written)
    follow(apply)
    assert main(again.replace(OLD_AUDIT, str(old_audit)).split()[1:]) == ExitCode.OK
    assert {row["change"] for row in json.loads(follow(f"{report} --json"))["changes"]} <= {"newly allowed"}

    (unenforced,) = (one.text for one in blocks(PAGE, "toml") if "[enforce]" in one.text)
    enforcing = settings.read_text(encoding="utf-8")
    settings.write_text(enforcing + unenforced, encoding="utf-8")
    assert all(a_day(settings).values())
    reported = json.loads(run("shadow", "report", "--json"))
    assert (reported["rejected"], reported["other_services"], reported["enforced"]) == (0, 0, 0)
    assert {row["change"] for row in reported["changes"]} == {"newly denied"}

    settings.write_text(enforcing, encoding="utf-8")
    now = a_day(settings)
    assert [check for check, allowed in old.items() if allowed and not now[check]] == []


def without_times(text: str) -> list[str]:
    return [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", line).rstrip() for line in text.strip().splitlines()]


def a_day(settings: Path) -> dict[Asked, bool]:
    """What CDAP is answered when people do all that the study describes."""
    with Authorizer.open(load_settings(settings, {}), refresh_in_background=False) as authorizer:
        enforcer = AccessEnforcer(authorizer)
        return {(person, check): enforcer.enforce(person, check).allowed for person, check in ALL}
