"""The settings of the sync job: the table `[sync]` and its sources."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from ranger_cdap.config.location import Location
from ranger_cdap.config.secret import Secret
from ranger_cdap.config.table import Table, UserDirectory

OnDeletion = Literal["report", "revoke-exact"]


class SourceSettings(Table, frozen=True):
    """Events to read; the keys that a source uses depend on its kind ([events.md](events.md))."""

    name: str
    """The name of the source in the ledger; never change it."""
    kind: str
    """An event source of [events.md](events.md), or one of a plugin."""
    path: Location | None = None
    """A directory of files, or a pattern of them; also [on a cluster](../how-to/run-on-a-cluster.md)."""
    callers: tuple[str, ...] = ()
    """`data-plane`: the callers of the decision service whose records are trusted; default: none."""
    rank: int | None = None
    """Of several sources that report one creation, the highest names the creator; default: the rank of the kind."""
    marker: Secret = Secret("")
    """`http-access`: the prefix and suffix of each trusted line."""
    bootstrap: str = ""
    """`audit-kafka`: Kafka's bootstrap servers."""
    topic: str = "audit"
    """The topic in Kafka or in CDAP's messaging service."""
    options: dict[str, Secret] = msgspec.field(default_factory=dict)
    """Options of Kafka's client; values may be secrets."""
    url: str = ""
    """`audit-messaging`: the address of CDAP's messaging service."""
    token_file: Path | None = None
    """A token for that address."""


class ConfirmSettings(Table, frozen=True):
    """Confirmation by CDAP that an entity exists, if events do not show it ([more](../how-to/operate-the-sync.md))."""

    url: str = ""
    """The address of CDAP's router; empty: CDAP is not asked."""
    token_file: Path | None = None
    """The account's token for CDAP; the account needs READ on everything and nothing else."""
    user: str = ""
    """The account's name in CDAP's permission checks; required with `url`."""
    decision_service: str = "http://127.0.0.1:6500"
    """The decision service, which knows whether CDAP may have hidden an entity from the account."""
    caller: str = ""
    """A caller of the decision service with the role `delegate`, or `evaluate` if it is named like `user`."""
    secret: Secret = Secret("")
    """The caller's secret."""


class NotifySettings(Table, frozen=True):
    """A decision service to notify of changed grants ([more](../how-to/operate-the-sync.md#notified-services))."""

    url: str
    """The address of the decision service."""
    caller: str
    """A caller of that service with the role `refresh`."""
    secret: Secret
    """The caller's secret."""


class SyncSettings(Table, frozen=True):
    """The sync job: sources, creators and grants ([more](../how-to/operate-the-sync.md))."""

    username: str = ""
    """The account that writes grants; it must administer the policies of the service."""
    password: Secret = Secret("")
    """Its password or, with `ranger.auth = "bearer"`, its token."""
    state_dir: Location = msgspec.field(default_factory=UserDirectory("data", "sync"))
    """Directory of ledger, lease and dead letters; also [on a cluster](../how-to/run-on-a-cluster.md)."""
    sources: tuple[SourceSettings, ...] = ()
    """The sources: one table `[[sync.sources]]` each."""
    hold_back: float = 120.0
    """Hold-back in seconds ([what waits](../explanation/ownership.md#when-it-is-decided)); 0 for one source only."""
    clock_skew: float = 2.0
    """Maximum difference of the clocks of two processes, in seconds."""
    uncorroborated: Literal["hold", "grant"] = "hold"
    """Creations without a journalled check: held, or granted, although one stolen secret can forge them."""
    non_creators: tuple[str, ...] = ("cdap", "root")
    """Users who never get a grant for what they create; the master user is always one of them."""
    mapped: dict[str, str] = msgspec.field(default_factory=dict)
    """Users whose creations count as those of another user (e.g. the master user's): a table `[sync.mapped]`."""
    impersonated: Literal["owner", "requester"] = "owner"
    """The creator of entities created with impersonation: the impersonated user (`owner`), or the requesting user."""
    keep_days: int = 365
    """Days that decided events are kept; greater than zero. Lives are kept forever."""
    delegate_admin: bool = False
    """The creator may delegate their grant to others."""
    on_deletion: OnDeletion | None = None
    """Rights of others on deleted entities ([rule](../explanation/grants.md#rights-of-others-on-a-deleted-entity))."""
    regrant: Literal["manual", "auto"] = "manual"
    """Grants decided by former settings: changed by `sync regrant` only, or `auto`: by every run."""
    zones: Literal["ask", "follow"] = "ask"
    """Grants that a new security zone comes over: moved by `sync rezone`, or `follow`: by every run."""
    jars_dir: Path | None = None
    """Directory of the jars of sources, like Kafka's, without `spark-submit`; default: `jars` of the environment."""
    allow_open_spark: bool = False
    """With `spark-submit`, run even if anyone who reaches Spark's ports can run code as the job and read its data."""
    cert_file: Path | None = None
    """The client certificate for decision services, as PEM, where `service.tls_client_ca` requires one."""
    key_file: Path | None = None
    """Its key, as PEM and not encrypted; without it the key is in `cert_file`."""
    metrics_file: Path | None = None
    """The metrics file of each run, for the textfile collector of Prometheus's node exporter."""
    confirm: ConfirmSettings = ConfirmSettings()
    """Confirmation by CDAP: the table `[sync.confirm]`."""
    notify: tuple[NotifySettings, ...] = ()
    """Decision services to notify: one table `[[sync.notify]]` each."""
