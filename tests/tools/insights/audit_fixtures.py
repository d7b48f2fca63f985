"""Audit records for tests: as our own sink and Ranger's plugins on HDFS have them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ranger_cdap.audit.verify import Place
from ranger_cdap.ranger_model.audit_event import AuditEvent
from ranger_cdap.tools.insights.facts import AuditFacts, Decide, Period, Redecided, read_facts

SERVICE: Final = "cdapdev"
NOON: Final = 1_795_000_000_000
"""2026-11-18 at 11:06:40 UTC."""
ALWAYS: Final = Period(SERVICE, 0, 10**15)


def record(**fields: Any) -> dict[str, Any]:
    """A record with these fields; alice reads a dataset."""
    return {
        "repo": SERVICE,
        "reqUser": "alice",
        "evtTime": NOON,
        "access": "dataset.get",
        "resource": "cdap/ns1/purchases",
        "resType": "dataset",
        "action": "read",
        "result": 1,
        "policy": 7,
        "agent": "cdap",
        "enforcer": "ranger-acl",
        **fields,
    }


def line(**fields: Any) -> bytes:
    return json.dumps(record(**fields)).encode()


HDFS: Final = (
    b'{"repoType":100,"repo":"cdapdev","reqUser":"bob","evtTime":"2026-11-18 11:06:40.250","access":"read",'
    b'"resource":"cdap/ns1/purchases","resType":"dataset","action":"read","result":0,"agent":"cdap","policy":-1,'
    b'"enforcer":"ranger-acl","cliIP":"10.1.2.3","agentHost":"node2","logType":"RangerAudit","id":"d3fd4eb9-2",'
    b'"seq_num":5,"event_count":3,"event_dur_ms":120000,"tags":[],"cluster_name":"c416","policy_version":4}'
)
"""A line as Ranger's plugins write it to HDFS: two times in one summary, and fields that decide nothing."""


def undecided(_: AuditEvent) -> Redecided:
    """No decision, where a test has no policies."""
    return Redecided(None)


def facts_of(
    lines: Iterable[bytes], *, period: Period = ALWAYS, decide: Decide = undecided, file: str = "audit.jsonl"
) -> AuditFacts:
    """The facts of the lines of one file."""
    return read_facts(((Place(file, number), one) for number, one in enumerate(lines, 1)), period, decide)


def written(records: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)
