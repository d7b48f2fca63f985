"""Audit records that differ by their numbers, and any there can be."""

from __future__ import annotations

from hypothesis import strategies as st

from ranger_cdap.audit import AuditRecord
from ranger_cdap.engine import NO_POLICY
from ranger_cdap.ranger_model.audit_event import LATEST


def numbered(number: int) -> AuditRecord:
    return AuditRecord(
        repo="cdapdev",
        reqUser=f"user{number}",
        evtTime=number,
        access="dataset.get",
        resource="cdap/ns1/kv",
        resType="dataset",
        action="read",
        result=1,
        policy=7,
        id=str(number),
    )


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = TEXTS.filter(bool)

RECORDS = st.builds(
    AuditRecord,
    repo=TEXTS,
    reqUser=TEXTS,
    evtTime=st.integers(0, LATEST),
    access=NAMES,
    resource=TEXTS,
    resType=NAMES.filter(lambda text: not text.startswith("@")),
    action=NAMES,
    result=st.integers(0, 1),
    policy=st.integers(NO_POLICY, 2**63 - 1),
    policy_version=st.integers(NO_POLICY, 2**63 - 1),
    reason=TEXTS,
    cliIP=TEXTS,
    zone_name=TEXTS,
    cluster_name=TEXTS,
    repoType=st.integers(0, 2**31 - 1),
    enforced=st.booleans(),
    agent=TEXTS,
    agentHost=TEXTS,
)
"""Records as they can be made: their texts have a form in UTF-8."""
