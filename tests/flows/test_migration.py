"""A migration from the Java predecessor, from its files to the day on which everything is enforced.

Its Ranger has the policies of its README's case study as its service definition forced them to be written, down to a
leaf and with everything excluded on the lower levels; and its audit has a day of work. The commands are those of the
page. The people go on working: first by the old rule, while our audit says what enforcing would change; then the gaps
are closed by both audits, and everything that they could do is still allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import msgspec
import pytest
from msgspec.structs import replace

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.config import RangerSettings, Secret, load_settings
from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from tests.authz.fixtures import engine
from tests.authz.test_predecessor import old_answer
from tests.docs.case_study import CASE_STUDY, StudyPolicy, levels
from tests.docs.markdown_pages import blocks, text_of
from tests.docs.test_case_study import STEPS, checks, differences
from tests.docs.test_migration_page import PAGE, definition_of_the_predecessor
from tests.questions.test_shadow_replay import old_events

PASSWORD = Secret("Correct-Horse-1")
SERVICE = "cdapdev"
CONFIRMED = ("ranger-cdap setup", "ranger-cdap policies apply after.json --delete", "ranger-cdap shadow close")
OLD_AUDIT = "/var/log/cdap/audit/cdap_ranger_audit.log"
MOST_ROUNDS = 5

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
        RangerAdmin.connect(RangerSettings(url=server.url), "admin", PASSWORD) as admin,
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
    enforce = '[enforce]\noperations = []\noutside = "predecessor"\n'
    settings = tmp_path / "ranger-cdap.toml"
    settings.write_text(f'{proposed}{state}[audit]\nfile = "{tmp_path}/audit.jsonl"\n{enforce}', encoding="utf-8")

    old = old_answers()
    assert {user for user, _ in old} == {"alice", "bob", "svcclicks"}
    assert 0 < sum(old.values()) < len(old)
    events = (line for (person, check), answer in old.items() for line in old_events(person, check, answer))
    old_audit = tmp_path / "cdap_ranger_audit.log"
    old_audit.write_text("".join(f"{json.dumps(line)}\n" for line in events), encoding="utf-8")

    def follow(line: str) -> str:
        assert line.startswith("ranger-cdap "), line
        words = line.replace(OLD_AUDIT, str(old_audit)).split()[1:]
        return run(*words, *(["--yes"] if line.startswith(CONFIRMED) and "--dry-run" not in line else []))

    for line in commands("## 2. Extend the service definition"):
        follow(line)
    unwritten = a_day(settings, audited=False)
    assert {by for by, check in ALL if unwritten[by, check] is not old[by, check]} == {"bob"}, "his matches nothing"
    shown = {line: follow(line) for line in commands("## 3. Review the policies")}
    assert "Alice the Deployer` ends at its application" in " ".join(
        shown["ranger-cdap policies rewrite before.json --out after.json"].split()
    )
    assert "never-matches" in shown["ranger-cdap policies lint"]
    assert "never-matches" not in run("policies", "lint")
    study = a_day(settings, STUDY)

    if profile == "cdap-6":
        (block,) = (one.text for one in blocks(PAGE, "text") if "newly denied" in one.text)
        assert without_times(run("shadow", "report")) == without_times(block), "the output on the page"

    study_audit = tmp_path / "study.log"
    study_audit.write_text(
        "".join(f"{json.dumps(one)}\n" for asked in STUDY for one in old_events(*asked, old[asked])), encoding="utf-8"
    )
    if profile == "cdap-6":
        (report, *_) = commands("### Before the switch: the audit of the old jar")
        found = rows_of(run(*report.replace(OLD_AUDIT, str(study_audit)).split()[1:]))
        assert {change for change, *_ in found} == {"newly denied", "newly allowed"}
        assert found >= rows_of(block), "the rows on the page"

    before = study | a_day(settings, ALL[len(STUDY) :])
    assert before == old, "the old rule answers as the old jar did"
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

    report, close, again = commands("### Before the switch: the audit of the old jar")
    of_old = json.loads(follow(f"{report} --json"))
    assert (of_old["rejected"], of_old["undecided"], of_old["other_services"]) == (0, [], 0)
    assert of_old["compared_with_predecessor"] == of_old["changed"] + of_old["unchanged"] > 0
    assert {row["operation"] for row in of_old["changes"] if row["change"] == "newly denied"}
    follow(close)
    assert main(again.replace(OLD_AUDIT, str(old_audit)).split()[1:]) == ExitCode.OK
    assert {row["change"] for row in json.loads(follow(f"{report} --json"))["changes"]} <= {"newly allowed"}

    closed = datetime.now(UTC).isoformat()
    now = a_day(settings)
    assert [check for check, allowed in before.items() if allowed and not now[check]] == []
    assert main(["shadow", "report", "--since", closed, "--accept-allowed"]) == ExitCode.OK
    last = json.loads(run("shadow", "report", "--since", closed, "--json"))
    assert {row["change"] for row in last["changes"]} <= {"newly allowed"}
    assert last["unchanged"] > 0

    settings.write_text(settings.read_text(encoding="utf-8").replace(enforce, ""), encoding="utf-8")
    after = a_day(settings)
    assert [check for check, allowed in before.items() if allowed and not after[check]] == []


def rows_of(text: str) -> set[tuple[str, ...]]:
    """The rows of a report: newly denied or allowed, who, what, and the missing or allowing privilege."""
    found, change = set[tuple[str, ...]](), ""
    for line in text.splitlines():
        if line.startswith("newly "):
            change = line.partition(":")[0]
        elif len(cells := re.split(r"  +", line.strip())) >= 5 and cells[0] != "user":
            found.add((change, *cells[:3]))
    return found


def without_times(text: str) -> list[str]:
    return [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", line).rstrip() for line in text.strip().splitlines()]


def a_day(settings: Path, work: Sequence[Asked] = ALL, *, audited: bool = True) -> dict[Asked, bool]:
    """What CDAP is answered when people do all that the study describes."""
    found = load_settings(settings, {})
    if not audited:
        found = replace(found, audit=replace(found.audit, sinks=()))
    with Authorizer.open(found, refresh_in_background=False) as authorizer:
        enforcer = AccessEnforcer(authorizer)
        return {(person, check): enforcer.enforce(person, check).allowed for person, check in work}
