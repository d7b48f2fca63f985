"""A request that has everything, and the outcome of a script for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ranger_cdap.engine import ConditionContext, ConditionOutcome, ContextTag
from ranger_cdap.expressions.script_condition import read_condition
from ranger_cdap.ranger_model.download import UserStore

STORE: Final = UserStore(
    user_attr_mapping={"alice": {"dept": "eng", "level": "7"}}, group_attr_mapping={"g1": {"site": "A"}}
)
PII: Final = ContextTag("PII", "SELF", (("level", "3"),))
FULL: Final = ConditionContext(
    client_ip="10.0.0.1",
    access_time=1_700_000_000_000,
    action="query",
    cluster_name="c1",
    cluster_type="k",
    context={"project": "p"},
    tags=frozenset({"PII"}),
    resource_tags=(PII,),
    user="alice",
    groups=frozenset({"g1", "g2"}),
    roles=frozenset({"ops"}),
    access_type="read",
    resource={"instance": "cdap", "namespace": "ns1"},
    owner="bob",
    attributes=STORE,
)


def outcome(script: str, context: ConditionContext = FULL, **changes: Any) -> ConditionOutcome:
    return read_condition([script], {})(replace(context, **changes))
