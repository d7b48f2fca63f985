"""The settings: one frozen struct per table of `ranger-cdap.toml`, with safe defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from ranger_cdap.config.groups import GroupSettings, LdapSettings
from ranger_cdap.config.secret import Secret
from ranger_cdap.config.service import ServiceSettings
from ranger_cdap.config.sync import SyncSettings
from ranger_cdap.config.table import Table, UserDirectory


class RangerSettings(Table, frozen=True):
    """The connection to Ranger Admin, and the service that holds the policies."""

    url: str = "http://127.0.0.1:6080"
    """The address of Ranger Admin; with high availability all addresses, separated by commas or as a list."""
    service: str = "cdapdev"
    """The Ranger service with CDAP's policies."""
    auth: Literal["basic", "bearer", "kerberos", "certificate"] = "basic"
    """How accounts authenticate: user name and password, a bearer token, Kerberos, or a client certificate."""
    cert_file: str | None = None
    """The client certificate, as PEM."""
    key_file: str | None = None
    """Its key, as PEM and not encrypted; without it the key is in `cert_file`."""
    read_timeout: float = 30.0
    """Response timeout in seconds; greater than zero."""
    attempts: int = 3
    """Attempts for a request that is safe to retry; greater than zero."""


class NetworkSettings(Table, frozen=True):
    """All connections that the programs make."""

    ca_file: str | None = None
    """[Trusted authorities](../how-to/configure.md#trusted-authorities), as PEM; default: those of the system."""
    plain_hosts: tuple[str, ...] = ()
    """Hosts reached [without TLS](../how-to/configure.md#without-tls); others can read and change what is sent."""


class CdapSettings(Table, frozen=True):
    """The CDAP instance, and its table of operations ([operations](operations.md))."""

    instance: str = "cdap"
    """The name of the instance in policies."""
    profile: str = "default"
    """The table of operations: one of the requirement documents, or `default`."""
    view_details: bool = False
    """WRITE or ADMIN on an entity shows its details, too; its data needs READ always."""
    inherit: bool = False
    """READ, WRITE and ADMIN on a parent are inherited by the entities below it, unless a policy decides there."""
    list_by_parent: bool = False
    """One of READ, WRITE and ADMIN on the parent lists everything below it."""
    visible_only: bool = False
    """A list omits entities on which, and below which, the user has no privilege."""
    list_ancestors: bool = False
    """A list also shows entities that contain one that the user may see; of a namespace, its description, too."""


class EnforceSettings(Table, frozen=True):
    """The enforced part, for a gradual introduction of Ranger; default: everything."""

    operations: tuple[str, ...] | None = None
    """The enforced operations, like `dataset.get` or `dataset.*`; default: all."""
    entity_types: tuple[str, ...] | None = None
    """The enforced entity types; default: all."""
    outside: Literal["report", "deny"] | None = None
    """All else, required if there is any: reported and allowed, or denied."""


class AdminSettings(Table, frozen=True):
    """The administrators of the CDAP instance and its policies; policies decide what they may do in CDAP."""

    users: tuple[str, ...] = ()
    """Users; `ranger-cdap setup` gives them their rights in Ranger."""
    groups: tuple[str, ...] = ()
    """Groups, likewise."""


class MasterSettings(Table, frozen=True):
    """The user CDAP itself runs as ([why](../explanation/master-user.md))."""

    user: str = ""
    """Its name; `cdap` if empty."""
    create: Literal["deny", "preview", "allow"] = "preview"
    """What it may create in user namespaces without a policy: nothing, the application of a preview, or everything."""

    @property
    def name(self) -> str:
        """The name in effect, set or default."""
        return self.user or "cdap"


class PluginSettings(Table, frozen=True):
    """The account that downloads policies, their cache, and their maximum age."""

    username: str = ""
    """The account; it must be in `policy.download.auth.users` of the service."""
    password: Secret = Secret("")
    """Its password or, with `ranger.auth = "bearer"`, its token."""
    cluster_name: str = ""
    """The name of the cluster on Ranger's page of plugins and in audit records; conditions do not use it."""
    cache_dir: Path = msgspec.field(default_factory=UserDirectory("cache"))
    """The directory of cached policies, for the next start; private to its owner."""
    accept_cache_of: tuple[str, ...] = ()
    """Former addresses of the Ranger Admin in `ranger.url`; a cache from any other Ranger Admin is not used."""
    poll_interval: float = 30.0
    """Polling interval in seconds; greater than zero."""
    max_staleness: float = 24 * 3600.0
    """Seconds without Ranger Admin after which everything is denied; greater than zero."""
    use_ranger_groups: bool = True
    """Use the groups of Ranger's user store, which is then downloaded."""
    only_ranger_groups: bool = False
    """Use no other groups, neither those that CDAP passes nor those of `[groups]` and plugins."""
    transform_names: bool = False
    """Convert and map the names of users and groups as Ranger Admin's download says (`ranger.plugins.conf.…`)."""
    email_to_user: bool = False
    """Take an e-mail address for the user who has it in Ranger's user store, else for the user named before `@`."""
    history_dir: Path | None = None
    """A directory in which versions of used policies are kept, for `history:7d`, up to 100 MB; private to its owner."""

    @property
    def needs_users(self) -> bool:
        """Return true if Ranger's user store is downloaded."""
        return self.use_ranger_groups or self.email_to_user


class AuditSettings(Table, frozen=True):
    """The destinations of audit records ([audit.md](audit.md))."""

    sinks: tuple[str, ...] = ("file",)
    """`file`, `solr`, `elasticsearch`, `hdfs`, `kafka`, `log`, and those of plugins; an empty list: no audit."""
    required: bool = False
    """Deny what cannot be audited: nothing is allowed before its record is on disk. Needs the sink `file`."""
    chain: bool = False
    """Chain the records of the file by hashes, for `ranger-cdap audit verify`."""
    file: Path = msgspec.field(default_factory=UserDirectory("state", "audit/records.jsonl"))
    """The file of the sink `file`; private to its owner."""
    file_keep: int = 10
    """Number of rotated files kept, of 100 MB each; the oldest is deleted."""
    solr_url: str = ""
    """The collection of the sink `solr`, like `https://solr:8983/solr/ranger_audits`; several, separated by commas."""
    solr_username: str = ""
    """The account in Solr."""
    solr_password: Secret = Secret("")
    """Its password."""
    elasticsearch_url: str = ""
    """Elasticsearch or OpenSearch of the sink `elasticsearch`, like `https://es:9200`; several, separated by commas."""
    elasticsearch_index: str = "ranger_audits"
    """The index."""
    elasticsearch_username: str = ""
    """The account in Elasticsearch."""
    elasticsearch_password: Secret = Secret("")
    """Its password."""
    kafka_bootstrap: str = ""
    """The servers of the sink `kafka`, like `kafka1:9093,kafka2:9093`, by TLS (extra `kafka`)."""
    kafka_topic: str = "ranger_audits"
    """The topic."""
    kafka_username: str = ""
    """The account in Kafka; default: no sign-in, or by the client certificate."""
    kafka_password: Secret = Secret("")
    """Its password."""
    kafka_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    """The mechanism of SASL that the account signs in by."""
    kafka_cert_file: str | None = None
    """The client certificate, as PEM."""
    kafka_key_file: str | None = None
    """Its key, as PEM and not encrypted; without it the key is in `kafka_cert_file`."""
    hdfs_dir: str = ""
    """The directory of the sink `hdfs`, like `hdfs://namenode:8020/ranger/audit`, `s3://bucket/audit` or a path."""
    spool_dir: Path = msgspec.field(default_factory=UserDirectory("state", "audit"))
    """The directory for records of a failing sink, and for files of the sink `hdfs` that are not published yet."""
    spool_max_bytes: int = 1_000_000_000
    """Maximum size of that directory; records beyond it are dropped, counted and logged."""


class HadoopSettings(Table, frozen=True):
    """The unchanged files of Ranger's Java plugin; they override the defaults."""

    conf_dir: Path | None = None
    """The directory of `ranger-cdap-security.xml`, `ranger-cdap-audit.xml` and `ranger-policymgr-ssl.xml`."""
    core_site: Path | None = None
    """Hadoop's `core-site.xml`, for its [group mapping](../how-to/take-groups-from-ldap.md); default: not read."""


class Settings(Table, frozen=True):
    """All settings."""

    ranger: RangerSettings = RangerSettings()
    network: NetworkSettings = NetworkSettings()
    cdap: CdapSettings = CdapSettings()
    enforce: EnforceSettings = EnforceSettings()
    admin: AdminSettings = AdminSettings()
    master: MasterSettings = MasterSettings()
    plugin: PluginSettings = PluginSettings()
    groups: GroupSettings = msgspec.field(default_factory=GroupSettings)
    ldap: LdapSettings = LdapSettings()
    audit: AuditSettings = msgspec.field(default_factory=AuditSettings)
    sync: SyncSettings = SyncSettings()
    service: ServiceSettings = ServiceSettings()
    hadoop: HadoopSettings = HadoopSettings()
