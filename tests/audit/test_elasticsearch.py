"""Audit records by the bulk API: everything a server can answer, as a whole and for each record."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import requests
import responses
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.audit import BUILT_IN_SINKS, AuditSink
from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import AuditSettings, Secret, Settings
from ranger_cdap.errors import AuditRefused, AuditSinkError, ConfigError
from tests.audit.samples import numbered

URL = "https://es.test:9200"
OTHER = "https://other.test:9200"
BULK = "/ranger_audits/_bulk"
PATIENCE = 30.0
SOON = 0.0005


def sink_to(url: str = URL, username: str = "ranger", index: str = "ranger_audits") -> AuditSink:
    given_ = AuditSettings(
        elasticsearch_url=url,
        elasticsearch_index=index,
        elasticsearch_username=username,
        elasticsearch_password=Secret("Es-Passw0rd"),
    )
    return BUILT_IN_SINKS["elasticsearch"](Settings(audit=given_))


def answer(*statuses: int) -> dict[str, Any]:
    """What the bulk API says of records 0, 1, 2 and so on."""
    error = {"type": "t", "reason": "why\nnot"}
    items = [
        {"index": {"_id": str(number), "status": status, **({"error": error} if status >= 300 else {})}}
        for number, status in enumerate(statuses)
    ]
    return {"took": 1, "errors": any(status >= 300 for status in statuses), "items": items}


@responses.activate
def test_each_record_is_a_document_under_its_id() -> None:
    responses.post(URL + BULK, json=answer(201, 200))
    sink_to().write([numbered(0), numbered(1)])
    (call,) = responses.calls
    lines = [json.loads(line) for line in call.request.body.decode().splitlines()]
    assert lines[0::2] == [{"index": {"_id": "0"}}, {"index": {"_id": "1"}}]
    assert [line["reqUser"] for line in lines[1::2]] == ["user0", "user1"]
    assert call.request.headers["Authorization"].startswith("Basic ")


# statuses of the records: the error, and the ids that are lost (None: all are sent again)
ANSWERS = [
    ((200, 400), {"1"}),
    ((400, 400), {"0", "1"}),
    ((413, 201), {"0"}),
    ((201, 429), None),
    ((400, 429), None),
    ((503, 201), None),
    ((403, 201), None),
    ((404, 404), None),
]


@pytest.mark.parametrize(("statuses", "lost"), ANSWERS)
@responses.activate
def test_what_is_rejected_is_told_from_what_is_taken_later(statuses: Sequence[int], lost: set[str] | None) -> None:
    responses.post(URL + BULK, json=answer(*statuses))
    with pytest.raises(AuditSinkError) as caught:
        sink_to().write([numbered(number) for number in range(len(statuses))])
    assert "\n" not in str(caught.value)
    assert (caught.value.rejected if isinstance(caught.value, AuditRefused) else None) == lost


@pytest.mark.parametrize(
    "given_",
    [
        {"status": 401, "body": "login"},
        {"status": 403, "body": "no"},
        {"status": 429, "body": "busy"},
        {"status": 503, "body": "away"},
        {"status": 302, "headers": {"Location": "http://elsewhere.test/"}},
        {"status": 200, "body": "<html>a login page</html>"},
        {"status": 200, "json": []},
        {"status": 200, "json": {"errors": False, "items": []}},
        {"status": 200, "json": answer(201, 201)},
        {"status": 200, "json": {"errors": False, "items": [{"index": {"_id": "other", "status": 201}}]}},
        {"body": requests.ConnectionError("refused")},
        {"body": requests.ReadTimeout()},
    ],
)
@responses.activate
def test_whatever_is_no_success_is_an_error_without_a_secret(given_: dict[str, Any]) -> None:
    responses.post(URL + BULK, **given_)
    with pytest.raises(AuditSinkError) as caught:
        sink_to().write([numbered(0)])
    assert type(caught.value) is AuditSinkError
    assert "Es-Passw0rd" not in str(caught.value)
    assert len(responses.calls) == 1


@responses.activate
def test_the_next_of_several_addresses_takes_over_and_stays_first() -> None:
    responses.post(URL + BULK, status=503, body="away")
    responses.post(OTHER + BULK, json=answer(201))
    sink = sink_to(f"{URL}, {OTHER}")
    for _ in range(3):
        sink.write([numbered(0)])
    assert [call.request.url.removesuffix(BULK) for call in responses.calls] == [URL, OTHER, OTHER, OTHER]


@responses.activate
def test_a_batch_that_is_too_large_is_sent_one_by_one() -> None:
    responses.post(URL + BULK, status=413)
    with pytest.raises(AuditRefused) as caught:
        sink_to().write([numbered(0), numbered(1)])
    assert caught.value.rejected == frozenset()


@pytest.mark.parametrize(
    "index", ["", "A", "a b", "a/b", "../x", "_all", "-a", "+a", ".", "..", ".x", "a,b", "*", "a?", "a\n"]
)
def test_what_is_no_name_of_an_index_is_rejected(index: str) -> None:
    with pytest.raises(ConfigError, match=r"`audit\.elasticsearch_index` must be the name of an index"):
        sink_to(index=index)


def test_without_an_address_the_setting_is_named() -> None:
    with pytest.raises(ConfigError, match=r"needs the setting `audit\.elasticsearch_url`"):
        sink_to("")
    with pytest.raises(ConfigError, match=r"add `es\.test` to `network\.plain_hosts`"):
        sink_to("http://es.test:9200")


# --- whatever it answers, each record is stored once ------------------------------------------------------------------

STATUSES = st.sampled_from([201, 201, 201, 429, 503])
WHOLE = st.sampled_from([200, 200, 503, 429])


class ScriptedServer:
    """The bulk API with documents by id, which answers by a script, and after it as it should."""

    def __init__(self, script: list[tuple[int, list[int]]], poison: frozenset[str]) -> None:
        self._script = script
        self._poison = poison
        self.documents: dict[str, Any] = {}
        self.changed = threading.Condition()

    @property
    def is_done(self) -> bool:
        return not self._script

    def __call__(self, request: Any) -> tuple[int, dict[str, str], str]:
        lines = [json.loads(line) for line in request.body.splitlines()]
        with self.changed:
            whole, statuses = self._script.pop(0) if self._script else (200, [])
            items = []
            for number, (head, body) in enumerate(zip(lines[0::2], lines[1::2], strict=True)):
                name = head["index"]["_id"]
                status = 400 if name in self._poison else statuses[number] if number < len(statuses) else 201
                if status == 201:
                    self.documents[name] = body
                items.append({"index": {"_id": name, "status": status}})
            self.changed.notify_all()
        answered = {"errors": any(one["index"]["status"] != 201 for one in items), "items": items}
        return whole, {}, json.dumps(answered)

    def has(self, name: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: name in self.documents, PATIENCE)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(WHOLE, st.lists(STATUSES, max_size=6)), max_size=6),
    st.integers(1, 12),
    st.sets(st.integers(0, 12)),
)
def test_each_record_is_stored_or_rejected_once(
    script: list[tuple[int, list[int]]], count: int, poison: set[int]
) -> None:
    server = ScriptedServer(script, frozenset(map(str, poison)))
    with responses.RequestsMock() as mock:
        mock.add_callback(responses.POST, URL + BULK, callback=server)
        delivery = Delivery("elasticsearch", sink_to(), capacity=1_000, first_pause=SOON)
        sent: list[AuditRecord] = [numbered(number) for number in range(count)]
        delivery.write(sent)
        # One more that is stored without a fault comes after all others.
        for extra in range(1_000, 2_000):
            done = server.is_done
            sent.append(numbered(extra))
            delivery.write(sent[-1:])
            server.has(sent[-1].id)
            if done:
                break
        delivery.close(timeout=PATIENCE)
    lost = {one.id for one in sent} & set(map(str, poison))
    assert server.documents.keys() == {one.id for one in sent} - lost
    assert delivery.lost == len(lost)
