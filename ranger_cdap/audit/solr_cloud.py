"""Nodes of a SolrCloud, looked up in ZooKeeper as Solr's own client does.

Law: an address of ZooKeeper gets records and the password only if it is one that `audit.solr_url` might name: https, or
plain http with the same permission. ZooKeeper's word is believed only over TLS with a verified certificate, on this
machine, or by permission: anyone who can change it chooses where records go.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import unquote

import msgspec

from ranger_cdap.config import Address, AuditSettings
from ranger_cdap.config.address import SOLR, AddressSetting, addresses, checked_address, is_exposed, leaves_this_machine
from ranger_cdap.errors import AuditSinkError, ConfigError

_T = TypeVar("_T")

_ANSWER_SECONDS: Final = 10.0
_BELIEVED_SECONDS: Final = 300.0
_LARGEST_NODE: Final = 1 << 24
_ACTIVE: Final = "active"
_HOST: Final = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
_SERVERS: Final = re.compile(rf"{_HOST}(?::[0-9]{{1,5}})?(?:,{_HOST}(?::[0-9]{{1,5}})?)*(?:/[A-Za-z0-9._/-]*)?")
_COLLECTION: Final = re.compile(r"[A-Za-z0-9._-]+")
_NODE: Final = re.compile(rf"(?P<server>{_HOST}:[0-9]{{1,5}})_(?P<context>[A-Za-z0-9._%/-]*)")
_NAMED: Final = AddressSetting("audit.solr_zookeepers", "https://solr.example:8983/solr/ranger_audits")


class Nodes(Protocol):
    """Addresses of a collection, the best first."""

    def addresses(self) -> Sequence[Address]:
        """Return at least one address; raise `AuditSinkError` if none is known."""

    def doubt(self) -> None:
        """Take note that the first of those not yet doubted has failed."""


class FixedNodes:
    """Addresses of a setting; the one that worked last comes first."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = tuple(addresses)

    def addresses(self) -> Sequence[Address]:
        """Return the addresses of the setting."""
        return self._addresses

    def doubt(self) -> None:
        """Put the first one last."""
        self._addresses = (*self._addresses[1:], self._addresses[0])


class _Replica(msgspec.Struct):
    node_name: str = ""
    state: str = ""
    leader: str | bool = False


class _Shard(msgspec.Struct):
    state: str = _ACTIVE
    replicas: dict[str, _Replica] = msgspec.field(default_factory=dict)


class _Collection(msgspec.Struct):
    shards: dict[str, _Shard] = msgspec.field(default_factory=dict)


class _Aliases(msgspec.Struct):
    collection: dict[str, str] = msgspec.field(default_factory=dict)


class _Properties(msgspec.Struct):
    urlScheme: str = "http"  # noqa: N815 Solr's name


class CloudNodes:
    """Nodes of a collection that ZooKeeper names, the leaders of its shards first; every live node takes records.

    They are looked up when they are first needed, after a failure, and every five minutes, by a connection that is
    closed again. While ZooKeeper does not answer, those known are used.

    Raises:
        ConfigError: a setting has another form, or the library is not installed.
    """

    def __init__(
        self,
        zookeepers: str,
        collection: str,
        *,
        ca_file: str | None = None,
        allow_plain_http: bool = False,
        allow_plain_zookeeper: bool = False,
        answer_seconds: float = _ANSWER_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not _SERVERS.fullmatch(zookeepers):
            raise ConfigError(
                f"`audit.solr_zookeepers` must be servers like `zk1:2181,zk2:2181/solr`, not {zookeepers[:100]!a}"
            )
        if not _COLLECTION.fullmatch(collection):
            raise ConfigError(f"`audit.solr_collection` must be the name of a collection, not {collection[:100]!a}")
        _library()  # a missing one ends the start, not the delivery of records
        self._zookeepers = zookeepers
        self._collection = collection
        self._ca_file = ca_file
        self._allow_plain_http = allow_plain_http
        self._is_plain = allow_plain_zookeeper or not leaves_this_machine(zookeepers)
        self._answer_seconds = answer_seconds
        self._clock = clock
        self._known: tuple[Address, ...] = ()
        self._believed_until = 0.0

    def addresses(self) -> Sequence[Address]:
        """Return the addresses of the live nodes.

        Raises:
            AuditSinkError: ZooKeeper does not answer and none are known, or there is no such collection or no node.
        """
        if not self._known or self._clock() >= self._believed_until:
            try:
                self._known = tuple(self._looked_up())
            except _UnavailableError as e:
                if not self._known:
                    raise AuditSinkError(str(e)) from None
            self._believed_until = self._clock() + _BELIEVED_SECONDS
        return self._known

    def doubt(self) -> None:
        """Look them up again before the next use."""
        self._believed_until = 0.0

    def _looked_up(self) -> list[Address]:
        with self._connected() as client:
            live = sorted(self._children(client, "/live_nodes"))
            properties = _decoded(_Properties, self._read(client, "/clusterprops.json"), "clusterprops.json")
            state = self._read(client, f"/collections/{self._collection}/state.json")
            shards: Mapping[str, _Shard] = {}
            if state is not None:
                found = _decoded(dict[str, _Collection], state, "state.json").get(self._collection)
                shards = found.shards if found is not None else {}
            else:
                aliases = _decoded(_Aliases, self._read(client, "/aliases.json"), "aliases.json")
                if self._collection not in aliases.collection:
                    raise AuditSinkError(
                        f"ZooKeeper `{self._zookeepers}` has no collection `{self._collection}` of Solr; check "
                        "`audit.solr_collection` and the path at the end of `audit.solr_zookeepers`"
                    )
        if not live:
            raise AuditSinkError(f"ZooKeeper `{self._zookeepers}` has no live node of Solr")
        return [self._address(node, properties.urlScheme) for node in _by_preference(live, shards)]

    def _address(self, node: str, scheme: str) -> Address:
        found = _NODE.fullmatch(node)
        if found is None or scheme not in ("http", "https"):
            raise AuditSinkError(f"ZooKeeper `{self._zookeepers}` names a node {node[:100]!a}, which is none of Solr's")
        context = unquote(found["context"])
        url = "/".join(filter(None, (f"{scheme}://{found['server']}", context, self._collection)))
        if is_exposed(url) and not self._allow_plain_http:
            raise AuditSinkError(
                f"ZooKeeper names Solr at `{url}`, which others can read and change in transit: enable TLS in Solr "
                "(`urlScheme` = https), or set `audit.solr_allow_plain_http = true` if no one else has access"
            )
        try:
            return checked_address(url, _NAMED, allow_plain_http=self._allow_plain_http)
        except ConfigError as e:
            raise AuditSinkError(str(e)) from None

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        kazoo = _library()
        silent = logging.Logger("kazoo")  # of its own: what fails is said once, by the sink
        silent.addHandler(logging.NullHandler())
        secure = {} if self._is_plain else {"use_ssl": True, "check_hostname": True, "ca": self._ca_file}
        client = kazoo.client.KazooClient(
            hosts=self._zookeepers, timeout=self._answer_seconds, read_only=True, logger=silent, **secure
        )
        try:
            client.start(timeout=self._answer_seconds)
            yield client
        except (kazoo.exceptions.KazooException, kazoo.handlers.threading.KazooTimeoutError, OSError) as e:
            hint = "" if self._is_plain else "; without TLS there, `audit.solr_allow_plain_zookeeper = true` permits it"
            late = isinstance(e, TimeoutError | kazoo.handlers.threading.KazooTimeoutError)
            how = "in time" if late else f"({type(e).__name__})"
            raise _UnavailableError(f"ZooKeeper `{self._zookeepers}` does not answer {how}{hint}") from None
        finally:
            client.stop()
            client.close()

    def _children(self, client: Any, path: str) -> list[str]:
        try:
            found: list[str] = client.get_children(path)
        except _library().exceptions.NoNodeError:
            return []
        return found

    def _read(self, client: Any, path: str) -> bytes | None:
        try:
            content: bytes = client.get(path)[0]
        except _library().exceptions.NoNodeError:
            return None
        if len(content) > _LARGEST_NODE:
            raise AuditSinkError(f"ZooKeeper's `{path}` has more than {_LARGEST_NODE} bytes and is not read")
        return content


def nodes_of(settings: AuditSettings) -> Nodes:
    """Return the nodes that the settings name; `audit.solr_zookeepers` wins over `audit.solr_url`, as in Ranger.

    Raises:
        ConfigError: an address cannot be used.
    """
    if settings.solr_zookeepers:
        return CloudNodes(
            settings.solr_zookeepers,
            settings.solr_collection,
            ca_file=settings.solr_ca_file,
            allow_plain_http=settings.solr_allow_plain_http,
            allow_plain_zookeeper=settings.solr_allow_plain_zookeeper,
        )
    urls = addresses(settings.solr_url) or ("",)
    return FixedNodes([checked_address(url, SOLR, allow_plain_http=settings.solr_allow_plain_http) for url in urls])


class _UnavailableError(Exception):
    """ZooKeeper does not answer; what it said before may still hold."""


def _by_preference(live: Sequence[str], shards: Mapping[str, _Shard]) -> list[str]:
    """Return each live node once: leaders, other active replicas, then all that only pass records on."""
    active = [
        replica
        for shard in shards.values()
        if shard.state == _ACTIVE
        for replica in shard.replicas.values()
        if replica.state == _ACTIVE and replica.node_name in live
    ]
    ordered = sorted(active, key=lambda one: (str(one.leader).lower() != "true", one.node_name))
    return list(dict.fromkeys([*(one.node_name for one in ordered), *live]))


def _decoded(kind: type[_T], content: bytes | None, name: str) -> _T:
    try:
        return msgspec.json.decode(content or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise AuditSinkError(f"ZooKeeper's `{name}` is not what Solr writes there") from None


def _library() -> ModuleType:
    """Return kazoo, an extra.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import kazoo.client
        import kazoo.exceptions
        import kazoo.handlers.threading
    except ImportError:
        raise ConfigError(
            "`audit.solr_zookeepers` needs the library `kazoo`: pip install 'ranger-cdap[zookeeper]'"
        ) from None
    module: ModuleType = kazoo
    return module
