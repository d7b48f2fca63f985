"""Ranger's own JSON form: what this project reads of an event of Ranger's plugins is what it has written."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given

from ranger_cdap.audit import AuditRecord
from ranger_cdap.audit.ranger_event import ranger_event
from ranger_cdap.ranger_model.audit_event import AuditEvent, read_audit_line
from ranger_cdap.tools.shadow.predecessor_audit import read_predecessor_line
from ranger_cdap.tools.shadow.shadow_replay import RecordedAnswer
from tests.audit.samples import RECORDS, numbered

# `@JsonProperty` of AuthzAuditEvent, Ranger 2.9.0, in its order.
OF_JAVA = (
    "repoType repo reqUser evtTime access resource resType action result agent policy reason enforcer sess cliType "
    "cliIP reqData agentHost logType id seq_num event_count event_dur_ms tags datasets projects additional_info "
    "cluster_name zone_name policy_version"
)


@given(RECORDS)
def test_what_is_written_is_read_back(record: AuditRecord) -> None:
    line = ranger_event(record)
    assert b"\n" not in line
    assert b"\r" not in line
    assert read_audit_line(line.decode()) == AuditEvent(
        service=record.repo,
        user=record.reqUser,
        time=record.evtTime,
        access=record.action,
        operation=record.access,
        resource=record.resource,
        type=record.resType,
        allowed=record.result == 1,
        policy=record.policy,
        reason=record.reason_in_ranger,
        enforcer=record.enforcer,
        agent=record.agent,
        client_ip=record.cliIP,
        count=record.event_count,
    )


@given(RECORDS)
def test_the_fields_are_those_of_java_in_its_order(record: AuditRecord) -> None:
    assert " ".join(json.loads(ranger_event(record))) == OF_JAVA


def test_an_event_reads_as_one_of_java() -> None:
    """The text of `evtTime` has no zone, and what is not known is null."""
    record = msgspec.structs.replace(numbered(1_764_104_645_678), zone_name="east", policy_version=3)
    found = json.loads(ranger_event(record))
    assert found["evtTime"] == "2025-11-25 21:04:05.678"
    assert (found["zone_name"], found["cluster_name"], found["policy_version"]) == ("east", None, 3)
    assert json.loads(ranger_event(numbered(1)))["policy_version"] is None


def test_what_was_only_reported_says_so() -> None:
    record = msgspec.structs.replace(numbered(1), enforced=False, reason="no policy")
    assert json.loads(ranger_event(record))["reason"] == "not enforced; no policy"


def test_shadow_replay_takes_such_a_line_for_an_access() -> None:
    record = msgspec.structs.replace(numbered(5), access="read")
    found = read_predecessor_line(ranger_event(record), "cdapdev", "cdap")
    assert isinstance(found, RecordedAnswer)
    assert (found.user, found.allowed, found.time) == ("user5", True, 5)
