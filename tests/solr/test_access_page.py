"""Our records in a real Solr, searched as Ranger's *Access* page does: names, types, filters, order, hostile texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.audit import BUILT_IN_SINKS, AuditSink
from ranger_cdap.audit.record import AuditRecord, event_id
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.errors import AuditRefused
from tests.solr.solr_cloud import COLLECTION, SolrCloud

pytestmark = pytest.mark.solr

SHOWN: dict[str, Any] = {
    "access": "dataset.get",
    "action": "read",
    "agent": "cdap",
    "agentHost": "host-1",
    "cliIP": "10.0.0.1",
    "cluster": "prod",
    "enforcer": "ranger-acl",
    "event_count": 1,
    "event_dur_ms": 0,
    "evtTime": "2027-01-15T08:00:00.123Z",
    "logType": "RangerAudit",
    "policy": 7,
    "policyVersion": 2,
    "reason": "alice needs READ",
    "repo": "cdapdev",
    "repoType": 105,
    "reqUser": "alice",
    "resType": "dataset",
    "resource": "cdap/ns1/kv",
    "result": 0,
    "seq_num": 0,
    "zoneName": "east",
}
"""What the page shows of `record()`; `seq_num` is the schema's default."""


def record(**more: Any) -> AuditRecord:
    given: dict[str, Any] = {
        "repo": "cdapdev",
        "repoType": 105,
        "reqUser": "alice",
        "evtTime": 1_800_000_000_123,
        "access": "dataset.get",
        "resource": "cdap/ns1/kv",
        "resType": "dataset",
        "action": "read",
        "result": 0,
        "reason": "alice needs READ",
        "policy": 7,
        "policy_version": 2,
        "agentHost": "host-1",
        "cliIP": "10.0.0.1",
        "cluster_name": "prod",
        "zone_name": "east",
        "id": event_id(),
    }
    return AuditRecord(**(given | more))


def sink(solr: SolrCloud) -> AuditSink:
    return BUILT_IN_SINKS["solr"](Settings(audit=AuditSettings(solr_url=f"{solr.nodes[0]}/{COLLECTION}")))


@pytest.mark.smoke
def test_every_column_of_the_page_has_its_value_and_type(solr: SolrCloud) -> None:
    one = record()
    sink(solr).write([one])
    (shown,) = solr.page(id=one.id)
    del shown["_version_"]
    assert shown == SHOWN | {"id": one.id}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *((name, value) for name, value in SHOWN.items() if name not in ("evtTime", "reason", "agentHost", "resource")),
        ("reason", "needs"),
        ("agentHost", "*ost*"),
        ("resource", "*NS1/k*"),
        ("reqUser", "ALICE"),
    ],
)
def test_every_filter_of_the_page_finds_the_record(solr: SolrCloud, column: str, value: Any) -> None:
    one = record()
    sink(solr).write([one])
    assert one.id in {shown["id"] for shown in solr.page(**{column: value})}


def test_a_filter_of_the_page_leaves_out_others(solr: SolrCloud) -> None:
    mine, other = record(reqUser=event_id()), record(reqUser=event_id())
    sink(solr).write([mine, other])
    assert [shown["id"] for shown in solr.page(reqUser=mine.reqUser)] == [mine.id]


def test_the_latest_comes_first_and_a_record_without_a_policy_has_no_version(solr: SolrCloud) -> None:
    user = event_id()
    times = (1_800_000_000_000, 1_800_000_000_002, 1_800_000_000_001)
    sink(solr).write([record(reqUser=user, evtTime=time, policy=-1, policy_version=-1) for time in times])
    shown = solr.page(reqUser=user)
    assert [one["evtTime"] for one in shown] == [
        "2027-01-15T08:00:00.002Z",
        "2027-01-15T08:00:00.001Z",
        "2027-01-15T08:00:00Z",
    ]
    assert [(one["policy"], "policyVersion" in one) for one in shown] == [(-1, False)] * 3


def test_a_record_sent_again_is_there_once(solr: SolrCloud) -> None:
    one = record()
    for _ in range(3):
        sink(solr).write([one, one])
    assert len(solr.page(id=one.id)) == 1


def test_a_record_that_solr_rejects_is_told_from_a_solr_that_fails(solr: SolrCloud) -> None:
    with pytest.raises(AuditRefused, match=r"Solr at .* rejects audit records"):
        sink(solr).write([record(policy=1 << 63)])


TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('"\\\r\n\0</doc>{}[],:*?&|\u2028\u202e')),
    min_size=1,
    max_size=40,
).filter(str.strip)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5))
def test_no_text_makes_or_changes_another_record(solr: SolrCloud, texts: list[tuple[str, str, str]]) -> None:
    """Each record comes back as it was, alone under its id: names of users and entities are chosen by anyone."""
    run = event_id()
    sent = [record(repo=run, reqUser=user, resource=path, reason=why) for user, path, why in texts]
    sink(solr).write(sent)
    shown = {one["id"]: (one["reqUser"], one["resource"], one["reason"]) for one in solr.page(repo=run)}
    assert shown == {one.id: (one.reqUser, one.resource, one.reason) for one in sent}


def test_a_name_of_any_length_is_stored(solr: SolrCloud) -> None:
    long = "n" * 100_000
    one = record(reqUser=long, resource=long, reason=long)
    sink(solr).write([one])
    (shown,) = solr.page(id=one.id)
    assert (shown["reqUser"], shown["resource"], shown["reason"]) == (long, long, long)
