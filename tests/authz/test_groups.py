"""Whose groups count: those passed, of Ranger's user store and of hooks; and what happens if a look-up fails."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.errors import GroupLookupFailed
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from tests.authz.fixtures import authorizer, policy

KV = entity_id("dataset", ["ns1", "kv"])
READ = [{"type": "read"}]
BASE = [policy(1, {"namespace": "ns1"}, ["alice", "bob"], ["read"])]


def on_kv(**items: Any) -> list[dict[str, Any]]:
    return [*BASE, policy(2, {"namespace": "ns1", "dataset": "kv"}, [], [], **items)]


FOR_STAFF = on_kv(policyItems=[{"groups": ["staff"], "accesses": READ}])
NOT_FOR_STAFF = on_kv(
    policyItems=[{"users": ["alice"], "accesses": READ}], denyPolicyItems=[{"groups": ["staff"], "accesses": READ}]
)


class Groups:
    def __init__(self, says: Callable[[str], Any]) -> None:
        self.says = says

    @hookimpl
    def ranger_cdap_groups(self, user: str) -> Collection[str] | None:
        found: Collection[str] | None = self.says(user)
        return found


def allowed(
    policies: list[dict[str, Any]],
    *,
    passed: Collection[str] = (),
    stored: Collection[str] = (),
    hook: Callable[[str], Any] | None = None,
) -> bool:
    plugins = plugin_manager(entry_points=False)
    if hook is not None:
        plugins.register(Groups(hook))
    asked = authorizer(policies, plugins=plugins, groups_of=lambda user: frozenset(stored if user == "alice" else ()))
    return asked.check("alice", passed, "dataset.get", KV).allowed


def fails(_: str) -> Any:
    raise OSError("directory away")


@pytest.mark.parametrize(
    "source",
    [{"passed": ["staff"]}, {"stored": ["staff"]}, {"hook": lambda user: {"staff"} if user == "alice" else ()}],
)
def test_groups_come_from_everywhere(source: dict[str, Any]) -> None:
    assert allowed(FOR_STAFF, **source)
    assert not allowed(NOT_FOR_STAFF, **source)
    assert not allowed(FOR_STAFF)
    assert allowed(NOT_FOR_STAFF)


def unknown(_: str) -> Any:
    raise GroupLookupFailed("no directory")


@pytest.mark.parametrize(
    "hook",
    [fails, unknown, lambda _: "staff", lambda _: [None], lambda _: 5],
    ids=["raises", "unknown", "a text", "no name", "a number"],
)
def test_a_look_up_that_fails_never_allows_more(hook: Callable[[str], Any]) -> None:
    assert not allowed(NOT_FOR_STAFF, hook=hook)
    assert not allowed(FOR_STAFF, hook=hook)
    assert allowed(FOR_STAFF, passed=["staff"], hook=hook)
    plain = on_kv(policyItems=[{"users": ["alice"], "accesses": READ}])
    assert allowed(plain, hook=hook)


def test_a_plugin_that_knows_nobody_changes_nothing() -> None:
    assert allowed(NOT_FOR_STAFF, hook=lambda _: None) is allowed(NOT_FOR_STAFF)


def test_the_groups_of_who_asks_are_not_those_of_whom_cdap_impersonates() -> None:
    """`svc` runs the program; that alice is in a group gives him nothing."""
    policies = [
        policy(1, {"namespace": "ns1"}, ["alice"], ["read"]),
        policy(2, {"namespace": "ns1", "application": "app", "program": "*"}, ["alice"], ["execute"]),
        policy(
            3,
            {"namespace": "ns1", "dataset": "kv"},
            [],
            [],
            policyItems=[{"groups": ["staff"], "accesses": READ}],
        ),
    ]
    context = Context({"read_datasets": (KV,)}, impersonated="svc")
    program = entity_id("program", ["ns1", "app", "workflow.W"])
    asked = authorizer(policies, groups_of=lambda user: frozenset())

    answer = asked.check("alice", ["staff"], "program.start", program, context=context)

    assert not answer.allowed
    assert [(m.person, str(m.entity)) for m in answer.missing] == [("svc", "dataset:ns1.kv")]
