"""Settings of a SolrCloud, before anything is asked; what its ZooKeeper says is tested with a real one (tests/solr)."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.audit import BUILT_IN_SINKS
from ranger_cdap.config import AuditSettings
from ranger_cdap.config.address import leaves_this_machine
from ranger_cdap.errors import ConfigError


@pytest.mark.parametrize(
    "servers",
    [
        "",
        "zk1:2181,",
        ",zk1",
        "http://zk1:2181",
        "zk1:2181 zk2:2181",
        "user@zk1",
        "zk1:2181/solr,zk2",
        "zk1\nzk2",
        "[::g]",
    ],
)
def test_what_is_no_list_of_servers_is_rejected_with_an_example(servers: str) -> None:
    given_ = AuditSettings(solr_zookeepers=servers or ",")
    with pytest.raises(ConfigError, match=r"`audit\.solr_zookeepers` must be servers like `zk1:2181,zk2:2181/solr`"):
        BUILT_IN_SINKS["solr"](given_)


@pytest.mark.parametrize("collection", ["", "a/b", "../x", "a b", "a?b", "a\n"])
def test_what_is_no_name_of_a_collection_is_rejected(collection: str) -> None:
    with pytest.raises(ConfigError, match=r"`audit\.solr_collection` must be the name"):
        BUILT_IN_SINKS["solr"](AuditSettings(solr_zookeepers="zk1:2181", solr_collection=collection))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kazoo.client", None)
    with pytest.raises(ConfigError, match=r"needs the library `kazoo`: pip install 'ranger-cdap\[zookeeper\]'"):
        BUILT_IN_SINKS["solr"](AuditSettings(solr_zookeepers="zk1:2181"))


HERE = st.sampled_from(["127.0.0.1", "127.9.9.9", "[::1]"])
ELSEWHERE = st.sampled_from(["localhost", "zk1", "10.0.0.1", "127.1", "[::ffff:127.0.0.1]", "127.0.0.1.evil.test", "0"])


@given(
    st.lists(HERE), st.lists(ELSEWHERE), st.booleans(), st.sampled_from(["", "/", "/solr", "/127.0.0.1"]), st.randoms()
)
def test_one_server_elsewhere_is_enough_to_leave_this_machine(
    here: list[str], elsewhere: list[str], port: bool, path: str, random: st.DataObject
) -> None:
    servers = [*here, *elsewhere]
    random.shuffle(servers)  # type: ignore[attr-defined]
    text = ",".join(f"{one}:2181" if port else one for one in servers) + path
    assert leaves_this_machine(text) == bool(elsewhere)
