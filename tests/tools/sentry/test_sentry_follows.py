"""Roles follow the files that are imported: any files in any order, with interruptions and with people in between.

Law: after an import a role of the file has exactly the groups that people added to it and those of the file, and
exactly the rights of the file; no import removes what people added.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from ranger_cdap.ranger.changes.role_members import LONGEST_LABEL, RoleMembers, member_label
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.client.ranger_roles import RoleRecord
from ranger_cdap.ranger_model.role import RoleMember
from ranger_cdap.tools.roles.role_plan import FoundRoles, roles_with_rights
from ranger_cdap.tools.sentry.sentry_file import parse_sentry_file
from ranger_cdap.tools.sentry.sentry_roles import SentryImport, sentry_plan, sentry_roles
from tests.ranger.changes.value_ranger import ValueRanger

ROLES = ("readers", "read", "a:group:b")
GROUPS = ("g1", "g2", "b:group:c", "c", "G1")
PLACES = ("", "namespace=a->", "namespace=b->", "namespace=a->dataset=*->")


@dataclass(frozen=True)
class Role:
    """What a file says of a role: its groups, and the places where it may read."""

    groups: frozenset[str]
    places: frozenset[str]


File = dict[str, Role]
file_roles = st.builds(Role, st.frozensets(st.sampled_from(GROUPS)), st.frozensets(st.sampled_from(PLACES), min_size=1))
files = st.dictionaries(st.sampled_from(ROLES), file_roles)


def imported(file: File) -> SentryImport:
    """The file as JSON, which can have any names."""
    groups = {group: [name for name, role in file.items() if group in role.groups] for group in GROUPS}
    roles = {name: [f"instance=cdap->{place}action=read" for place in sorted(one.places)] for name, one in file.items()}
    content = json.dumps({"groups": groups, "roles": roles}).encode()
    found = sentry_roles(parse_sentry_file(content), service="cdapdev", instance="cdap")
    assert len(found.names) == len(file)
    return found


def groups_of(ranger: ValueRanger, role: str) -> set[str]:
    return {one.name for one in ranger.roles[role].groups} if role in ranger.roles else set()


def places_of(ranger: ValueRanger, role: str) -> set[str]:
    given: set[str] = set()
    for policy in ranger.policies:
        if any(role in item.get("roles", []) and item["accesses"] for item in policy["policyItems"]):
            values = {level: one["values"][0].replace("?*", "*") for level, one in policy["resources"].items()}
            given.add("".join(f"{level}={value}->" for level, value in values.items() if level != "instance"))
    return given


def steps_for(ranger: ValueRanger, file: File, *, delete: bool = False) -> tuple[Step, ...]:
    found = imported(file)
    named = {*found.names, *roles_with_rights(ranger.policies)}
    there = FoundRoles({name: role for name, role in ranger.roles.items() if name in named}, ranger.found.policies)
    return sentry_plan(found, there, delete=delete)


class Imports(RuleBasedStateMachine):
    """Files are imported, wholly or not; people add groups to roles, and take away some."""

    def __init__(self) -> None:
        super().__init__()
        self.ranger = ValueRanger()
        self.last: File = {}
        self.by_people: dict[str, set[str]] = {}

    @rule(file=files, delete=st.booleans())
    def import_file(self, file: File, delete: bool) -> None:
        before = {name: (groups_of(self.ranger, name), places_of(self.ranger, name)) for name in ROLES}
        self.ranger.carry_out(steps_for(self.ranger, file, delete=delete))
        self.last = {**self.last, **file}
        for name in ROLES:
            if name in file:
                people = self.by_people.get(name, set())
                assert groups_of(self.ranger, name) == people | file[name].groups
                assert places_of(self.ranger, name) == file[name].places
            elif delete:
                assert name not in self.ranger.roles or not before[name][1]
                assert places_of(self.ranger, name) == set()
                self.by_people.pop(name, None)
                self.last.pop(name, None)
            else:
                assert (groups_of(self.ranger, name), places_of(self.ranger, name)) == before[name]
        again = steps_for(self.ranger, file, delete=delete)
        assert not [step for step in again if step.change is not StepChange.KEEP]

    @rule(file=files, stop=st.integers(0, 6))
    def import_a_part(self, file: File, stop: int) -> None:
        """What was interrupted is made up for by the same file, or by another; people wait for that."""
        self.ranger.carry_out(steps_for(self.ranger, file), stop_after=stop)
        self.import_file(file, delete=False)

    @rule(role=st.sampled_from(ROLES), group=st.sampled_from(GROUPS))
    def add(self, role: str, group: str) -> None:
        """A group that the last file has not: adding what an import added changes nothing in Ranger.

        A role with members and without rights counts as made by others: an import leaves it alone.
        """
        wanted = self.last[role].groups if role in self.last else set()
        has_rights = bool(places_of(self.ranger, role))
        if has_rights and role in self.ranger.roles and group not in wanted | groups_of(self.ranger, role):
            self.ranger.roles[role].groups.append(RoleMember(name=group))
            self.by_people.setdefault(role, set()).add(group)

    @rule(role=st.sampled_from(ROLES), group=st.sampled_from(GROUPS))
    def take_away(self, role: str, group: str) -> None:
        if role in self.ranger.roles:
            kept = [one for one in self.ranger.roles[role].groups if one.name != group]
            self.ranger.roles[role].groups = kept
            self.by_people.get(role, set()).discard(group)


def test_roles_follow_every_sequence_of_files() -> None:
    run_state_machine_as_test(Imports, settings=settings(max_examples=150, stateful_step_count=10, deadline=None))


@given(files, files, st.integers(0, 8), st.integers(0, 8))
@settings(max_examples=150, deadline=None)
def test_an_import_that_was_interrupted_is_made_up_for_by_the_next_file(
    first: File, second: File, stop: int, again: int
) -> None:
    ranger = ValueRanger()
    ranger.carry_out(steps_for(ranger, first))
    ranger.carry_out(steps_for(ranger, second), stop_after=stop)
    ranger.carry_out(steps_for(ranger, first), stop_after=again)
    ranger.carry_out(steps_for(ranger, second))
    for name, role in second.items():
        assert groups_of(ranger, name) == role.groups
        assert places_of(ranger, name) == role.places


def test_the_plan_shows_who_leaves_and_who_stays() -> None:
    ranger = ValueRanger()
    both, one = frozenset({"g1", "g2"}), frozenset({"g2"})
    ranger.carry_out(steps_for(ranger, {"readers": Role(both, frozenset({""}))}))
    ranger.roles["readers"].groups.append(RoleMember(name="c"))
    steps = steps_for(ranger, {"readers": Role(one, frozenset({""}))})
    assert [str(step) for step in steps] == [
        "update role `readers`: remove group `g1`, added before and no longer wanted; it also has group `c`",
        "update policy `sentry: instance=cdap`: only the record of what was given",
    ]


def test_a_role_that_the_file_does_not_have_is_named_and_deleted_only_when_asked() -> None:
    ranger = ValueRanger()
    role = Role(frozenset({"g1"}), frozenset({""}))
    ranger.carry_out(steps_for(ranger, {"readers": role, "read": role}))
    [_, kept] = steps_for(ranger, {"read": role})
    assert str(kept) == (
        "keep role `readers`: it was imported before and the file does not have it; it keeps its rights and members "
        "(group `g1`), and `--delete` removes it"
    )
    assert [str(step) for step in steps_for(ranger, {"read": role}, delete=True)] == [
        "update policy `sentry: instance=cdap`: take read from role readers",
        "keep role `read`: it has these members and rights",
        "delete role `readers`: with group `g1`",
    ]


def test_a_role_of_which_the_file_has_no_privilege_left_loses_what_was_imported() -> None:
    ranger = ValueRanger()
    ranger.carry_out(steps_for(ranger, {"readers": Role(frozenset({"g1"}), frozenset({"", "namespace=a->"}))}))
    ranger.roles["readers"].groups.append(RoleMember(name="c"))
    emptied = {"readers": Role(frozenset({"g1"}), frozenset())}
    ranger.carry_out(steps_for(ranger, emptied))
    assert (groups_of(ranger, "readers"), ranger.policies) == ({"c"}, [])
    assert not [step for step in steps_for(ranger, emptied) if step.changes]


@pytest.mark.parametrize("delete", [False, True])
def test_roles_of_others_that_the_file_does_not_have_are_not_mentioned(delete: bool) -> None:
    """Those of jobs and of other services have rights from here as well."""
    ranger = ValueRanger()
    ranger.carry_out(steps_for(ranger, {"readers": Role(frozenset({"g1"}), frozenset({""}))}))
    ranger.roles["readers"].description = "Made by ranger-cdap: viewer in namespace:a of instance cdap."
    assert steps_for(ranger, {}, delete=delete) == ()


def test_a_role_of_others_is_not_blocked_by_a_file_that_gives_it_nothing() -> None:
    ranger = ValueRanger({"readers": RoleRecord(name="readers", description="of others")})
    assert steps_for(ranger, {"readers": Role(frozenset({"g1"}), frozenset())}) == ()


names = st.text(st.sampled_from("ab:%3A"), min_size=1, max_size=5)
members = st.tuples(names, st.sampled_from(("user", "group", "role")), names)


@given(members, members)
def test_a_label_is_of_one_member_of_one_role(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert (member_label(*one) == member_label(*other)) == (one == other)
    starts = member_label(*other).startswith(member_label(one[0], "", "")[:-1])
    assert starts == (one[0] == other[0])


ROOM = LONGEST_LABEL - len(member_label("", "group", ""))


@pytest.mark.parametrize(("length", "why"), [(ROOM - 255, []), (ROOM - 254, ["both names are too long"])])
def test_a_group_whose_label_would_be_too_long_is_left_out_and_named(length: int, why: list[str]) -> None:
    role, group = "r" * 255, "g" * length
    text = f"[groups]\n{group} = {role}\n[roles]\n{role} = instance=cdap->action=read"
    found = sentry_roles(parse_sentry_file(text.encode()), service="s", instance="cdap")
    assert found.roles[0].members == RoleMembers(groups=() if why else (group,))
    assert [one.why.partition(" for ")[0] for one in found.left_out] == why


MOVES: dict[str, tuple[File, File]] = {
    "to a new policy": (
        {"readers": Role(frozenset({"g1"}), frozenset({"namespace=a->"}))},
        {"readers": Role(frozenset({"g1"}), frozenset({"namespace=b->"}))},
    ),
    "each to the policy of the other": (
        {
            "readers": Role(frozenset({"g1"}), frozenset({"namespace=a->"})),
            "read": Role(frozenset({"g1"}), frozenset({"namespace=b->"})),
        },
        {
            "readers": Role(frozenset({"g1"}), frozenset({"namespace=b->"})),
            "read": Role(frozenset({"g1"}), frozenset({"namespace=a->"})),
        },
    ),
}


@pytest.mark.parametrize("stop", range(5))
@pytest.mark.parametrize("move", MOVES)
def test_no_interruption_forgets_who_was_added(move: str, stop: int) -> None:
    ranger, (first, second) = ValueRanger(), MOVES[move]
    ranger.carry_out(steps_for(ranger, first))
    ranger.carry_out(steps_for(ranger, second), stop_after=stop)
    ranger.carry_out(steps_for(ranger, second))
    ranger.carry_out(steps_for(ranger, {name: replace(role, groups=frozenset()) for name, role in second.items()}))
    assert {name: groups_of(ranger, name) for name in second} == {name: set() for name in second}
