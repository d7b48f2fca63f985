"""A plan makes Ranger's policies those of the files, and touches nothing that is not theirs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import AdminUnreachable, ConflictingChange, RequestRejected
from ranger_cdap.ranger.changes.carry_out import carry_out
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger.changes.transfer import policy_key, portable
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.tools.policies.change_plan import ChangePlan, change_plan
from ranger_cdap.tools.policies.creator_grants import CreatorGrants
from tests.tools.policies.change_plans import blocked, changes
from tests.tools.policies.test_creator_grants import granted

Json = dict[str, Any]
GRANTS = CreatorGrants(delegate_admin=False)
READ = {"type": "read"}


def policy(name: str, where: str = "", user: str = "alice", **more: Any) -> Json:
    resources = {"instance": {"values": ["cdap"]}, "namespace": {"values": [where or name]}}
    return {"name": name, "resources": resources, "policyItems": [{"users": [user], "accesses": [READ]}], **more}


def numbered(*policies: Json) -> list[Json]:
    return [{"guid": f"g{n}", **one, "id": n, "version": 1} for n, one in enumerate(policies, 1)]


def planned(wanted: list[Json], there: list[Json], *, delete: bool = False) -> ChangePlan:
    return change_plan(wanted, there, delete=delete, grants=GRANTS)


class ScriptedRanger:
    """Ranger Admin's policies by id, with its rules: one policy a resource, one a name; `fails` ends one request."""

    def __init__(self, *policies: Json) -> None:
        self.policies = {one["id"]: one for one in numbered(*policies)}
        self.requests = 0
        self.fails_at: int | None = None
        self.is_done_before_failing = False

    def documents(self) -> list[Json]:
        return list(self.policies.values())

    def policy_by_id(self, policy_id: int) -> Policy | None:
        found = self.policies.get(policy_id)
        return None if found is None else Policy(id=found["id"], version=found["version"], name=found["name"])

    def create_policy_document(self, policy: Json) -> Json:
        return self._stored(policy, 1 + max(self.policies, default=0), 1)

    def update_policy_document(self, policy_id: int, policy: Json) -> Json:
        return self._stored(policy, policy_id, self.policies[policy_id]["version"] + 1)

    def delete_policy(self, policy_id: int) -> None:
        self._request(lambda: self.policies.pop(policy_id))

    def _stored(self, policy: Json, policy_id: int, version: int) -> Json:
        others = [one for number, one in self.policies.items() if number != policy_id]
        if any(policy_key(one) == policy_key(policy) for one in others):
            raise RequestRejected("the name is taken", reason_codes=(3006,))
        if any(one["resources"] == policy["resources"] for one in others):
            raise RequestRejected("the resource is taken", reason_codes=(3010,))
        stored = {"guid": f"g{policy_id}", **policy, "id": policy_id, "version": version}
        self._request(lambda: self.policies.update({policy_id: stored}))
        return stored

    def _request(self, do: Any) -> None:
        self.requests += 1
        if self.requests == self.fails_at:
            if self.is_done_before_failing:
                do()
            raise AdminUnreachable("no answer")
        do()


names = st.sampled_from("abcdef")
several = st.dictionaries(names, st.tuples(st.sampled_from("uvwxyz"), st.sampled_from(["alice", "bob"])), max_size=5)


def policies(drawn: dict[str, tuple[str, str]]) -> list[Json]:
    by_resource = {where: policy(name, where, user) for name, (where, user) in drawn.items()}
    return list(by_resource.values())


def content(policies: list[Json]) -> list[Json]:
    return sorted(map(portable, policies), key=policy_key)


@given(several, several, st.booleans(), st.booleans(), st.integers(1, 8), st.booleans())
def test_a_plan_ends_in_what_it_says_wherever_it_was_stopped(
    wanted: Any, before: Any, delete: bool, failing: bool, at: int, is_done: bool
) -> None:
    grant = granted()
    ranger = ScriptedRanger(*policies(before), grant)
    ranger.fails_at, ranger.is_done_before_failing = (at if failing else None), is_done
    files = policies(wanted)
    for _ in range(12):
        found = planned(files, ranger.documents(), delete=delete)
        if blocked(found):
            assert not delete, "nothing is in the way of files that may replace everything"
            break
        if not changes(found):
            break
        try:
            list(carry_out(changes(found), ranger, "s"))
        except AdminUnreachable:
            continue  # as a person would call it again
        except RequestRejected:
            break  # two policies that exchange resources, which Ranger takes in no order
    else:
        pytest.fail("it never ends")
    assert grant["name"] in {one["name"] for one in ranger.documents()}
    now = planned(files, ranger.documents(), delete=delete)
    if not changes(now) and not blocked(now):
        kept = [] if delete else [one for one in ranger.documents() if one["name"] not in {f["name"] for f in files}]
        managed = [one for one in ranger.documents() if one not in kept and not GRANTS.made(one)]
        assert content(managed) == content(files)


@given(several, several)
def test_without_delete_no_policy_loses_what_it_gave(wanted: Any, before: Any) -> None:
    there = numbered(*policies(before))
    files = policies(wanted)
    for step in changes(planned(files, there)):
        assert step.change is not StepChange.DELETE
        if step.there is not None and step.there["name"] not in {one["name"] for one in files}:
            assert step.wanted is not None
            assert step.wanted["policyItems"] == step.there["policyItems"]


def test_six_hundred_grants_are_a_number() -> None:
    there = numbered(*(granted(number=n) for n in range(1, 601)), policy("mine"), policy("theirs"))
    found = planned([policy("mine")], there, delete=True)
    assert ([str(step) for step in found.drift], found.grants) == (["delete policy `theirs`: is not in the file"], 600)


def test_a_policy_with_the_label_alone_is_no_grant() -> None:
    forged = policy("creator of dataset ns1.kv 1 00000000", policyLabels=["cdap-creator"])
    found = planned([], numbered(forged))
    assert (len(found.drift), found.grants) == (1, 0)


def test_a_grant_in_the_files_is_left_out_and_counted() -> None:
    found = planned([portable(granted()), policy("a")], [])
    assert (changes(found), found.left_out) == (changes(planned([policy("a")], [])), 1)


def test_a_grant_that_people_edited_stays_and_is_shown() -> None:
    edited = granted()
    edited["policyItems"] = [*edited["policyItems"], {"users": ["bob"], "accesses": [{"type": "read"}]}]
    found = planned([], numbered(edited), delete=True)
    assert (changes(found), found.grants) == ((), 1)
    name = edited["name"]
    assert list(map(str, found.drift)) == [
        f"keep policy `{name}`: it is the sync job's, which people have edited; it stays"
    ]


def test_a_renamed_policy_keeps_its_id() -> None:
    found = planned([policy("new", "ns")], numbered(policy("old", "ns")))
    assert [str(step) for step in found.steps] == ["update policy `new`: was `old`, differs in name"]
    ranger = ScriptedRanger(policy("old", "ns"))
    list(carry_out(changes(found), ranger, "s"))
    assert [(one["id"], one["name"]) for one in ranger.documents()] == [(1, "new")]


def test_another_content_on_the_resource_of_another_policy_needs_delete() -> None:
    there = numbered(policy("old", "ns", "bob"))
    wanted = [policy("new", "ns")]
    assert {step.name: step.change for step in planned(wanted, there).drift} == {
        "old": StepChange.KEEP,
        "new": StepChange.BLOCKED,
    }
    (step,) = planned(wanted, there, delete=True).steps
    assert (step.change, step.detail) == (StepChange.UPDATE, "was `old`, differs in name, policyItems")


@pytest.mark.parametrize(
    ("more", "is_blocked"),
    [({}, True), ({"isEnabled": False}, False), ({"policyPriority": 1}, False), ({"zoneName": "z"}, False)],
)
def test_a_resource_that_a_grant_or_another_file_has_is_blocked(more: Json, is_blocked: bool) -> None:
    grant = granted()
    own = {**policy("own"), "resources": grant["resources"], **more}
    assert blocked(planned([own], numbered(grant))) == ()  # the grant lists it twice
    twice = {**own, "additionalResources": grant["additionalResources"]}
    assert bool(blocked(planned([twice], numbered(grant)))) == is_blocked
    assert bool(blocked(planned([own, {**own, "name": "two", **more}], []))) == (not more or "isEnabled" not in more)


def test_denials_come_first_and_go_last() -> None:
    deny = {"denyPolicyItems": [{"users": ["eve"], "accesses": [READ]}]}
    there = numbered(policy("old"), policy("old deny", **deny), policy("both", user="bob"))
    found = planned([policy("new"), policy("new deny", **deny), policy("both")], there, delete=True)
    assert [step.name for step in changes(found)] == ["new deny", "old", "both", "new", "old deny"]


@pytest.mark.parametrize("meddle", ["change", "delete"])
def test_a_policy_that_changed_since_the_plan_is_left_alone(meddle: str) -> None:
    ranger = ScriptedRanger(policy("a", user="bob"))
    found = planned([policy("a")], ranger.documents())
    if meddle == "change":
        ranger.update_policy_document(1, policy("a", user="carol"))
    else:
        ranger.delete_policy(1)
    before = ranger.documents()
    with pytest.raises(ConflictingChange, match=r"policy `a` \(update\).*since the plan.*0 of 1 changes"):
        list(carry_out(changes(found), ranger, "s"))
    assert ranger.documents() == before


def test_a_change_in_the_same_moment_is_reported() -> None:
    class Racing(ScriptedRanger):
        def policy_by_id(self, policy_id: int) -> Policy | None:
            found = super().policy_by_id(policy_id)
            self.policies[policy_id] = {**self.policies[policy_id], "version": 2}
            return found

    ranger = Racing(policy("a", user="bob"))
    with pytest.raises(ConflictingChange, match="its versions after 1 were overwritten"):
        list(carry_out(changes(planned([policy("a")], ranger.documents())), ranger, "s"))


def test_what_somebody_else_deleted_is_deleted() -> None:
    ranger = ScriptedRanger(policy("a"))
    found = planned([], ranger.documents(), delete=True)
    ranger.delete_policy(1)
    assert [step.name for step in carry_out(changes(found), ranger, "s")] == ["a"]
