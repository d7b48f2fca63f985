"""Our records in a real Elasticsearch and OpenSearch: fields, types, hostile texts, and records that are not taken."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.audit import BUILT_IN_SINKS, AuditSink
from ranger_cdap.audit.index_document import document
from ranger_cdap.audit.record import event_id
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.errors import AuditRefused, AuditSinkError
from tests.elasticsearch.search_node import INDEX, SearchNode
from tests.solr.test_access_page import TEXTS, record

pytestmark = pytest.mark.elasticsearch


def sink(node: SearchNode, index: str = INDEX, *more: str) -> AuditSink:
    urls = ",".join([*more, node.url])
    return BUILT_IN_SINKS["elasticsearch"](
        Settings(audit=AuditSettings(elasticsearch_url=urls, elasticsearch_index=index))
    )


@pytest.mark.smoke
def test_every_field_of_the_page_is_there(node: SearchNode) -> None:
    one = record()
    with closing(sink(node)) as found:
        found.write([one])
    (shown,) = node.page(id=one.id)
    assert shown == document(one)
    assert shown["zoneName"] == "east"
    assert shown["cluster"] == "prod"
    assert shown["policyVersion"] == 2


@pytest.mark.parametrize("field", sorted({*document(record())} - {"id"}))
def test_every_field_of_the_page_finds_the_record(node: SearchNode, field: str) -> None:
    one = record()
    with closing(sink(node)) as found:
        found.write([one])
    assert one.id in {shown["id"] for shown in node.page(**{field: document(one)[field]})}


def test_a_record_sent_again_is_there_once(node: SearchNode) -> None:
    one = record()
    with closing(sink(node)) as found:
        for _ in range(3):
            found.write([one, one])
    assert len(node.page(id=one.id)) == 1


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5))
def test_no_text_makes_or_changes_another_record(node: SearchNode, texts: list[tuple[str, str, str]]) -> None:
    """Names of users and entities are chosen by anyone."""
    run = event_id()
    sent = [record(repo=run, reqUser=user, resource=path, reason=why) for user, path, why in texts]
    with closing(sink(node)) as found:
        found.write(sent)
    assert {one["id"]: one for one in node.page(repo=run)} == {one.id: document(one) for one in sent}


@pytest.mark.parametrize("letter", ["n", "ü", "😀"])
def test_a_long_name_does_not_hide_its_access(node: SearchNode, letter: str) -> None:
    one = record(reqUser=letter * 100_000, resource=letter * 100_000, reason=letter * 100_000)
    with closing(sink(node)) as found:
        found.write([one])
    (shown,) = node.page(id=one.id)
    for field in ("reqUser", "resource"):
        assert shown[field].endswith(f"{letter}…")
        assert 32_760 < len(shown[field].encode()) <= 32_766


def test_records_that_are_rejected_are_named_and_the_others_are_there(node: SearchNode) -> None:
    run = event_id()
    good, bad = record(repo=run), record(repo=run, policy=1 << 63)
    with closing(sink(node)) as found, pytest.raises(AuditRefused, match="rejects audit records: HTTP 400") as caught:
        found.write([good, bad, record(repo=run)])
    assert caught.value.rejected == {bad.id}
    assert bad.id not in {shown["id"] for shown in node.page(repo=run)}
    assert len(node.page(repo=run)) == 2


def test_an_index_that_takes_nothing_now_is_tried_again(node: SearchNode) -> None:
    """Elasticsearch closes an index for writing when its disk is nearly full."""
    index, one = f"full-{event_id()}", record()
    node.make(index)
    with closing(sink(node, index)) as found:
        node.ask("PUT", f"/{index}/_settings", {"index.blocks.read_only_allow_delete": True})
        with pytest.raises(AuditSinkError) as caught:
            found.write([one])
        assert not isinstance(caught.value, AuditRefused)
        node.ask("PUT", f"/{index}/_settings", {"index.blocks.read_only_allow_delete": None})
        found.write([one])
    assert len(node.page(index, id=one.id)) == 1


def test_the_next_address_takes_over(node: SearchNode) -> None:
    one = record()
    with closing(sink(node, INDEX, "http://127.0.0.1:1")) as found:
        found.write([one])
    assert len(node.page(id=one.id)) == 1


def test_the_check_without_records_finds_the_index_and_makes_none(node: SearchNode) -> None:
    with closing(sink(node)) as found:
        found.write([])
    missing: dict[str, Any] = {"index": f"missing-{event_id()}"}
    with closing(sink(node, missing["index"])) as found, pytest.raises(AuditSinkError, match="HTTP 404"):
        found.write([])
