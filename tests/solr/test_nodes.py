"""A SolrCloud by the addresses of its nodes: who gets the records, and nodes that go and come back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.audit import BUILT_IN_SINKS, AuditSink
from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.record import AuditRecord, event_id
from ranger_cdap.audit.spool import Spool
from ranger_cdap.config import AuditSettings, Settings
from tests.service.serve_process import until
from tests.solr.solr_cloud import COLLECTION, SolrCloud
from tests.solr.test_access_page import record

pytestmark = pytest.mark.solr
PATIENCE = 60.0


class Confirmed:
    """A sink that counts the records which Solr confirmed."""

    def __init__(self, found: AuditSink) -> None:
        self.number = 0
        self._sink = found
        self.close = found.close

    def write(self, records: Sequence[AuditRecord]) -> None:
        self._sink.write(records)
        self.number += len(records)

    def effective_access(self, number: int) -> None:
        """Wait until so many records are confirmed."""
        until(lambda: self.number == number, within=PATIENCE)


def sink(*nodes: str, collection: str = COLLECTION) -> AuditSink:
    return BUILT_IN_SINKS["solr"](
        Settings(audit=AuditSettings(solr_url=", ".join(f"{node}/{collection}" for node in nodes)))
    )


def test_a_node_without_a_replica_takes_records_too(solr: SolrCloud) -> None:
    solr.create("alone", replicas=1, node=1)
    sent = [record() for _ in solr.nodes]
    for one, node in zip(sent, solr.nodes, strict=True):
        with closing(sink(node, collection="alone")) as found:
            found.write([one])
    assert [len(solr.page(collection="alone", id=one.id)) for one in sent] == [1, 1]


def test_an_alias_is_a_collection(solr: SolrCloud) -> None:
    solr.alias("audits", COLLECTION)
    one = record()
    with closing(sink(*solr.nodes, collection="audits")) as found:
        found.write([one])
    assert len(solr.page(id=one.id)) == 1


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=3))
def test_whichever_node_is_down_each_record_is_there_once(solr: SolrCloud, stopped: list[int]) -> None:
    user = event_id()
    sent = [record(reqUser=user) for _ in range(3 * len(stopped))]
    with TemporaryDirectory() as directory:
        spool = Spool(Path(directory), "solr", max_bytes=1 << 20)
        confirmed = Confirmed(sink(*solr.nodes))
        delivery = Delivery("solr", confirmed, capacity=100, spool=spool, first_pause=0.05)
        for place, one in enumerate(sent):
            if place % 3 == 1:
                # Solr itself may lose what a node confirms while it stops.
                confirmed.reach(place)
                solr.stop(stopped[place // 3])
            elif place % 3 == 2:
                solr.start(stopped[place // 3])
            delivery.write([one])
        confirmed.reach(len(sent))
        delivery.close()
    # A node that was just started shows what it missed once its replica has recovered.
    wanted = sorted(one.id for one in sent)
    until(lambda: sorted(shown["id"] for shown in solr.page(reqUser=user)) == wanted, within=PATIENCE)
