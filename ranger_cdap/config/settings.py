"""The settings: one frozen struct a table of `ranger-cdap.toml`, with defaults that are safe."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from ranger_cdap.config.secret import Secret
from ranger_cdap.config.service import ServiceSettings
from ranger_cdap.config.sync import SyncSettings
from ranger_cdap.config.table import Table, UserDirectory


class RangerSettings(Table, frozen=True):
    """Where Ranger Admin is, and which of its services holds the policies."""

    url: str = "http://127.0.0.1:6080"
    """The address of Ranger Admin; of one that runs several times all of them, separated by commas or as a list."""
    allow_plain_http: bool = False
    """Plain http in `url` beyond this machine; anyone on the network path can read passwords and change policies."""
    service: str = "cdapdev"
    """The Ranger service with CDAP's policies."""
    auth: Literal["basic", "bearer", "kerberos", "certificate"] = "basic"
    """How accounts sign in: name and password, a token as the password, Kerberos, or the client certificate."""
    ca_file: str | None = None
    """The authorities that are trusted for `url`, as PEM; without it those of the system."""
    cert_file: str | None = None
    """The client certificate, as PEM."""
    key_file: str | None = None
    """Its key, as PEM and not encrypted; without it the key is in `cert_file`."""
    connect_timeout: float = 5.0
    """Seconds for a connection; greater than zero."""
    read_timeout: float = 30.0
    """Seconds for an answer; greater than zero."""
    attempts: int = 3
    """How often a request is tried that may be repeated; greater than zero."""


class CdapSettings(Table, frozen=True):
    """The CDAP instance, and which table of operations decides ([operations](operations.md))."""

    instance: str = "cdap"
    """The name of the instance, as policies have it."""
    profile: str = "default"
    """The table of operations: one of the requirement documents, or `default`."""
    view_details: bool = False
    """WRITE or ADMIN on an entity shows its details, too; its data needs READ always."""
    inherit: bool = False
    """READ, WRITE and ADMIN on a parent count for what is below it, unless a policy decides there."""
    list_by_parent: bool = False
    """One of READ, WRITE and ADMIN on the parent lists everything below it."""
    visible_only: bool = False
    """A list leaves out what one has no privilege on, nor on anything below it."""


class EnforceSettings(Table, frozen=True):
    """The part that is enforced, while CDAP is brought under Ranger piece by piece; by default everything."""

    operations: tuple[str, ...] | None = None
    """The operations that are enforced, like `dataset.get` or `dataset.*`; without it all."""
    entity_types: tuple[str, ...] | None = None
    """The entity types that are enforced; without it all."""
    outside: Literal["report", "deny"] | None = None
    """The treatment of everything else, required where there is some: decided, reported and allowed, or denied."""


class AdminSettings(Table, frozen=True):
    """Who administers the CDAP instance and its policies; what they may do in CDAP, policies say."""

    users: tuple[str, ...] = ()
    """Users; `ranger-cdap setup` gives them what they need in Ranger."""
    groups: tuple[str, ...] = ()
    """Groups, as well."""


class MasterSettings(Table, frozen=True):
    """The user CDAP itself runs as ([why](../explanation/master-user.md))."""

    user: str = ""
    """Its name; `cdap` if empty."""
    create: Literal["deny", "preview", "allow"] = "preview"
    """The entities it may create in user namespaces: none, those a preview needs, or all."""

    @property
    def name(self) -> str:
        """Who it is, whether the settings say so or not."""
        return self.user or "cdap"


class PluginSettings(Table, frozen=True):
    """The account that downloads policies, where they are kept, and how old they may be."""

    username: str = ""
    """The account; it must be in `policy.download.auth.users` of the service."""
    password: Secret = Secret("")
    """Its password or, with `ranger.auth = "bearer"`, its token."""
    app_id: str = "cdap"
    """The name that Ranger's page of plugins shows."""
    cluster_name: str = ""
    """The name of the cluster, which Ranger's page of plugins shows; no condition looks at it."""
    cache_dir: Path = msgspec.field(default_factory=UserDirectory("cache"))
    """Where downloaded policies are kept for the next start; for its owner only."""
    poll_interval: float = 30.0
    """Seconds between two questions for changes; greater than zero."""
    max_staleness: float = 24 * 3600.0
    """Seconds without Ranger Admin after which everything is denied; greater than zero."""
    use_ranger_groups: bool = True
    """Whether the groups and users that Ranger knows are downloaded and count."""


class AuditSettings(Table, frozen=True):
    """Where audit records go ([audit.md](audit.md))."""

    sinks: tuple[str, ...] = ("file",)
    """`file`, `solr`, `log`, and those of plugins; an empty list switches the audit off."""
    required: bool = False
    """Deny what cannot be audited: nothing is allowed before the disk has its record. Needs the sink `file`."""
    chain: bool = False
    """Chain the records of the file by hashes, for `ranger-cdap audit verify`."""
    file: Path = msgspec.field(default_factory=UserDirectory("state", "audit/records.jsonl"))
    """The file of the sink `file`; for its owner only."""
    file_max_bytes: int = 100_000_000
    """The size at which another file is begun; 0: never."""
    file_keep: int = 10
    """How many full files are kept besides; the oldest is deleted."""
    solr_url: str = ""
    """The collection of the sink `solr`, like `https://solr:8983/solr/ranger_audits`."""
    solr_allow_plain_http: bool = False
    """Plain http in `solr_url` beyond this machine; anyone on the network path can read password and records."""
    solr_username: str = ""
    """The account in Solr."""
    solr_password: Secret = Secret("")
    """Its password."""
    solr_ca_file: str | None = None
    """The authorities that are trusted for `solr_url`, as PEM; without it those of the system."""
    queue_size: int = 10_000
    """Records that may wait in memory for each sink."""
    spool_dir: Path = msgspec.field(default_factory=UserDirectory("state", "audit"))
    """Where records wait for a sink that fails."""
    spool_max_bytes: int = 1_000_000_000
    """How much may wait there; what there is no room for is lost, counted and logged."""


class HadoopSettings(Table, frozen=True):
    """The unchanged files of Ranger's Java plugin; they count before the defaults."""

    conf_dir: Path | None = None
    """The directory of the three files."""
    security_file: Path | None = None
    """`ranger-cdap-security.xml`, if it is elsewhere."""
    audit_file: Path | None = None
    """`ranger-cdap-audit.xml`, if it is elsewhere."""
    ssl_file: Path | None = None
    """`ranger-policymgr-ssl.xml`, if it is elsewhere."""


class Settings(Table, frozen=True):
    """All settings."""

    ranger: RangerSettings = RangerSettings()
    cdap: CdapSettings = CdapSettings()
    enforce: EnforceSettings = EnforceSettings()
    admin: AdminSettings = AdminSettings()
    master: MasterSettings = MasterSettings()
    plugin: PluginSettings = PluginSettings()
    audit: AuditSettings = msgspec.field(default_factory=AuditSettings)
    sync: SyncSettings = SyncSettings()
    service: ServiceSettings = ServiceSettings()
    hadoop: HadoopSettings = HadoopSettings()
