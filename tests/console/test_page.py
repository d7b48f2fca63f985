"""The page at `/`: what it says of the policies, what its form answers, and that no name on it is markup."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.console.links import Links
from ranger_cdap.console.views import confirmed
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.tag import ServiceTags
from tests.authz.fixtures import Json, policy
from tests.console.fixtures import ConsoleWorld, Page, serving

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus='alert(1)",
    "</textarea></title><svg onload=alert(1)>",
    "{{ 7*7 }}{% raw %}",
    "&lt;b&gt;&#x3c;",
    "javascript:alert(1)",
]
BROKEN = policy(7, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["fly"])


def look(world: ConsoleWorld, path: str = "/", **typed: str) -> Page:
    answer = world.ask("delegate", "GET", f"{path}?{urlencode(typed)}" if typed else path)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Page(answer)


def engine_of(policies: list[Json], **document: Any) -> PolicyEngine:
    whole = {"serviceName": "cdapdev", "policyVersion": 12, "serviceDef": servicedef.service_definition()}
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode({**whole, "policies": policies, **document})))


@pytest.fixture
def changing() -> Iterator[ConsoleWorld]:
    with serving([]) as world:
        yield world


# --- the state ----------------------------------------------------------------------------------------------------


def test_it_shows_state_and_mode(world: ConsoleWorld) -> None:
    assert "cdapdev fresh" in look(world).text
    page = look(world, "/status")
    assert page.status == 200
    assert "cdapdev fresh" in page.text
    assert "everything is enforced" in page.text
    assert "Master user cdap" in page.text


STATES = [
    (PolicyState.NOT_READY, "Ranger Admin was never reached", "not ready"),
    (PolicyState.STALE, "Ranger Admin last confirmed them at noon", "stale"),
    (PolicyState.GONE, "the service is not in Ranger Admin any more", "gone"),
    (PolicyState.DISABLED, "the service is switched off", "disabled"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "reason", "shown"), STATES)
def test_it_says_why_policies_are_not_what_they_should_be(
    changing: ConsoleWorld, state: PolicyState, reason: str, shown: str
) -> None:
    contact = 1_700_000_000.0 if state is PolicyState.STALE else None
    changing.becomes(Snapshot(None, state, reason, contact_at=contact))
    page = look(changing, "/status")
    assert page.status == 200
    assert reason in page.text
    assert ("s ago (2023-11-14 22:13:20 UTC)" if contact else "Confirmed by Ranger Admin never") in page.text
    assert shown in look(changing).text


@pytest.mark.parametrize(("age", "told"), [(301, "301 s ago"), (-3, "0 s ago")])
def test_age(age: float, told: str) -> None:
    assert confirmed(1.7e9, 1.7e9 + age) == f"{told} (2023-11-14 22:13:20 UTC)"


# --- problems and links -------------------------------------------------------------------------------------------


def test_a_problem_names_its_policy_and_leads_to_it_in_rangers_ui(changing: ConsoleWorld) -> None:
    changing.becomes(Snapshot(engine_of([BROKEN], serviceId=3), PolicyState.FRESH, ""))
    page = look(changing, "/status")
    assert "unknown-access-type" in page.text
    assert "problems: 1" in look(changing).text
    assert "policy 7 “policy 7”" in page.text
    assert "https://ranger.example.org/index.html#/service/3/policies/7/edit" in page.links


LINKS = [
    # the address of Ranger's web UI, serviceId; the address of policy 7
    ("https://ui/ranger", 3, "https://ui/ranger/index.html#/service/3/policies/7/edit"),
    ("javascript:alert(1)//", 3, ""),
    ("http://ranger:6080", None, ""),
]


@pytest.mark.parametrize(("ui", "service_id", "address"), LINKS)
def test_the_address_of_a_policy(ui: str, service_id: int | None, address: str) -> None:
    assert Links(ui, engine_of([BROKEN], serviceId=service_id)).policy(7) == address


def test_a_policy_about_tags_stands_in_the_tag_service() -> None:
    tags = {
        "serviceName": "tags",
        "serviceId": 9,
        "policies": [{"id": 8, "resources": {"tag": {"values": ["PII"]}}}],
        "serviceDef": {"name": "tag", "resources": [{"name": "tag"}], "accessTypes": [{"name": "cdap:read"}]},
    }
    document = {"serviceName": "cdapdev", "serviceId": 3, "policies": [BROKEN], "tagPolicies": tags}
    document["serviceDef"] = servicedef.service_definition()
    policies = decode_service_policies(msgspec.json.encode(document))
    engine = PolicyEngine.build(policies, tags=ServiceTags(service_name="tags"))
    link = Links("http://ui", engine).policy
    assert link(7) == "http://ui/index.html#/service/3/policies/7/edit"
    assert link(8) == "http://ui/index.html#/service/9/policies/8/edit"


def test_of_very_many_problems_the_first_are_shown_and_the_others_counted(changing: ConsoleWorld) -> None:
    broken = [policy(n, {"namespace": f"ns{n}"}, ["alice"], ["fly"]) for n in range(1, 131)]
    changing.becomes(Snapshot(engine_of(broken, serviceId=3), PolicyState.FRESH, ""))
    page = look(changing, "/status")
    assert "Problems 130" in page.text
    assert "and 30 more" in page.text


# --- the form -----------------------------------------------------------------------------------------------------

KV = "dataset:ns1.kv"
ANSWERS = [
    # user, operation, entity; verdict and what else is said
    ("alice", "dataset.get", KV, "Allowed: alice dataset.get on dataset:ns1.kv", 'policy 2 "policy 2" (version 3)'),
    ("bob", "dataset.get", KV, "Allowed: bob dataset.get on dataset:ns1.kv", "READ"),
    ("eve", "dataset.get", KV, "Denied: eve dataset.get on dataset:ns1.kv", "no policy allows it"),
]


def test_a_denial_by_a_policy_is_not_shown_as_a_lack_of_a_grant() -> None:
    denies = [{"users": ["eve"], "accesses": [{"type": "read"}]}]
    policies = [policy(7, {"namespace": "ns1", "dataset": "kv"}, ["eve"], ["read"], denyPolicyItems=denies)]
    with serving(policies) as world:
        page = look(world, user="eve", groups="", operation="dataset.get", entity=KV)
    denied = 'policy 7 "policy 7" (version 3) denies READ; granting READ would not help'
    assert f"eve needs READ on dataset:ns1.kv: {denied}" in page.text
    assert page.text.count(denied) == 2
    assert 'policy 7 "policy 7", deny item 1' in page.text
    change = 'To have it allowed revoke READ from eve in policy 7 "policy 7" (version 3): deny item 1 (user eve: read)'
    assert change in page.text


@pytest.mark.parametrize(("user", "operation", "entity", "verdict", "told"), ANSWERS)
def test_the_form_answers_with_what_was_tried(
    world: ConsoleWorld, user: str, operation: str, entity: str, verdict: str, told: str
) -> None:
    world.memory.records.clear()
    page = look(world, user=user, groups="", operation=operation, entity=entity)
    assert page.status == 200
    assert verdict in page.text
    assert told in page.text
    assert "S003-dataset-get: Getting a dataset needs READ on the dataset." in page.text
    assert {name: fields["value"] for name, fields in page.inputs().items()} == {
        "user": user,
        "groups": "",
        "operation": operation,
        "entity": entity,
    }
    assert world.memory.records == [], "asking is not audited"


def test_groups_that_are_typed_count() -> None:
    item = {"groups": ["staff"], "accesses": [{"type": "read"}]}
    resources = [{"namespace": "ns1"}, {"namespace": "ns1", "dataset": "kv"}]
    policies = [policy(n, resource, [], [], policyItems=[item]) for n, resource in enumerate(resources, 1)]
    with serving(policies) as world:
        asked = {"user": "eve", "operation": "dataset.get", "entity": KV}
        assert "Denied" in look(world, **asked, groups="").text
        assert "Allowed" in look(world, **asked, groups="others , staff").text


WRONG = [
    # what is typed, the field that is wrong, what is said of it
    ({"operation": "dataset.get", "entity": KV}, "user", "enter a user name"),
    ({"user": " ", "operation": "dataset.get", "entity": KV}, "user", "enter a user name"),
    ({"user": "alice", "entity": KV}, "operation", "choose an operation"),
    ({"user": "alice", "operation": "dataset.gett", "entity": KV}, "operation", "did you mean `dataset.get`?"),
    ({"user": "alice", "operation": "dataset.get"}, "entity", "enter an entity"),
    ({"user": "alice", "operation": "dataset.get", "entity": "kv"}, "entity", "write it as type:name"),
    ({"user": "alice", "operation": "dataset.get", "entity": "dataset:ns1.*"}, "entity", "is not a name that CDAP"),
    ({"user": "alice", "operation": "dataset.get", "entity": "namespace:ns1"}, "entity", "dataset"),
    ({"user": "a" * 1_001, "operation": "dataset.get", "entity": KV}, "user", "longer than 1000 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "field", "told"), WRONG)
def test_what_is_wrong_stands_beside_its_field(
    world: ConsoleWorld, typed: dict[str, str], field: str, told: str
) -> None:
    page = look(world, **typed)
    assert page.status == 400
    wrong = {name for name, attributes in page.inputs().items() if attributes.get("aria-invalid")}
    assert wrong == {field}
    assert f"{field}-problem" in str(page.inputs()[field]["aria-describedby"])
    assert told in page.text
    assert page.inputs()[field]["value"] == typed.get(field, "").strip(), "what was typed is still there"


def test_an_empty_form_says_what_each_field_needs(world: ConsoleWorld) -> None:
    page = look(world, user="", groups="", operation="", entity="")
    assert {name for name, a in page.inputs().items() if a.get("aria-invalid")} == {"user", "operation", "entity"}


def test_without_policies_the_form_says_that_nothing_can_be_decided(changing: ConsoleWorld) -> None:
    changing.becomes(Snapshot(None, PolicyState.EXPIRED, "Ranger Admin last confirmed the policies yesterday"))
    page = look(changing, user="alice", operation="dataset.get", entity=KV)
    assert "Not ready: alice dataset.get" in page.text


# --- markup -------------------------------------------------------------------------------------------------------


def elements(page: Page) -> list[str]:
    return [tag for tag, _ in page.elements]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", ["user", "groups", "operation", "entity"])
def test_nothing_typed_becomes_markup(world: ConsoleWorld, field: str, text: str) -> None:
    harmless = {"user": "alice", "groups": "g", "operation": "dataset.get", "entity": KV}
    page = look(world, **harmless | {field: text})
    usual = look(world, **harmless | {field: "unheard-of"})
    assert elements(page) == elements(usual)
    assert page.inputs()[field]["value"] == text
    assert set(page.inputs()[field]) == set(usual.inputs()[field])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_a_user_of_any_name_is_shown_by_that_name(world: ConsoleWorld, name: str) -> None:
    page = look(world, user=f"u{name}u", groups="", operation="dataset.get", entity=KV)
    assert elements(page) == elements(look(world, user="nobody", groups="", operation="dataset.get", entity=KV))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_in_ranger_becomes_markup(changing: ConsoleWorld, text: str) -> None:
    def shown(name: str) -> Page:
        broken = {**policy(7, {"namespace": "ns1", "dataset": "kv"}, ["alice"], [name]), "name": name}
        engine = engine_of([broken], serviceId=3)
        snapshot = Snapshot(engine, PolicyState.STALE, f"a gateway said {name}", cache_problem=f"`/{name}` is full")
        changing.becomes(snapshot)
        return look(changing, "/status")

    page, usual = shown(text), shown("harmless")
    assert elements(page) == elements(usual)
    assert page.text.count(" ".join(text.split())) >= 3
    assert page.links.keys() == usual.links.keys()


def test_the_page_has_neither_script_nor_foreign_address(world: ConsoleWorld) -> None:
    page = look(world)
    assert "script" not in elements(page)
    assert not [a for _, a in page.elements if any(name.startswith("on") or name == "style" for name in a)]
    loaded = [a.get("src") or a.get("href") for tag, a in page.elements if tag in ("link", "img", "iframe")]
    assert loaded == ["/style.css"]


# --- people who cannot see it as others do -------------------------------------------------------------------------


def test_each_input_has_a_label_and_headings_go_down_one_by_one(world: ConsoleWorld) -> None:
    page = look(world, user="eve", groups="", operation="dataset.get", entity=KV)
    labels = {a["for"] for tag, a in page.elements if tag == "label"}
    assert labels == {a["id"] for a in page.inputs().values()}
    levels = [int(tag[1]) for tag in elements(page) if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert ("html", {"lang": "en"}) in page.elements
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))


# --- who may see it -----------------------------------------------------------------------------------------------


def test_a_browser_is_asked_to_sign_in(world: ConsoleWorld) -> None:
    answer = world.ask(None, "GET", "/")
    assert (answer.status, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert answer.headers["www-authenticate"].startswith("Basic ")
    assert "delegate" in Page(answer).text


@pytest.mark.parametrize("who", ["enforce", "audit", "grant", "evaluate"])
@pytest.mark.parametrize("path", ["/", "/style.css", "/?user=alice&operation=dataset.get&entity=dataset:ns1.kv"])
def test_it_is_for_delegates_only(world: ConsoleWorld, who: str, path: str) -> None:
    answer = world.ask(who, "GET", path)
    assert answer.status == 403
    assert b"alice" not in answer.body


def test_a_browser_keeps_no_copy_and_shows_it_in_no_frame(world: ConsoleWorld) -> None:
    headers = world.ask("delegate", "GET", "/").headers
    assert headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "script-src" not in headers["content-security-policy"]
    assert world.ask("delegate", "GET", "/style.css").headers["content-type"] == "text/css; charset=utf-8"
