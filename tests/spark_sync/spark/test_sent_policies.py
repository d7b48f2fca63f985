"""What goes to executors: policies without users, compiled once a process, by the same plugins as the driver's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import PluginError
from ranger_cdap.ranger.refresh.documents import Documents, compile_set
from spark_sync.spark import sent_policies
from spark_sync.spark.sent_policies import SentPolicies, compiled
from tests.authz.fixtures import document, policy
from tests.spark_sync.installed_conditions import INSTALLED

CONTENT = Documents(msgspec.json.encode(document([policy(1, {"namespace": "ns1"}, ["alice"], ["read"])])), b"{}")


def test_the_user_store_stays_at_home() -> None:
    assert SentPolicies.of("cdapdev", msgspec.structs.replace(CONTENT, users=b"{}"), INSTALLED).documents.users is None


def test_a_process_compiles_them_once_and_keeps_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(given: Documents, service: str, options: EngineOptions) -> Any:
        made.append(given)
        return compile_set(given, service, options)

    monkeypatch.setattr(sent_policies, "compile_set", counted)
    roles = msgspec.json.encode({"serviceName": "cdapdev", "roleVersion": 2})
    first = msgspec.structs.replace(CONTENT, tags=b"{}")
    second = msgspec.structs.replace(first, roles=roles)
    for content in (first, first, second, second, first):
        compiled(SentPolicies.of("cdapdev", content, INSTALLED))
    assert [one.roles for one in made] == [first.roles, second.roles, first.roles]


def test_executors_have_the_plugins_of_the_driver_or_fail() -> None:
    sent = SentPolicies.of("cdapdev", CONTENT, INSTALLED)
    compiled(sent)  # with the right ones they are compiled already
    with pytest.raises(PluginError, match=r"differ in their plugins: conditions `org\.example\.Moon`"):
        compiled(replace(sent, conditions=INSTALLED | {"org.example.Moon"}))
