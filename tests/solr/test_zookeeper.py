"""A SolrCloud found by its ZooKeeper: who gets the records, nodes that go and come back, and a ZooKeeper that lies."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kazoo.client import KazooClient

from ranger_cdap.audit import BUILT_IN_SINKS, AuditSink
from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.record import event_id
from ranger_cdap.audit.solr_cloud import CloudNodes
from ranger_cdap.audit.spool import Spool
from ranger_cdap.config import AuditSettings
from ranger_cdap.errors import AuditSinkError
from tests.certificates import ELSEWHERE, Authority
from tests.service.serve_process import until
from tests.solr.solr_cloud import COLLECTION, SolrCloud
from tests.solr.test_access_page import record

pytestmark = [
    pytest.mark.solr,
    # Kazoo leaves the socket of a failed handshake to the garbage collector.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning"),
]
PATIENCE = 60.0
SOON = 2.0


def sink(zookeepers: str, **more: Any) -> AuditSink:
    return BUILT_IN_SINKS["solr"](AuditSettings(solr_zookeepers=zookeepers, **more))


@contextmanager
def told(solr: SolrCloud, path: str, nodes: Mapping[str, Any]) -> Iterator[str]:
    """The address of a ZooKeeper that holds these nodes only, as JSON unless they are None."""
    client = KazooClient(hosts=solr.zookeeper.partition("/")[0])
    client.start()
    try:
        for name, value in nodes.items():
            content = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
            client.create(f"/{path}/{name}", content, makepath=True)
        yield f"{solr.zookeeper.partition('/')[0]}/{path}"
    finally:
        client.delete(f"/{path}", recursive=True)
        client.stop()
        client.close()


def test_records_reach_the_collection_that_zookeeper_names(solr: SolrCloud) -> None:
    one = record()
    with closing(sink(solr.zookeeper)) as found:
        found.write([one])
    assert [shown["id"] for shown in solr.page(id=one.id)] == [one.id]


def test_zookeeper_wins_over_the_address(solr: SolrCloud) -> None:
    one = record()
    with closing(sink(solr.zookeeper, solr_url="https://nowhere.test/solr/x")) as found:
        found.write([one])
    assert len(solr.page(id=one.id)) == 1


def test_a_node_without_a_replica_takes_records_after_those_with_one(solr: SolrCloud) -> None:
    solr.create("alone", replicas=1, node=1)
    first, second = CloudNodes(solr.zookeeper, "alone").addresses()
    client = KazooClient(hosts=solr.zookeeper)
    client.start()
    state = json.loads(client.get("/collections/alone/state.json")[0])
    client.stop()
    client.close()
    (replica,) = state["alone"]["shards"]["shard1"]["replicas"].values()
    assert first == f"{replica['base_url']}/alone"
    one = record()
    with closing(BUILT_IN_SINKS["solr"](AuditSettings(solr_url=second))) as other:
        other.write([one])
    assert len(solr.page(collection="alone", id=one.id)) == 1


def test_an_alias_is_a_collection(solr: SolrCloud) -> None:
    solr.alias("audits", COLLECTION)
    one = record()
    with closing(sink(solr.zookeeper, solr_collection="audits")) as found:
        found.write([one])
    assert len(solr.page(id=one.id)) == 1


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=3))
def test_whichever_node_is_down_each_record_is_there_once(solr: SolrCloud, stopped: list[int]) -> None:
    user = event_id()
    sent = [record(reqUser=user) for _ in range(3 * len(stopped))]
    with TemporaryDirectory() as directory:
        spool = Spool(Path(directory), "solr", max_bytes=1 << 20)
        delivery = Delivery("solr", sink(solr.zookeeper), capacity=100, spool=spool, first_pause=0.05)
        for place, one in enumerate(sent):
            if place % 3 == 1:
                # Solr itself may lose what a node confirms while it stops.
                _delivered(delivery, place)
                solr.stop(stopped[place // 3])
            elif place % 3 == 2:
                solr.start(stopped[place // 3])
            delivery.write([one])
        _delivered(delivery, len(sent))
        delivery.close()
    # A node that was just started shows what it missed once its replica has recovered.
    wanted = sorted(one.id for one in sent)
    until(lambda: sorted(shown["id"] for shown in solr.page(reqUser=user)) == wanted, within=PATIENCE)


def _delivered(delivery: Delivery, number: int) -> None:
    """Wait until so many records are confirmed."""
    until(lambda: delivery.counts.delivered == number, within=PATIENCE)


def test_what_was_known_is_used_while_zookeeper_does_not_answer(solr: SolrCloud) -> None:
    with _proxied(solr, ssl_context=None) as port:
        nodes = CloudNodes(f"127.0.0.1:{port}/solr", COLLECTION, answer_seconds=SOON)
        known = nodes.addresses()
    nodes.doubt()
    assert nodes.addresses() == known


STATE = {"ranger_audits": {"shards": {"shard1": {"state": "active", "replicas": {}}}}}
LIES: dict[str, tuple[dict[str, Any], str]] = {
    "no collection": ({"live_nodes/127.0.0.1:1_solr": None}, "has no collection `ranger_audits`"),
    "no node": ({"collections/ranger_audits/state.json": STATE, "live_nodes": None}, "no live node"),
    "plain http elsewhere": (
        {"collections/ranger_audits/state.json": STATE, "live_nodes/10.0.0.1:8983_solr": None},
        "names Solr at `http://10.0.0.1:8983/solr/ranger_audits`, which others can read",
    ),
    "a user in the address": (
        {"collections/ranger_audits/state.json": STATE, "live_nodes/u@evil.test:1_solr": None},
        "none of Solr's",
    ),
    "a query in the address": (
        {"collections/ranger_audits/state.json": STATE, "live_nodes/127.0.0.1:1_solr%3Fx": None},
        "must be an address like",
    ),
    "another scheme": (
        {
            "collections/ranger_audits/state.json": STATE,
            "clusterprops.json": {"urlScheme": "ftp"},
            "live_nodes/127.0.0.1:1_solr": None,
        },
        "none of Solr's",
    ),
    "no JSON": (
        {"collections/ranger_audits/state.json": b"\xff{", "live_nodes/127.0.0.1:1_solr": None},
        "`state.json` is not what Solr writes there",
    ),
    "other JSON": (
        {"collections/ranger_audits/state.json": [1], "live_nodes/127.0.0.1:1_solr": None},
        "`state.json` is not what Solr writes there",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_zookeeper_that_lies_gets_no_record_sent(solr: SolrCloud, lie: str) -> None:
    nodes, said = LIES[lie]
    with (
        told(solr, "lies", nodes) as zookeepers,
        closing(sink(zookeepers)) as found,
        pytest.raises(AuditSinkError) as caught,
    ):
        found.write([record()])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_permitted_plain_http_is_asked(solr: SolrCloud) -> None:
    nodes, _ = LIES["plain http elsewhere"]
    with told(solr, "plain", nodes) as zookeepers:
        found = CloudNodes(zookeepers, COLLECTION, allow_plain_http=True).addresses()
    assert found == ("http://10.0.0.1:8983/solr/ranger_audits",)


def test_a_cluster_with_tls_is_asked_by_https(solr: SolrCloud) -> None:
    nodes = LIES["plain http elsewhere"][0] | {"clusterprops.json": {"urlScheme": "https"}}
    with told(solr, "tls", nodes) as zookeepers:
        assert CloudNodes(zookeepers, COLLECTION).addresses() == ("https://10.0.0.1:8983/solr/ranger_audits",)


# --- TLS to ZooKeeper, which a proxy in front of it ends --------------------------------------------------------------


@contextmanager
def _proxied(solr: SolrCloud, ssl_context: ssl.SSLContext | None) -> Iterator[int]:
    """The port of a proxy to ZooKeeper, which ends TLS if told to."""
    host, port = solr.zookeeper.partition("/")[0].split(":")
    listener = socket.create_server(("127.0.0.1", 0))
    sockets: list[socket.socket] = [listener]

    def copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65_536):
                target.sendall(piece)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                accepted, _ = listener.accept()
                with suppress(OSError):
                    client = ssl_context.wrap_socket(accepted, server_side=True) if ssl_context else accepted
                    server = socket.create_connection((host, int(port)))
                    sockets.extend((client, server))
                    for pair in ((client, server), (server, client)):
                        threading.Thread(target=copy, args=pair, daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        for one in sockets:
            one.close()
        thread.join()


@pytest.mark.parametrize(("trusted", "works"), [("same", True), ("other", False), ("elsewhere", False)])
def test_zookeeper_is_believed_over_tls_only_with_a_trusted_certificate(
    solr: SolrCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: str, works: bool
) -> None:
    authorities = {"same": Authority("ours"), "other": Authority("another")}
    if trusted == "elsewhere":
        trusted, signed = "same", authorities["same"].server(ELSEWHERE)
    else:
        signed = authorities["same"].server()
    certificate, key = signed.put(tmp_path / "c.pem", tmp_path / "k.pem")
    (tmp_path / "ca.pem").write_bytes(authorities[trusted].pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    # Loopback would need no TLS.
    monkeypatch.setattr("ranger_cdap.audit.solr_cloud.leaves_this_machine", lambda _: True)
    with _proxied(solr, context) as port:
        trust = str(tmp_path / "ca.pem")
        nodes = CloudNodes(f"127.0.0.1:{port}/solr", COLLECTION, ca_file=trust, answer_seconds=SOON)
        if works:
            assert len(nodes.addresses()) == 2
        else:
            with pytest.raises(AuditSinkError, match=r"does not answer in time.*audit\.solr_allow_plain_zookeeper"):
                nodes.addresses()


def test_a_zookeeper_elsewhere_is_not_asked_without_tls(solr: SolrCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranger_cdap.audit.solr_cloud.leaves_this_machine", lambda _: True)
    with pytest.raises(AuditSinkError, match="does not answer"):
        CloudNodes(solr.zookeeper, COLLECTION, answer_seconds=SOON).addresses()
    assert len(CloudNodes(solr.zookeeper, COLLECTION, allow_plain_zookeeper=True).addresses()) == 2
