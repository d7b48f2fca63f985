"""Audit records that differ by their numbers."""

from __future__ import annotations

from ranger_cdap.audit import AuditRecord


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
