"""The predecessor's case study (its README): decided as it did, and by two profiles; the page lists what differs.

The study's policies are put to the engine, and the checks of a recorded CDAP 6.11.1 for what its people do. The
predecessor asked for CDAP's four actions: GET is READ on a dataset or a secure key, otherwise any privilege on the
entity or below it; UPDATE on a dataset is WRITE; EXECUTE is EXECUTE; all else is ADMIN (CDAP's `AuthorizerWrapper`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import msgspec
import pytest

import servicedef
from ranger_cdap.cdap.answer import Answer, compose
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable
from ranger_cdap.cdap.entity import parse_entity, resolve_entity
from ranger_cdap.cdap.profile import ANY, VISIBLE, load_profile
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.cdap.fixtures import Policies
from tests.docs.case_study import CASE_STUDY, levels
from tests.docs.markdown_pages import ROOT, text_of

PAGE = ROOT / "docs" / "how-to" / "migrate-from-cdap-security-extn.md"
PROFILES = {name: load_profile(name) for name in ("cdap-6", "004")}
CHECKS = {name: CheckTable(profile) for name, profile in PROFILES.items()}

OLD = [(one.user, one.resource, one.accesses) for one in CASE_STUDY]

# The recorded operations that the study describes, by its steps.
STEPS = [
    "namespace.create(impersonation)",
    *("namespace.list", "namespace.get", "namespace.update", "namespace.set_preference", "namespace.get_preference"),
    *("IMP application.deploy(namespace principal)", "IMP application.get", "application.list", "application.update"),
    *("application.set_preference", "application.get_preference", "application.add_metadata"),
    *("application.get_metadata", "application.delete"),
    *("IMP program.start(worker, namespace principal)", "program.stop(service)", "program.list(type)"),
    *("program.get_status", "program.get_history", "program.view_logs", "program.get_instances"),
    *("program.set_instances", "program.set_runtime_args", "program.get_runtime_args", "program.set_preference"),
    *("program.get_preference", "program.add_metadata", "program.get_metadata"),
    *("schedule.create", "schedule.list", "schedule.get", "schedule.suspend", "schedule.resume", "schedule.delete"),
    *("dataset.list", "dataset.get", "dataset.update", "dataset.truncate", "dataset.drop", "namespace.delete"),
]
NAMES = {"nsimp": "clicks", "ns1": "clicks", "ns2": "clicks", "svc": "svcclicks"}
NAMES["svc/host@EXAMPLE.COM"] = "svcclicks/host@EXAMPLE.COM"


class Call(msgspec.Struct, frozen=True):
    """A recorded call: a check, or a question which entities are visible."""

    by: str
    entity: tuple[str, tuple[str, ...]] | None = None
    permissions: tuple[str, ...] = ()
    child: str | None = None
    hint: str = ""


class Recorded(msgspec.Struct, frozen=True):
    operation: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Ranger:
    """The engine with policies like `OLD`."""

    policies: Policies

    def predecessor(self, person: str, check: CdapCheck) -> bool:
        entity = resolve_entity(check.entity_type, check.id_parts).entity
        actions = [action_of(check, permission) for permission in check.permissions] or [ANY]
        return all(self.policies(person, entity, action).allowed for action in actions)

    def ours(self, person: str, check: CdapCheck, profile: str) -> list[Answer]:
        operations = CHECKS[profile].resolve(check).operations
        return [compose(each.operation, each.entity, person, self.policies) for each in operations]


def action_of(check: CdapCheck, permission: str) -> str:
    data = check.entity_type in ("DATASET", "SECUREKEY")
    match permission:
        case "STANDARD.GET":
            return "READ" if data else VISIBLE
        case "STANDARD.LIST":
            return VISIBLE
        case "STANDARD.UPDATE" if check.entity_type == "DATASET":
            return "WRITE"
        case "APPLICATION.EXECUTE":
            return "EXECUTE"
    return "ADMIN"


@cache
def ranger(policies: tuple[tuple[str, str, str], ...]) -> Ranger:
    document = {
        "serviceName": "cdapdev",
        "policyVersion": 1,
        "policies": [
            {
                "id": number,
                "version": 1,
                "name": str(number),
                "resources": levels(resource),
                "policyItems": [{"users": [user], "accesses": [{"type": one} for one in accesses.split()]}],
            }
            for number, (user, resource, accesses) in enumerate(policies, 1)
        ],
        "serviceDef": servicedef.service_definition(),
    }
    return Ranger(Policies(PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))))


def checks(steps: Iterable[str] = STEPS) -> Iterator[tuple[str, CdapCheck]]:
    """Who is checked for what. The data is svcclicks's: a program runs as the principal of its namespace."""
    lines = (ROOT / "tests" / "data" / "cdap-enforce-calls.jsonl").read_bytes().splitlines()
    recorded = {one.operation: one.calls for one in (msgspec.json.decode(line, type=Recorded) for line in lines)}
    for step in steps:
        for call in recorded[step]:
            if call.entity is not None:
                kind, parts = call.entity
                runs = step.startswith("IMP program.start") and kind in ("DATASET", "DATASET_TYPE", "KERBEROSPRINCIPAL")
                by = "svcclicks" if runs or step.startswith("dataset.") else NAMES.get(call.by, call.by)
                named = tuple(NAMES.get(part, part) for part in parts)
                yield by, CdapCheck(kind, named, call.permissions, call.child, call.hint)


ASKED = {ANY: "any privilege on it", VISIBLE: "any privilege on it or in it"}


def differences(profile: str) -> tuple[dict[str, tuple[str, str]], set[str]]:
    """What a profile denies and the predecessor allowed, by operation; and the operations where it is the other way."""
    world = ranger(tuple(OLD))
    denied: dict[str, tuple[str, str]] = {}
    allowed = set()
    for person, check in checks():
        answers = world.ours(person, check, profile)
        before, now = world.predecessor(person, check), all(answer.allowed for answer in answers)
        if now and not before:
            allowed.add(answers[0].operation)
        for answer in answers if before and not now else ():
            asked = " and ".join(action_of(check, permission) for permission in check.permissions)
            needs = " and ".join(f"{' or '.join(m.actions)} on the {m.entity.type}" for m in answer.missing)
            denied[answer.operation] = (ASKED.get(asked, f"{asked} on it"), needs)
    return denied, allowed


def test_the_page_lists_what_the_profiles_deny_of_the_case_study_and_nothing_else() -> None:
    (documented, allowed), (four, allowed_by_four) = (differences(name) for name in PROFILES)
    grouped: dict[str, list[str]] = {}
    for name, (asked, needs) in sorted(four.items()):
        needed = documented[name][1] if name in documented else "the same"
        grouped.setdefault(f"{asked} | {needed} | {needs} |", []).append(f"`{name}`")
    made = "".join(f"| {', '.join(names)} | {cells}\n" for cells, names in grouped.items())
    section = text_of(PAGE).split("### The case study\n")[1].split("\n#")[0]
    rows = re.findall(r"^\| `\w+\.\w+`.*\n", section, re.MULTILINE)

    assert set(documented) < set(four)
    assert "".join(rows) == made, f"the table of {PAGE.name} should be:\n{made}"
    assert allowed == allowed_by_four == {"artifact.incidental"}


# What the README has Alice do, by the policies it needs; nothing is possible before the last of them.
README = [
    (["Alice the Impersonator", "Alice the Name Spacer"], ["namespace.create(impersonation)"]),
    (["Alice the Deployer", "Clicks Datasets"], ["IMP application.deploy(namespace principal)", "application.delete"]),
    (["Alice the Runner"], ["program.stop(service)", "program.start(service)", "schedule.create"]),
]


# CDAP 6.11 asks the principal of a namespace whether it may own what is deployed, and about custom dataset types.
BESIDES = [
    ("svcclicks", "principal=svcclicks*", "admin"),
    ("svcclicks", "namespace=clicks dataset_module=?*", "admin"),
    ("svcclicks", "namespace=clicks dataset_type=?*", "admin"),
]


@pytest.mark.parametrize("number", range(len(BESIDES)))
def test_each_policy_beyond_the_readme_is_needed(number: int) -> None:
    fewer = [*BESIDES[:number], *BESIDES[number + 1 :]]
    given = [(one.user, one.effective, one.accesses) for one in CASE_STUDY]
    steps = [step for _, some in README for step in some]
    assert [step for step in steps if denials([*given, *fewer], step)] != []
    assert [step for step in steps if denials([*given, *BESIDES], step)] == []


@pytest.mark.parametrize("number", range(len(README)))
def test_each_step_of_the_readme_is_denied_before_its_policies_and_allowed_by_them(number: int) -> None:
    def those(names: Iterable[str]) -> list[tuple[str, str, str]]:
        return [(one.user, one.effective, one.accesses) for one in CASE_STUDY if one.name in names]

    earlier = those(name for names, _ in README[:number] for name in names)
    wanted, steps = README[number]
    for step in steps:
        for lacking in (wanted, *([name] for name in wanted)):
            held = [*earlier, *BESIDES, *those(name for name in wanted if name not in lacking)]
            assert denials(held, step), (step, lacking)
        assert denials([*earlier, *BESIDES, *those(wanted)], step) == [], step


def denials(policies: Iterable[tuple[str, str, str]], step: str) -> list[str]:
    """The reasons for which profile cdap-6 denies a recorded operation."""
    world = ranger(tuple(policies))
    answers = (answer for person, check in checks([step]) for answer in world.ours(person, check, "cdap-6"))
    return [answer.reason for answer in answers if not answer.allowed]


def test_two_policies_of_the_study_match_nothing_as_they_are_written() -> None:
    void = {one.name for one in CASE_STUDY if one.meaning}
    for one in CASE_STUDY:
        policies = ranger(((one.user, one.resource, one.accesses),)).policies
        entities = map(parse_entity, ("namespace:clicks", "application:clicks.words", "program:clicks.words.worker.W"))
        others = map(parse_entity, ("dataset:clicks.d", "principal:svcclicks"))
        reached = [e for e in (*entities, *others) if policies(one.user, e, "ADMIN").allowed]
        assert bool(reached) is (one.name not in void), one.name


def rewritten() -> tuple[tuple[str, str, str], ...]:
    """The policies of the page: user, resource and privileges of each row."""
    section = text_of(PAGE).split("### The case study\n")[1].split("\n#")[0]
    rows = re.findall(r"^\| (\w+) \| `([^`]+)` \| ([A-Z, ]+) \|$", section, re.MULTILINE)
    return tuple((user, resource, given.lower().replace(",", "")) for user, resource, given in rows)


def test_the_rewritten_policies_do_all_that_the_study_needs() -> None:
    new, old = ranger(rewritten()), ranger(tuple(OLD))
    for profile, (person, check) in product(PROFILES, checks()):
        if old.predecessor(person, check) or all(answer.allowed for answer in old.ours(person, check, profile)):
            assert [answer.reason for answer in new.ours(person, check, profile) if not answer.allowed] == [], check


@pytest.mark.parametrize(
    ("user", "action", "entity"),
    [
        ("svcclicks", "WRITE", "namespace:clicks"),
        ("svcclicks", "EXECUTE", "namespace:clicks"),
        ("alice", "EXECUTE", "namespace:clicks"),
    ],
)
def test_the_rewritten_policies_grant_nothing_above_by_a_star(user: str, action: str, entity: str) -> None:
    assert ranger(tuple(OLD)).policies(user, parse_entity(entity), action).allowed
    assert not ranger(rewritten()).policies(user, parse_entity(entity), action).allowed


def test_the_rewritten_policies_cover_all_programs_and_datasets() -> None:
    held = ranger(rewritten()).policies
    pipeline = PROFILES["004"].operation("application.start_pipeline")

    def may_start(application: str) -> bool:
        return compose(pipeline, parse_entity(application), "alice", held, names=held.names).allowed

    assert may_start("application:clicks.words")
    assert not may_start("application:other.words")
