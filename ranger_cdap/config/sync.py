"""The settings of the sync job: the table `[sync]` and its sources."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from ranger_cdap.config.secret import Secret
from ranger_cdap.config.table import Table, UserDirectory


class SourceSettings(Table, frozen=True):
    """Events to read; which of the others a source uses, its kind says ([events.md](events.md))."""

    name: str
    """Its place in the ledger and the name of its checkpoint; never change it."""
    kind: str
    """An event source: `audit`, `audit-kafka`, `audit-messaging`, `data-plane`, `http-access`, or one of a plugin."""
    path: Path | None = None
    """A directory of files, or a pattern of such."""
    instance: str | None = None
    """The instance whose events count; without it `cdap.instance`."""
    callers: tuple[str, ...] = ()
    """`data-plane`: the callers of the decision service whose records are trusted; without it no caller's."""
    rank: int | None = None
    """Of several sources that report one creation, the highest names the creator; default: the rank of the kind."""
    marker: Secret = Secret("")
    """`http-access`: what begins and ends each line that is believed."""
    bootstrap: str = ""
    """`audit-kafka`: Kafka's servers."""
    topic: str = "audit"
    """The topic in Kafka or in CDAP's messaging service."""
    options: dict[str, Secret] = msgspec.field(default_factory=dict)
    """Options of Kafka's client; values may be secrets."""
    url: str = ""
    """`audit-messaging`: the address of CDAP's messaging service."""
    allow_plain_http: bool = False
    """Plain http in `url` beyond this machine; anyone on the network path can read the token and become a creator."""
    token_file: Path | None = None
    """A token for that address."""
    ca_file: Path | None = None
    """The authorities that are trusted for it, as PEM; without it those of the system."""


class ConfirmSettings(Table, frozen=True):
    """Asking CDAP whether an entity exists where the events do not show it ([more](../how-to/operate-the-sync.md))."""

    url: str = ""
    """The address of CDAP's router; empty: CDAP is not asked."""
    allow_plain_http: bool = False
    """Plain http in `url` and `decision_service` beyond this machine; secrets and answers then travel in the clear."""
    token_file: Path | None = None
    """The account's token for CDAP; the account needs READ on everything and nothing else."""
    ca_file: Path | None = None
    """The authorities that are trusted for `url` and `decision_service`, as PEM; without it those of the system."""
    cert_file: Path | None = None
    """The client certificate for `decision_service`, as PEM, where `service.tls_client_ca` requires one."""
    key_file: Path | None = None
    """Its key, as PEM and not encrypted; without it the key is in `cert_file`."""
    user: str = ""
    """The account's name, as CDAP's permission checks have it; required with `url`."""
    decision_service: str = "http://127.0.0.1:6500"
    """The address of the decision service, which says whether CDAP may have hidden an entity from the account."""
    caller: str = ""
    """A caller of the decision service with the role `delegate`, or `evaluate` if it is named like `user`."""
    secret: Secret = Secret("")
    """The caller's secret."""


class SyncSettings(Table, frozen=True):
    """The sync job: who is a creator, since when, how they get their grant ([more](../how-to/operate-the-sync.md))."""

    username: str = ""
    """The account that writes grants; it must administer the policies of the service."""
    password: Secret = Secret("")
    """Its password or, with `ranger.auth = "bearer"`, its token."""
    state_dir: Path = msgspec.field(default_factory=UserDirectory("data", "sync"))
    """The ledger, the checkpoints of the sources, the lease and the dead letters."""
    sources: tuple[SourceSettings, ...] = ()
    """The sources that are read: one table `[[sync.sources]]` each."""
    hold_back: float = 120.0
    """Seconds that every source has to report an event before it is decided; 0 for a single source only."""
    clock_skew: float = 2.0
    """Seconds by which the clocks of two processes may differ."""
    unfinished_after: float = 600.0
    """Seconds after which an allowed request counts as lost if no record says how it ended; greater than zero."""
    uncorroborated: Literal["hold", "grant"] = "hold"
    """Creations where no check is journalled: held, or granted, although one stolen secret can forge them."""
    non_creators: tuple[str, ...] = ("cdap", "root")
    """Users who never get a grant for what they create; the master user is always one of them."""
    mapped: dict[str, str] = msgspec.field(default_factory=dict)
    """Users whose creations count as those of another user (e.g. the master user's): a table `[sync.mapped]`."""
    impersonated: Literal["owner", "requester"] = "owner"
    """The creator of what is created for an impersonated user: that user (`owner`), or the user who asked for it."""
    keep_days: int = 365
    """Days that decided events are kept; greater than zero. Lives stay for good."""
    delegate_admin: bool = False
    """The creator may delegate their grant to others."""
    extra_group: str = ""
    """A group that gets what the creator gets, like `cdap_{namespace}`; must hold `{namespace}`."""
    merge_into_foreign: bool = False
    """Add to other people's policies of exactly the entity ([what remains](../explanation/grants.md))."""
    concurrency: int = 4
    """Grants that are sent at a time; greater than zero."""
    rate: float = 0.0
    """Most requests per second, all workers together; 0: no limit."""
    patience: float = 60.0
    """Seconds that Ranger Admin may be unavailable before a run ends; pending grants stay in the ledger."""
    jars_dir: Path | None = None
    """Spark's jars for Delta Lake and Kafka, without `spark-submit`; without it `jars` of the virtual environment."""
    allow_open_spark: bool = False
    """With `spark-submit`, run where anyone who reaches Spark's ports can run code as the job and read its data."""
    metrics_file: Path | None = None
    """The metrics of each run, for the textfile collector of Prometheus's node exporter."""
    confirm: ConfirmSettings = ConfirmSettings()
    """Asking CDAP: the table `[sync.confirm]`."""
