"""A day of each job role, played against the calls of a recorded CDAP 6.11.1, in each profile.

The role's policies are those that `ranger-cdap roles apply` makes; the real engine decides, for a member of the group
that has the role. The recorded operations of a row are all of CDAP's requests for it (`cdap-enforce-operations.toml`).
Connections were not recorded: their checks are those of CDAP's source (cdap-facts.md §5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import filterfalse

import msgspec
import pytest

import servicedef
from ranger_cdap.cdap.answer import Answer, compose, visibility
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.entity import EntityId, parse_entity, resolve_entity, to_resource
from ranger_cdap.cdap.presets import (
    Preset,
    PresetRight,
    ldap_without_preset,
    load_preset,
    preset_names,
    preset_profiles,
)
from ranger_cdap.cdap.profile import VISIBLE
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, Decision, MatchingScope, PolicyEngine
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.role_members import RoleMembers
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies
from ranger_cdap.tools.roles.job_roles import job_role
from ranger_cdap.tools.roles.role_plan import FoundRoles, plan
from tests.cdap.checks.test_replay import CHECKS, OPERATIONS, RECORDED, Call, is_for_a_type_of_cdap, related
from tests.cdap.test_job_privileges import lacking

NAMESPACE = "ns1"
EVERY_JOB = [(name, profile) for profile in preset_profiles() for name in preset_names()]

# Recorded operations that are no part of a job, with the reason.
OTHER_PEOPLE = {
    "dataset.create(owner principal)": "needs ADMIN on a Kerberos principal as well, which no preset gives",
    "namespace.create(impersonation)": "needs ADMIN on a Kerberos principal as well, which no preset gives",
    "program.run(worker)": "the program's own calls, as CDAP's master user or the impersonated one",
    "program.run(workflow local dataset)": "the program's own calls, as CDAP's master user or the impersonated one",
}
# What CDAP asks for on the namespace `system`, by the row.
OF_SYSTEM = {
    "application.get": "application.get",
    "artifact.list": "artifact.list",
    "artifact.get": "artifact.get",
    "dataset.list": "dataset.list",
    "namespace.get": "namespace.get",
    "profile.list": "profile.list(system)",
    "profile.create": "profile.create(system)",
    "artifact.refresh": "artifact.refresh(load system artifacts)",
    "namespace.view_system_logs": "system.view_logs",
}
ONE_CONNECTION = ("SYSTEM_APP_ENTITY", (NAMESPACE, "pipeline", "connection", "files"))
CONNECTIONS = {
    f"connection.{verb}": (Call("alice", ONE_CONNECTION, (f"STANDARD.{verb.upper()}",)),)
    for verb in ("get", "use", "create", "update", "delete")
} | {"connection.list": (Call("alice", ("NAMESPACE", (NAMESPACE,)), ("STANDARD.LIST",), "SYSTEM_APP_ENTITY"),)}

# The presets of the predecessor's LDAP binding (cdap-facts.md has them).
LDAP_ROLES = {
    *("View Namespace", "Create Namespace", "Modify Namespace", "Delete Namespace"),
    *("View Pipeline", "View Logs", "View Metadata", "View Tags", "Create Pipeline", "Deploy Pipeline"),
    *("Execute Pipeline", "Preview Pipeline", "Delete Pipeline", "Modify Pipeline", "Create Tag", "Delete Tag"),
    *("Create Schedule", "Change Schedule", "Create Triggers", "Set Triggers", "Deploy Artifacts", "Deploy Drivers"),
    *("Use Studio", "Use Wrangler", "Manage Connections", "Compute Profile View", "Compute Profile Create"),
    *("Compute Profile Modify", "Compute Profile Delete", "Secure Key View", "Secure Key Manage"),
    *("System Preferences", "System Services", "Tether", "Health Check", "Source Control"),
}

Day = dict[str, list[tuple[tuple[Call, ...], frozenset[EntityId]]]]
"""The calls of each row, and the entities that must be visible for it."""


@cache
def day(profile: str) -> Day:
    """All recorded operations of alice in the namespace, by row, and what she does with connections."""
    rows: Day = {}
    for one in OPERATIONS.of_profile(profile):
        calls = RECORDED[one.recorded].calls
        namespaces = {call.entity[1][0] for call in calls if call.entity[1] and call.entity[0] != "INSTANCE"}
        if one.recorded not in OTHER_PEOPLE and namespaces <= {NAMESPACE} and not one.recorded.startswith("IMP "):
            about = {parse_entity(one.entity), *related(one).get("artifact", ())}
            rows.setdefault(one.row, []).append((calls, frozenset(e for e in about if isinstance(e, EntityId))))
    return rows | {name: [(calls, frozenset())] for name, calls in CONNECTIONS.items()}


def moved(calls: Iterable[Call], namespace: str) -> tuple[Call, ...]:
    """The same calls for another namespace."""

    def parts(named: tuple[str, ...]) -> tuple[str, ...]:
        return (namespace, *named[1:]) if named[:1] == (NAMESPACE,) else named

    return tuple(
        msgspec.structs.replace(
            call,
            entity=(call.entity[0], parts(call.entity[1])),
            visible=tuple((kind, parts(named)) for kind, named in call.visible),
        )
        for call in calls
    )


class Job:
    """The engine with the policies of a role, and a member or another person who asks."""

    def __init__(self, preset: Preset, profile: str, *, groups: frozenset[str] = frozenset({"sales-devs"})) -> None:
        self._checks, self._groups = CHECKS[profile], groups
        wanted = job_role(
            preset, NAMESPACE, service="cdapdev", instance="cdap", members=RoleMembers(groups=("sales-devs",))
        )
        steps = plan([wanted], FoundRoles({}, []))
        policies = [
            {**(step.wanted or {}), "id": number, "version": 1}
            for number, step in enumerate(steps, 1)
            if step.kind == "policy"
        ]
        document = {"serviceName": "cdapdev", "policyVersion": 1, "policies": policies}
        document["serviceDef"] = servicedef.service_definition()
        role = {"name": wanted.name, "groups": [{"name": name} for name in wanted.members.groups]}
        self._engine = PolicyEngine.build(
            decode_service_policies(msgspec.json.encode(document)),
            roles=decode_roles(
                msgspec.json.encode({"serviceName": "cdapdev", "roleVersion": 1, "rangerRoles": [role]})
            ),
        )

    def ask(self, person: str, entity: EntityId, action: str) -> Decision:
        return self._engine.evaluate(
            AccessRequest(
                resource=to_resource(entity, "cdap"),
                access_type=ANY_ACCESS if action in ("ANY", VISIBLE) else action.lower(),
                user=person,
                groups=self._groups,
                access_time=1_800_000_000_000,
                matching_scope=MatchingScope.SELF_OR_DESCENDANTS if action == VISIBLE else MatchingScope.SELF,
            )
        )

    def answers(self, check: CdapCheck) -> Iterator[Answer]:
        for each in self._checks.resolve(check).operations:
            yield compose(each.operation, each.entity, "alice", self.ask)

    def denials(self, calls: Iterable[Call], about: Iterable[EntityId] = ()) -> list[str]:
        reasons = []
        for call in filterfalse(is_for_a_type_of_cdap, calls):
            for kind, parts in call.visible:
                entity = resolve_entity(kind, parts).entity
                if (
                    entity in about
                    and not visibility(self._checks.list_row(entity.type), entity, "alice", self.ask).visible
                ):
                    reasons.append(f"{entity} is not shown")
            if not call.visible:
                reasons += [answer.reason for answer in self.answers(call.check) if not answer.allowed]
        return reasons

    def done(self, rows: Day, namespace: str = NAMESPACE) -> set[str]:
        """The rows of which every recorded operation passes in a namespace."""
        return {row for row, several in rows.items() if not self.denied(several, namespace)}

    def denied(self, several: Iterable[tuple[tuple[Call, ...], frozenset[EntityId]]], namespace: str) -> list[str]:
        found = []
        for calls, about in several:
            there = {EntityId(one.type, (namespace, *one.parts[1:])) if one.parts else one for one in about}
            found += self.denials(moved(calls, namespace), there)
        return found

    def some(self, rows: Day, namespace: str = NAMESPACE) -> set[str]:
        """The rows of which any recorded operation passes in a namespace."""
        return {row for row, several in rows.items() if any(not self.denied([one], namespace) for one in several)}


@cache
def system_day() -> Day:
    """The recorded operations on `system`; the application there is that of Wrangler."""
    rows: Day = {}
    for row, name in OF_SYSTEM.items():
        text = msgspec.json.encode(moved(RECORDED[name].calls, "system")).replace(b"ProbeApp", b"dataprep")
        rows[row] = [(msgspec.json.decode(text, type=tuple[Call, ...]), frozenset())]
    return rows


@pytest.mark.parametrize(("name", "profile"), EVERY_JOB)
def test_a_member_passes_all_that_the_job_does_and_nothing_else(name: str, profile: str) -> None:
    preset, rows = load_preset(name, profile), day(profile)
    job = Job(preset, profile)

    assert set(preset.operations) <= set(rows)
    for row in preset.operations:
        assert job.denied(rows[row], NAMESPACE) == [], row
    assert job.some(rows) == {*preset.operations, *preset.also}


@pytest.mark.parametrize(("name", "profile"), EVERY_JOB)
def test_elsewhere_a_member_passes_only_what_is_said_of_system(name: str, profile: str) -> None:
    preset = load_preset(name, profile)
    job = Job(preset, profile)

    assert job.some(day(profile), "ns2") == set()
    assert job.done(system_day(), "system") == {*preset.system_operations, *preset.system_also}


@pytest.mark.parametrize(("name", "profile"), EVERY_JOB)
def test_who_is_not_a_member_passes_nothing(name: str, profile: str) -> None:
    stranger = Job(load_preset(name, profile), profile, groups=frozenset({"other"}))

    assert stranger.some(day(profile)) | stranger.done(system_day(), "system") == set()


@pytest.mark.parametrize(("name", "profile"), EVERY_JOB)
def test_only_an_administrator_saves_drafts_of_studio(name: str, profile: str) -> None:
    draft = Call("alice", ("NAMESPACE", (NAMESPACE,)), ("STANDARD.UPDATE",), hint="DraftHandler.putDraft")

    assert (Job(load_preset(name, profile), profile).denials([draft]) == []) == (name == "administrator")


def without(preset: Preset, right: PresetRight, access: str) -> Preset:
    rest = tuple(one for one in right.accesses if one != access)
    others = [one for one in preset.rights if one != right]
    return replace(preset, rights=tuple([*others, replace(right, accesses=rest)] if rest else others))


@pytest.mark.parametrize(("name", "profile"), EVERY_JOB)
def test_no_access_of_a_preset_can_be_dropped(name: str, profile: str) -> None:
    preset = load_preset(name, profile)
    rows = {row: several for row, several in day(profile).items() if row in preset.operations}
    system = {row: several for row, several in system_day().items() if row in preset.system_operations}
    for right in preset.rights:
        for access in right.accesses:
            rest = without(preset, right, access)
            job = Job(rest, profile)
            passed = (job.done(rows), job.done(system, "system"))
            assert passed != (set(rows), set(system)) or lacking(rest, profile), (right, access)


def test_every_role_of_the_ldap_binding_is_a_preset_s_or_has_a_reason_why_not() -> None:
    presets = [load_preset(name, "default") for name in preset_names()]
    named = [role for preset in presets for role in preset.ldap]

    assert len(named) == len(set(named))
    assert {*named, *ldap_without_preset()} == LDAP_ROLES
    assert not set(named) & set(ldap_without_preset())


def test_presets_are_for_some_profiles_and_an_unknown_one_is_named_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r"profiles default, cdap-6, 004, and `cdap.profile` is `001`"):
        load_preset("viewer", "001")
    with pytest.raises(InvalidInput, match="no preset `develper`; did you mean `developer`"):
        load_preset("develper", "default")
    with pytest.raises(InvalidInput, match=r"no preset `x`; known are viewer, .*, wrangler-user"):
        load_preset("x", "default")


def test_every_reason_is_used_and_says_why() -> None:
    presets = [load_preset(name, profile) for name, profile in EVERY_JOB]
    for preset in presets:
        assert all(reason.strip() for reason in (*preset.also.values(), *preset.system_also.values()))
        assert not set(preset.also) & set(preset.operations)
