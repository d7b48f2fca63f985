"""What `setup` plans: from what is there to what is wanted, and nothing that people made is touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import Decider
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.cdap.profile import profile_names
from ranger_cdap.config import CdapSettings, MasterSettings, Settings
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger.setup.service_setup import plan
from ranger_cdap.ranger.setup.setup_state import CurrentState, DesiredState
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from servicedef import AUDIT_FILTERS, service_definition

NOTHING = CurrentState(None, None, ())
DEFAULT_FILTERS = next(row["defaultValue"] for row in service_definition()["configs"] if row["name"] == AUDIT_FILTERS)
AUDITED = {AUDIT_FILTERS: DEFAULT_FILTERS}
MASTER = DesiredState("cdapdev", "cdap", master_user="cdap")


def body_of(step: Step) -> Policy:
    return msgspec.convert(step.wanted or step.there, Policy)


def policies(wanted: DesiredState, found: CurrentState = NOTHING) -> dict[tuple[str, ...], Step]:
    """The steps about policies by the levels of their resources."""
    return {tuple(body_of(step).resources): step for step in plan(wanted, found) if step.kind == "policy"}


def given(step: Step) -> list[tuple[list[str], list[str], list[str]]]:
    return [(item.users, item.groups, [a.type for a in item.accesses]) for item in body_of(step).policy_items]


def configs(wanted: DesiredState, service: dict[str, Any] | None = None) -> dict[str, str]:
    step = next(s for s in plan(wanted, CurrentState(None, service, ())) if s.kind == "service")
    found: dict[str, str] = (step.wanted or {})["configs"]
    return found


def test_administrators_get_the_instance_and_the_policies_and_no_data() -> None:
    wanted = DesiredState("cdapdev", "prod", admin_users=("ann", "ben"), admin_groups=("ops",))

    (only,) = policies(wanted).values()
    assert {level: r.values for level, r in body_of(only).resources.items()} == {"instance": ["prod"]}
    assert given(only) == [(["ann", "ben"], ["ops"], ["read", "write", "admin"])]
    assert not any(item.delegate_admin for item in body_of(only).policy_items)
    lists = {name: text for name, text in configs(wanted).items() if name.startswith("service.")}
    assert lists == {"service.admin.users": "ann,ben", "service.admin.groups": "ops"}


def test_the_sync_account_and_administrators_share_a_list() -> None:
    wanted = DesiredState("cdapdev", "cdap", sync_account="sync", admin_users=("ann", "sync"))
    assert configs(wanted)["service.admin.users"] == "sync,ann"


def test_administrators_are_added_to_those_people_have_named() -> None:
    service = {"id": 3, "name": "cdapdev", "type": "cdap", "configs": {"service.admin.users": "zoe, ann"}}
    wanted = DesiredState("cdapdev", "cdap", admin_users=("ann", "ben"))
    assert configs(wanted, service)["service.admin.users"] == "zoe,ann,ben"


@pytest.mark.parametrize(
    ("listed", "change"),
    [("zoe,ann", StepChange.KEEP), ("zoe, ann", StepChange.UPDATE), ("ann ,zoe", StepChange.UPDATE)],
)
def test_a_name_with_a_blank_is_no_account_and_is_repaired(listed: str, change: StepChange) -> None:
    service = {"id": 3, "name": "cdapdev", "type": "cdap", "configs": {**AUDITED, "service.admin.users": listed}}
    wanted = DesiredState("cdapdev", "cdap", admin_users=("ann",))
    step = next(s for s in plan(wanted, CurrentState(None, service, ())) if s.kind == "service")
    assert step.change is change
    assert sorted((step.wanted or step.there or {})["configs"]["service.admin.users"].split(",")) == ["ann", "zoe"]


@pytest.mark.parametrize(("enabled", "change"), [(True, StepChange.KEEP), (False, StepChange.BLOCKED)])
def test_a_disabled_service_is_not_kept(enabled: bool, change: StepChange) -> None:
    service = {"id": 3, "name": "cdapdev", "type": "cdap", "isEnabled": enabled, "configs": AUDITED}
    step = next(
        s for s in plan(DesiredState("cdapdev", "cdap"), CurrentState(None, service, ())) if s.kind == "service"
    )
    assert (step.change, step.there) == (change, service)


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (None, StepChange.CREATE, DEFAULT_FILTERS),
        ({}, StepChange.UPDATE, DEFAULT_FILTERS),
        ({AUDIT_FILTERS: ""}, StepChange.UPDATE, DEFAULT_FILTERS),
        ({AUDIT_FILTERS: "[]"}, StepChange.KEEP, "[]"),
        ({AUDIT_FILTERS: "[{'isAudited': false}]"}, StepChange.KEEP, "[{'isAudited': false}]"),
    ],
)
def test_denials_that_no_policy_decides_are_audited_unless_people_chose_filters(
    before: dict[str, str] | None, change: StepChange, after: str
) -> None:
    service = None if before is None else {"id": 3, "name": "cdapdev", "type": "cdap", "configs": before}
    step = plan(DesiredState("cdapdev", "cdap"), CurrentState(None, service, ()))[1]
    assert (step.change, (step.wanted or step.there or {})["configs"][AUDIT_FILTERS]) == (change, after)


def policies_of(wanted: DesiredState, found: CurrentState = NOTHING) -> dict[str, Step]:
    """The steps about policies by name."""
    return {body_of(step).name: step for step in plan(wanted, found) if step.kind == "policy"}


MASTER_GETS = [
    (("instance",), ["read", "write"]),
    (("instance", "namespace"), ["read"]),
    (("instance", "namespace", "artifact"), ["read"]),
    (("instance", "namespace", "application", "program"), ["read", "execute"]),
    (("instance", "namespace", "dataset"), ["read", "write"]),
    (("instance", "namespace", "dataset_module"), ["read"]),
    (("instance", "namespace", "dataset_type"), ["read"]),
]


@pytest.mark.parametrize(("levels", "accesses"), MASTER_GETS)
def test_the_master_user_gets_what_it_needs_by_policies_one_can_see(
    levels: tuple[str, ...], accesses: list[str]
) -> None:
    step = policies(MASTER)[levels]
    assert step.change is StepChange.CREATE
    assert given(step) == [(["cdap"], [], accesses)]


def test_the_master_user_gets_nothing_else() -> None:
    assert list(policies(MASTER)) == [levels for levels, _ in MASTER_GETS]
    assert "service.admin.users" not in configs(MASTER)
    assert not any("admin" in accesses for step in policies(MASTER).values() for _, _, accesses in given(step))


def test_only_where_it_may_create_does_the_master_user_get_admin() -> None:
    steps = policies(DesiredState("cdapdev", "cdap", master_user="cdap", master_may_create=True))
    admin = [levels[-1] for levels, step in steps.items() if "admin" in given(step)[0][2]]
    assert admin == ["dataset", "dataset_module", "dataset_type"]


@pytest.mark.parametrize("profile", profile_names())
def test_the_master_user_may_create_the_first_namespace_by_every_profile(profile: str) -> None:
    """CDAP does so on startup, and does not start otherwise."""
    settings = Settings(cdap=CdapSettings(profile=profile), master=MasterSettings(user="cdap"))
    made = [body_of(step) for step in plan(DesiredState.of(settings), NOTHING) if step.kind == "policy"]
    for number, body in enumerate(made, 1):
        body.id = number
    document = {"serviceName": "cdapdev", "policyVersion": 1, "serviceDef": service_definition(), "policies": made}
    decider = Decider.of_documents(Documents(msgspec.json.encode(document), b"{}"), settings)

    with Authorizer(decider) as asked:
        assert asked.check("cdap", (), "namespace.create", entity_id("namespace", ["default"])).allowed
        assert not asked.check("eve", (), "namespace.create", entity_id("namespace", ["default"])).allowed


def test_the_right_to_create_the_first_namespace_goes_with_the_profile_that_needs_it() -> None:
    by_admin = replace(MASTER, to_create_first=(frozenset(), frozenset({"admin"})))
    first = policies_of(by_admin)["namespace default of cdap: CDAP master user"]
    assert given(first) == [(["cdap"], [], ["admin"])]

    there = replaced(body_of(first), id=9)
    after = policies_of(MASTER, CurrentState(None, None, (there,)))[there.name]
    assert (after.change, given(after)) == (StepChange.UPDATE, [])


def test_without_names_there_are_no_policies() -> None:
    assert policies(DesiredState("cdapdev", "cdap")) == {}


def theirs(*items: PolicyItem) -> Policy:
    resources = {level: PolicyResource(values=[v]) for level, v in (("instance", "cdap"), ("namespace", "?*"))}
    return Policy(id=7, name="theirs", resources=resources, policy_items=list(items))


@pytest.mark.parametrize(
    ("items", "given_now"),
    [
        (
            [
                PolicyItem(
                    users=["cdap", "eve"], accesses=[PolicyItemAccess(type="read"), PolicyItemAccess(type="admin")]
                )
            ],
            False,
        ),
        ([PolicyItem(users=["cdap"], accesses=[PolicyItemAccess(type="write")])], True),
        ([PolicyItem(users=["cdap"], accesses=[PolicyItemAccess(type="read", is_allowed=False)])], True),
        ([], True),
    ],
)
def test_items_of_people_stay_and_what_they_lack_is_an_item_of_its_own(
    items: list[PolicyItem], given_now: bool
) -> None:
    step = policies(MASTER, CurrentState(None, None, (theirs(*items),)))["instance", "namespace"]
    assert step.change is (StepChange.UPDATE if given_now else StepChange.KEEP)
    before = replace(step, wanted=msgspec.to_builtins(theirs(*items)))
    assert given(step) == given(before) + [(["cdap"], [], ["read"])] * given_now
    assert body_of(step).policy_items[: len(items)] == items


def test_what_the_master_user_may_on_every_dataset_it_may_on_no_namespace() -> None:
    """A `*` at the end would give it WRITE, and where it may create ADMIN, on every namespace and on the instance."""
    wanted = DesiredState("cdapdev", "cdap", master_user="cdap", master_may_create=True)
    steps = [body_of(step) for levels, step in policies(wanted).items() if levels != ("instance",)]
    for number, body in enumerate(steps, 1):
        body.id = number
    document = {"serviceName": "cdapdev", "policyVersion": 1, "serviceDef": service_definition(), "policies": steps}
    engine = PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))

    def may(access: str, **levels: str) -> bool:
        return engine.evaluate(AccessRequest({"instance": "cdap", **levels}, access, "cdap")).allowed

    assert [a for a in ("read", "write", "admin", "execute") if may(a, namespace="ns1", dataset="kv")] == [
        "read",
        "write",
        "admin",
    ]
    assert [a for a in ("read", "write", "admin", "execute") if may(a, namespace="ns1")] == ["read"]
    assert not any(may(a) for a in ("read", "write", "admin", "execute"))
    assert not any(may(a, namespace="ns1", application="app") for a in ("read", "write", "admin", "execute"))
    assert may("execute", namespace="ns1", application="app", program="workflow.W")


def old_definition() -> dict[str, Any]:
    """As cdap-security-extn registered it: fewer resources, of which only the last of a path may end a policy."""
    ours = service_definition()
    kept = {"instance", "namespace", "application", "program", "dataset"}
    resources = [
        {**{key: value for key, value in row.items() if key != "isValidLeaf"}, "itemId": 70 + n, "mandatory": False}
        for n, row in enumerate(row for row in ours["resources"] if row["name"] in kept)
    ]
    return {**ours, "id": 11, "implClass": "their.Lookup", "resources": resources}


def test_the_definition_of_the_predecessor_grows_and_keeps_what_it_has() -> None:
    step = plan(DesiredState("cdapdev", "cdap"), CurrentState(old_definition(), None, ()))[0]

    assert step.change is StepChange.UPDATE
    assert "let policies end at instance, namespace, dataset, application, program" in str(step)
    assert step.wanted is not None
    grown = {row["name"]: row for row in step.wanted["resources"]}
    assert set(grown) == {row["name"] for row in service_definition()["resources"]}
    assert all(row["isValidLeaf"] for row in grown.values())
    for row in old_definition()["resources"]:
        assert grown[row["name"]] == {**row, "isValidLeaf": True}
    assert step.wanted["implClass"] == "their.Lookup"
    assert len({row["itemId"] for row in grown.values()}) == len(grown)


def test_a_definition_that_grew_needs_nothing_more() -> None:
    once = plan(DesiredState("cdapdev", "cdap"), CurrentState(old_definition(), None, ()))[0]
    assert plan(DesiredState("cdapdev", "cdap"), CurrentState(once.wanted, None, ()))[0].change is StepChange.KEEP
