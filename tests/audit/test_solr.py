"""Audit records in Ranger's Solr: the fields its *Audit* page shows, and everything Solr can answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests
import responses

from ranger_cdap.audit import BUILT_IN_SINKS, AuditSink
from ranger_cdap.audit.index_document import document
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import AuditSettings, Secret, Settings
from ranger_cdap.errors import AuditRefused, AuditSinkError

URL = "https://solr.test:8983/solr/ranger_audits"
DONE = {"responseHeader": {"status": 0, "QTime": 3}}


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
        "result": 1,
        "policy": 7,
        "policy_version": 2,
        "agentHost": "host",
        "id": "e1",
    }
    return AuditRecord(**(given | more))


def sink_to(url: str, username: str = "ranger") -> AuditSink:
    given = AuditSettings(solr_url=url, solr_username=username, solr_password=Secret("Solr-Passw0rd"))
    return BUILT_IN_SINKS["solr"](Settings(audit=given))


def test_a_record_becomes_a_document_of_rangers_schema() -> None:
    assert document(record(cliIP="10.0.0.1", zone_name="east", cluster_name="prod")) == {
        "id": "e1",
        "access": "dataset.get",
        "enforcer": "ranger-acl",
        "agent": "cdap",
        "agentHost": "host",
        "repo": "cdapdev",
        "repoType": 105,
        "reqUser": "alice",
        "resource": "cdap/ns1/kv",
        "resType": "dataset",
        "cliIP": "10.0.0.1",
        "logType": "RangerAudit",
        "result": 1,
        "policy": 7,
        "policyVersion": 2,
        "action": "read",
        "evtTime": "2027-01-15T08:00:00.123Z",
        "zoneName": "east",
        "cluster": "prod",
        "event_count": 1,
        "event_dur_ms": 0,
    }


def test_a_record_without_a_policy_has_no_version_which_the_page_would_show_as_it_is() -> None:
    found = document(record(policy=-1, policy_version=-1))
    assert found["policy"] == -1
    assert "policyVersion" not in found


def test_what_was_only_reported_says_so() -> None:
    assert document(record(enforced=False, reason="alice needs READ"))["reason"] == "not enforced; alice needs READ"
    assert document(record(enforced=False))["reason"] == "not enforced"


@responses.activate
def test_records_are_sent_as_one_list_to_be_seen_soon() -> None:
    responses.post(f"{URL}/update", json=DONE)
    sink = sink_to(f"{URL}/")
    sink.write([record(), record(id="e2")])
    sink.close()

    (call,) = responses.calls
    assert [one["id"] for one in json.loads(call.request.body)] == ["e1", "e2"]
    assert int(call.request.params["commitWithin"]) <= 60_000
    assert call.request.headers["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("status", [401, 403])
@responses.activate
def test_a_rejected_account_is_named_with_its_settings(status: int) -> None:
    responses.post(f"{URL}/update", status=status, body="login")
    with pytest.raises(AuditSinkError, match=r"account `ranger` .*`audit\.solr_username` and `audit\.solr_password`"):
        sink_to(URL).write([record()])
    with pytest.raises(AuditSinkError, match="rejects requests without an account"):
        sink_to(URL, username="").write([record()])


@pytest.mark.parametrize(
    ("challenge", "kerberos_only"),
    [
        ("Negotiate", True),
        ('negotiate realm="solr"', True),
        ("Negotiate, Basic realm=x", False),
        ("Basic realm=x", False),
        ("", False),
    ],
)
@responses.activate
def test_a_server_that_accepts_kerberos_only_is_named(challenge: str, kerberos_only: bool) -> None:
    responses.post(f"{URL}/update", status=401, headers={"WWW-Authenticate": challenge})
    with pytest.raises(AuditSinkError) as caught:
        sink_to(URL).write([record()])
    assert (f"Solr at `{URL}` accepts Kerberos only" in str(caught.value)) is kerberos_only


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"status": 400, "json": {"error": {"msg": "unknown field 'x'"}}}, AuditRefused),
        ({"status": 401, "body": "login"}, AuditSinkError),
        ({"status": 503, "body": "away"}, AuditSinkError),
        ({"status": 302, "headers": {"Location": "http://elsewhere.test/"}}, AuditSinkError),
        ({"status": 200, "body": "<html>a login page</html>"}, AuditSinkError),
        ({"status": 200, "json": {"responseHeader": {"status": 500}}}, AuditSinkError),
        ({"status": 200, "json": []}, AuditSinkError),
        ({"body": requests.ConnectionError("refused")}, AuditSinkError),
        ({"body": requests.ReadTimeout()}, AuditSinkError),
    ],
)
@responses.activate
def test_whatever_is_no_success_is_an_error_without_a_secret(answer: dict[str, Any], error: type[Exception]) -> None:
    responses.post(f"{URL}/update", **answer)
    with pytest.raises(AuditSinkError) as caught:
        sink_to(URL).write([record()])
    assert type(caught.value) is error
    assert "Solr-Passw0rd" not in str(caught.value)
    assert len(responses.calls) == 1


OTHER = "https://other.test:8983/solr/ranger_audits"
AWAY: list[dict[str, Any]] = [
    {"status": 503, "body": "away"},
    {"status": 404, "body": "no such core"},
    {"status": 200, "body": "<html>a login page</html>"},
    {"body": requests.ConnectionError("refused")},
    {"body": requests.ReadTimeout()},
]


@pytest.mark.parametrize("answer", AWAY)
@responses.activate
def test_the_next_of_several_addresses_takes_over_and_stays_first(answer: dict[str, Any]) -> None:
    responses.post(f"{URL}/update", **answer)
    responses.post(f"{OTHER}/update", json=DONE)
    sink = sink_to(f"{URL}, {OTHER}")
    for number in range(3):
        sink.write([record(id=str(number))])
    asked = [
        (call.request.url.partition("/update")[0], json.loads(call.request.body)[0]["id"]) for call in responses.calls
    ]
    assert asked == [(URL, "0"), (OTHER, "0"), (OTHER, "1"), (OTHER, "2")]


@pytest.mark.parametrize("status", [400, 401, 403])
@responses.activate
def test_what_every_node_would_answer_is_not_asked_again(status: int) -> None:
    responses.post(f"{URL}/update", status=status)
    with pytest.raises(AuditSinkError):
        sink_to(f"{URL},{OTHER}").write([record()])
    assert len(responses.calls) == 1


@responses.activate
def test_where_no_address_works_each_is_named() -> None:
    responses.post(f"{URL}/update", status=503, body="away")
    responses.post(f"{OTHER}/update", body=requests.ConnectionError("refused"))
    with pytest.raises(AuditSinkError, match=rf"`{URL}` returned HTTP 503: away; Solr at `{OTHER}` cannot be reached"):
        sink_to(f"{URL},{OTHER}").write([record()])
