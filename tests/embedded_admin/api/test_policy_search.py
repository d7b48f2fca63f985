"""Searches for policies by resource: request and answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ranger_cdap.embedded_admin import EmbeddedAdmin
from tests.embedded_admin.caller import PASSWORD, V2, Caller, policy, prepared

PLUGINS = "/service/plugins/policies"
RESOURCES: dict[str, dict[str, Any]] = {
    "instance": {"instance": ["cdap"]},
    "ns1": {"instance": ["cdap"], "namespace": ["ns1"]},
    "ns*": {"instance": ["cdap"], "namespace": ["ns*"]},
    "two": {"instance": ["cdap"], "namespace": ["m1", "m2"]},
    "every": {"instance": ["*"], "namespace": ["*"]},
    "dataset": {"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["d"]},
    "datasets": {"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["*"]},
    "program": {"instance": ["cdap"], "namespace": ["ns1"], "application": ["a"], "program": ["workflow.p"]},
}


@pytest.fixture(scope="module")
def filled() -> Iterator[Caller]:
    """A policy on each of `RESOURCES`, a disabled one, and a zone with one on `fin1`."""
    with EmbeddedAdmin(admin_password=PASSWORD) as server:
        caller = prepared(Caller(server.url))
        for name, resource in RESOURCES.items():
            make(caller, name, resource)
        make(caller, "disabled", {"instance": ["cdap"], "namespace": ["off"]}, isEnabled=False)
        inside = {"instance": ["cdap"], "namespace": ["fin*"]}
        zone = {"name": "z", "services": {"cdapdev": {"resources": [inside]}}}
        assert caller("POST", f"{V2}/zones", zone)[0] == 200
        make(caller, "fin1", {"instance": ["cdap"], "namespace": ["fin1"]}, zoneName="z")
        yield caller


def make(caller: Caller, name: str, resource: dict[str, list[str]], **more: Any) -> None:
    levels = {level: {"values": values} for level, values in resource.items()}
    assert caller("POST", f"{V2}/policy", policy(name) | {"resources": levels, **more})[0] == 200


def query(resource: str) -> str:
    """`cdap/ns1/dataset=d` as parameters."""
    instance, *rest = resource.split("/")
    parts = {"instance": instance} if instance else {}
    for part in rest:
        level, _, value = part.rpartition("=")
        parts[level or "namespace"] = value
    return "&".join(f"resource:{level}={value}" for level, value in parts.items())


def names(answer: Any) -> set[str]:
    return {row["name"] for row in answer}


FOR_RESOURCE = [
    ("cdap", {*RESOURCES} | {"every"}),
    ("cdap/ns1", {"instance", "ns1", "ns*", "every", "dataset", "datasets", "program"}),
    ("cdap/m2", {"instance", "two", "every"}),
    ("cdap/ns1/dataset=d", {"instance", "ns1", "ns*", "every", "dataset", "datasets"}),
    ("cdap/ns1/dataset=e", {"instance", "ns1", "ns*", "every", "datasets"}),
    ("cdap/off", {"instance", "every"}),
    ("cdap/fin1", {"fin1"}),
    ("other/ns1", {"every"}),
    ("/ns1", set()),
]


@pytest.mark.parametrize(("resource", "listed"), FOR_RESOURCE, ids=[resource for resource, _ in FOR_RESOURCE])
def test_for_resource_lists_what_is_about_the_resource(filled: Caller, resource: str, listed: set[str]) -> None:
    for prefix in (f"{V2}/policies", PLUGINS):
        for service in ("", "&serviceName=cdapdev"):
            status, answer = filled("GET", f"{prefix}/cdap/for-resource?{query(resource)}{service}")
            assert (status, names(answer)) == (200, listed)


REFUSED = [
    ("cdap/for-resource", "No resource specified"),
    ("cdap/for-resource?resource:=x", "resource-names:[] are not part of any valid resource hierarchy"),
    ("hive/for-resource?resource:table=t", "Invalid service-type:[hive]"),
    ("cdap/for-resource?resource:table=t", "resource-names:[table] are not part of any valid resource hierarchy"),
    ("cdap/for-resource?resource:instance=i&serviceName=tag", "Invalid service-name:[tag] or service-type:[cdap]"),
    ("cdap/for-resource?resource:instance=i&serviceName=x", "Invalid service-name:[x] or service-type:[cdap]"),
]


@pytest.mark.parametrize(("path", "said"), REFUSED, ids=[path for path, _ in REFUSED])
def test_for_resource_refuses_what_it_cannot_search(filled: Caller, path: str, said: str) -> None:
    status, answer = filled("GET", f"{V2}/policies/{path}")
    assert (status, answer["statusCode"], answer["messageList"][0]["name"]) == (400, 1, "INVALID_INPUT_DATA")
    assert said in answer["msgDesc"]


def test_for_resource_needs_the_name_where_a_type_has_several_services(cdapdev: Caller) -> None:
    assert cdapdev("POST", f"{V2}/service", {"name": "second", "type": "cdap"})[0] == 200
    path = f"{V2}/policies/cdap/for-resource?resource:instance=cdap"
    status, answer = cdapdev("GET", path)
    assert (status, "Either 0 or more than 1 services found" in answer["msgDesc"]) == (400, True)
    assert cdapdev("GET", f"{path}&serviceName=second") == (200, [])


def test_for_resource_shows_others_what_they_may_see(filled: Caller) -> None:
    path = f"{V2}/policies/cdap/for-resource?{query('cdap/m2')}"
    assert filled.as_user("bob")("GET", path) == (200, [])
    assert names(filled.as_user("sync")("GET", path)[1]) == {"instance", "two", "every"}


SCOPED = [
    # resource, scope: policies found; without a scope, the resource is asked and the policies are the patterns
    ("cdap/ns1", None, {"ns1", "ns*", "every", "dataset", "datasets", "program"}),
    ("cdap/ns1", "self", {"ns1", "dataset", "datasets", "program"}),
    ("cdap/ns1", "SELF", {"ns1", "dataset", "datasets", "program"}),
    ("cdap/ns1", "ancestor", {"dataset", "datasets", "program"}),
    ("cdap/ns1", "self_or_ancestor", {"ns1", "dataset", "datasets", "program"}),
    ("cdap/ns1", "nosuch", {"ns1", "dataset", "datasets", "program"}),
    ("cdap/m2", "self", {"two"}),
    ("cdap/ns*", "self", {"ns1", "ns*", "dataset", "datasets", "program"}),
    ("cdap/ns1/dataset=d", "self", {"dataset"}),
    ("cdap/ns1/dataset=*", "self", {"ns1", "dataset", "datasets"}),
    ("/table=t", "self", set()),
]


@pytest.mark.parametrize(("resource", "scope", "listed"), SCOPED, ids=[f"{case[0]} {case[1]}" for case in SCOPED])
def test_the_match_scope_decides_which_policies_a_search_finds(
    filled: Caller, resource: str, scope: str | None, listed: set[str]
) -> None:
    scoped = "" if scope is None else f"&resourceMatchScope={scope}"
    for path in (f"{V2}/service/cdapdev/policy?", f"{V2}/policy?serviceName=cdapdev&"):
        status, answer = filled("GET", f"{path}{query(resource)}{scoped}")
        assert (status, names(answer)) == (200, listed)
