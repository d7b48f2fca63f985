"""The settings: one frozen struct a table of `ranger-cdap.toml`, with defaults that are safe.

Precedence: flag (`--set plugin.cache_dir=…`), then environment variable (`RANGER_CDAP_PLUGIN__CACHE_DIR`), then the
file, then the files of the Java plugin (`[hadoop]`), then the default. An unknown key is an error that names the
nearest known one. Secrets are given as `env:NAME` or `file:PATH` (or, for trying out, as they are) and never printed.
"""

from __future__ import annotations

import difflib
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import platformdirs

from ranger_cdap.errors import ConfigError
from ranger_cdap.exposure import exposed_files, secrets
from ranger_cdap.hadoop import NotUsed, hadoop_layer
from ranger_cdap.layers import Layer, environment_layer, file_layer, flag_layer, overlay

_log = logging.getLogger(__name__)


class Secret:
    """A text that prints as `*****`; `reveal()` gives it to the one place that needs it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret('*****')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))


def resolve_secret(text: str, environ: Mapping[str, str] | None = None) -> Secret:
    """`env:NAME` is that variable, `file:PATH` that file without its last line break, anything else the text itself.

    Raises:
        ConfigError: the variable is not set or the file can't be read.
    """
    environ = os.environ if environ is None else environ
    if text.startswith("env:"):
        name = text[4:]
        if name not in environ:
            raise ConfigError(f"environment variable `{name}`, named by a secret in the configuration, is not set")
        return Secret(environ[name])
    if text.startswith("file:"):
        path = Path(text[5:])
        try:
            return Secret(path.read_text(encoding="utf-8").rstrip("\r\n"))
        except (OSError, UnicodeDecodeError) as e:
            raise ConfigError(f"secret file `{path}` can't be read: {type(e).__name__}") from None
    return Secret(text)


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the configuration file."""


class RangerSettings(_Table, frozen=True):
    """`[ranger]`: where Ranger Admin is (several addresses for one that runs twice), which service holds the policies.

    `auth` says how accounts sign in: with name and password, with a token as the password, by Kerberos, or by the
    client certificate.
    """

    url: str = "http://127.0.0.1:6080"
    service: str = "cdapdev"
    auth: Literal["basic", "bearer", "kerberos", "certificate"] = "basic"
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    attempts: int = 3


class CdapSettings(_Table, frozen=True):
    """`[cdap]`: the CDAP instance, the table of operations that decides, and how its rows are read (`Options`)."""

    instance: str = "cdap"
    profile: str = "default"
    view_details: bool = False
    inherit: bool = False
    list_by_parent: bool = False
    visible_only: bool = False


class EnforceSettings(_Table, frozen=True):
    """`[enforce]`: the operations and entity types that are enforced (default: all), and what becomes of the rest.

    Everything outside is decided, told and allowed (`report`), or denied (`deny`).
    """

    operations: tuple[str, ...] | None = None
    entity_types: tuple[str, ...] | None = None
    outside: Literal["report", "deny"] | None = None


class AdminSettings(_Table, frozen=True):
    """`[admin]`: who administers the CDAP instance and its policies; what they may do in CDAP, policies say."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class MasterSettings(_Table, frozen=True):
    """`[master]`: the user CDAP itself runs as, and whether it may create in user namespaces (docs/master-user.md)."""

    user: str = ""
    create: Literal["deny", "preview", "allow"] = "preview"


class PluginSettings(_Table, frozen=True):
    """`[plugin]`: the account that downloads policies, the cache, how old policies may be (seconds), and groups.

    `app_id` and `cluster_name` are what Ranger's page of plugins shows.
    """

    username: str = ""
    password: Secret = Secret("")
    app_id: str = "cdap"
    cluster_name: str = ""
    cache_dir: Path = msgspec.field(default_factory=lambda: Path(platformdirs.user_cache_dir("ranger-cdap")))
    poll_interval: float = 30.0
    max_staleness: float = 24 * 3600.0
    use_ranger_groups: bool = True


class AuditSettings(_Table, frozen=True):
    """`[audit]`: the sinks audit records go to, by name, what those need, and where records wait for a sink that fails.

    Sizes are bytes, `queue_size` is records; `file_max_bytes = 0` never rotates the file.
    """

    sinks: tuple[str, ...] = ()
    file: Path | None = None
    file_max_bytes: int = 100_000_000
    file_keep: int = 10
    solr_url: str = ""
    solr_username: str = ""
    solr_password: Secret = Secret("")
    solr_ca_file: str | None = None
    queue_size: int = 10_000
    spool_dir: Path = msgspec.field(default_factory=lambda: Path(platformdirs.user_state_dir("ranger-cdap")) / "audit")
    spool_max_bytes: int = 1_000_000_000


class SourceSettings(_Table, frozen=True):
    """`[[sync.sources]]`: events to read; `kind` names a registered event source, which uses some of the others.

    `path` is a directory of files, `callers` whose records are believed, `marker` what begins and ends a line of the
    access log, `bootstrap`, `topic` and `options` are for Kafka, `url`, `topic`, `token_file` and `ca_file` for CDAP.
    Of several sources that tell of one creation the one with the highest `rank` says who the creator is.
    """

    name: str
    kind: str
    path: Path | None = None
    instance: str | None = None
    callers: tuple[str, ...] = ()
    rank: int | None = None
    marker: Secret = Secret("")
    bootstrap: str = ""
    topic: str = "audit"
    options: dict[str, Secret] = {}
    url: str = ""
    token_file: Path | None = None
    ca_file: Path | None = None


class SyncSettings(_Table, frozen=True):
    """`[sync]`: the account that writes grants, where the ledger is, who is a creator, and when that is decided.

    `hold_back`: seconds that every source has to tell of an event before it is decided. `mapped` users stand for
    others, for CDAP's master user perhaps. `impersonated`: who gets what is created for an impersonated user.
    `keep_days`: how long decided events and old versions of the tables are kept.

    `extra_group` (like `cdap_{namespace}`) gets what the creator gets. `merge_into_foreign` adds to other people's
    policies (docs/grants.md). `concurrency` grants are sent at a time, with at most `rate` requests a second (0: as
    many as go), and Ranger Admin may be away for `patience` seconds. `metrics_file` gets the figures of each run, for
    Prometheus's node exporter.
    """

    username: str = ""
    password: Secret = Secret("")
    state_dir: Path = msgspec.field(default_factory=lambda: Path(platformdirs.user_data_dir("ranger-cdap")) / "sync")
    sources: tuple[SourceSettings, ...] = ()
    hold_back: float = 120.0
    non_creators: tuple[str, ...] = ("cdap", "root")
    mapped: dict[str, str] = {}
    impersonated: Literal["owner", "requester"] = "owner"
    keep_days: int = 365
    delegate_admin: bool = False
    extra_group: str = ""
    merge_into_foreign: bool = False
    concurrency: int = 4
    rate: float = 0.0
    patience: float = 60.0
    jars_dir: Path | None = None
    metrics_file: Path | None = None


class CallerSettings(_Table, frozen=True):
    """`[[service.callers]]`: a program that asks the decision service, how it proves who it is, what it may ask.

    Without a secret it comes with a token (`[service.jwt]`) or through a proxy (`[service.proxy]`).
    """

    name: str
    roles: tuple[Literal["enforce", "audit", "grant", "evaluate", "delegate"], ...]
    secret: Secret | None = None


class JwtSettings(_Table, frozen=True):
    """`[service.jwt]`: tokens are believed if this key signed them for this audience; `name_claim` names the caller."""

    key_file: Path | None = None
    algorithms: tuple[Literal["RS256", "ES256", "EdDSA", "HS256"], ...] = ("RS256",)
    issuer: str = ""
    audience: str = ""
    name_claim: str = "sub"


class ProxySettings(_Table, frozen=True):
    """`[service.proxy]`: a proxy at these addresses names the caller in `header`, if it also shows the secret."""

    addresses: tuple[str, ...] = ()
    header: str = "X-Forwarded-User"
    secret: Secret | None = None
    secret_header: str = "X-Proxy-Secret"  # noqa: S105 a header, not a secret


class ServiceSettings(_Table, frozen=True):
    """`[service]`: the decision service: where it listens, who may ask, how much, and where it stores records.

    `ranger_services` are decided besides `[ranger] service`; `hosts` are names it is asked under besides loopback.
    """

    host: str = "127.0.0.1"
    port: int = 6500
    hosts: tuple[str, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    ranger_services: tuple[str, ...] = ()
    ranger_ui: str = ""
    callers: tuple[CallerSettings, ...] = ()
    jwt: JwtSettings = JwtSettings()
    proxy: ProxySettings = ProxySettings()
    max_body: int = 4_000_000
    max_batch: int = 5_000
    max_requests: int = 256
    body_timeout: float = 10.0
    stop_timeout: float = 10.0
    events_dir: Path = msgspec.field(default_factory=lambda: Path(platformdirs.user_data_dir("ranger-cdap")) / "events")
    grants: Literal["refuse", "bridge"] = "refuse"
    bridge_username: str = ""
    bridge_password: Secret = Secret("")


class HadoopSettings(_Table, frozen=True):
    """`[hadoop]`: the Java plugin's files, by their directory or one by one; they count before the defaults."""

    conf_dir: Path | None = None
    security_file: Path | None = None
    audit_file: Path | None = None
    ssl_file: Path | None = None


class Settings(_Table, frozen=True):
    """All settings."""

    ranger: RangerSettings = RangerSettings()
    cdap: CdapSettings = CdapSettings()
    enforce: EnforceSettings = EnforceSettings()
    admin: AdminSettings = AdminSettings()
    master: MasterSettings = MasterSettings()
    plugin: PluginSettings = PluginSettings()
    audit: AuditSettings = AuditSettings()
    sync: SyncSettings = SyncSettings()
    service: ServiceSettings = ServiceSettings()
    hadoop: HadoopSettings = HadoopSettings()


_LISTS_OF_TABLES: Mapping[str, type[_Table]] = {"sources": SourceSettings, "callers": CallerSettings}


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings, by `table.key` where each that is not a default comes from, and Java's keys not used.

    `exposed` are files that hold a secret and that everybody on this machine can read.
    """

    settings: Settings
    origins: Mapping[str, str]
    not_used: tuple[NotUsed, ...] = ()
    exposed: tuple[Path, ...] = ()


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a file, overridden by the environment; without a path, `ranger-cdap.toml` here if there is one.

    Raises:
        ConfigError: the file can't be read, a key is unknown, or a value is not allowed.
    """
    return read_configuration(path, environ).settings


def read_configuration(
    path: Path | None = None, environ: Mapping[str, str] | None = None, flags: Sequence[str] = ()
) -> Configuration:
    """The settings of flags (`table.key=value`), environment, file and the Java plugin's files, with their origins.

    Raises:
        ConfigError: a file can't be read, a key is unknown, a value is not allowed, or a flag holds a secret.
    """
    environ = os.environ if environ is None else environ
    if path is None and (default := Path("ranger-cdap.toml")).is_file():
        path = default
    flag_values = flag_layer(flags)
    _refuse_secrets(flag_values)
    file_values, environment = file_layer(path) if path else Layer({}), environment_layer(environ)
    above = overlay([file_values, environment, flag_values])
    origin = f"`{path}`" if path else "the environment"
    hadoop = parse_settings({"hadoop": above.tables.get("hadoop", {})}, origin=origin, environ=environ).hadoop
    below, not_used = hadoop_layer(hadoop.conf_dir, hadoop.security_file, hadoop.audit_file, hadoop.ssl_file)
    merged = overlay([below, above])
    origin += " with the files of `[hadoop]`" if below.tables else ""
    settings = parse_settings(merged.tables, origin=origin, environ=environ)
    layers = (below, file_values, environment, flag_values)
    exposed = exposed_files(layers, Settings, Secret, _private_keys(settings))
    for file in exposed:
        _log.warning("file `%s` holds a secret and can be read by everybody on this machine; chmod o-r it", file)
    return Configuration(settings, merged.origins, not_used, exposed)


def parse_settings(tables: Mapping[str, Any], *, origin: str, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of parsed TOML; relative paths stay relative to the working directory.

    Raises:
        ConfigError: a key is unknown or a value is not allowed.
    """

    def decode(wanted: type, value: Any) -> Any:
        if wanted is Secret and isinstance(value, str):
            return resolve_secret(value, environ)
        if wanted is Path and isinstance(value, str):
            return Path(value).expanduser()
        raise TypeError(f"expected a text, got `{type(value).__name__}`")

    _refuse_unknown_keys(tables, Settings, where="", origin=origin)
    try:
        settings = msgspec.convert(_with_lists(tables), Settings, strict=False, dec_hook=decode)
    except msgspec.ValidationError as e:
        raise ConfigError(f"{origin}: {_lower(str(e))}") from None
    _check_ranges(settings, origin)
    return settings


def _private_keys(settings: Settings) -> tuple[str | Path | None, ...]:
    """A certificate's file without a file for its key holds both."""
    ranger, service = settings.ranger, settings.service
    return ranger.key_file or ranger.cert_file, service.tls_key or service.tls_certificate


def _refuse_secrets(flags: Layer) -> None:
    """Everybody on the machine can read a command line."""
    for name, text in secrets(flags, Settings, Secret):
        if not text.startswith(("env:", "file:")):
            raise ConfigError(f"`{name}` must not stand on the command line; name it by `env:` or `file:`")


def _field_type(table: str, key: str) -> Any:
    struct = next((field.type for field in msgspec.structs.fields(Settings) if field.name == table), None)
    fields = msgspec.structs.fields(struct) if struct else ()
    return next((field.type for field in fields if field.name == key), None)


def _with_lists(tables: Mapping[str, Any]) -> dict[str, Any]:
    """A list of names may be one text with commas, as in a variable; the addresses of Ranger Admin may be a list."""

    def value(table: str, key: str, given: Any) -> Any:
        wanted = _field_type(table, key)
        if isinstance(given, str) and wanted in (tuple[str, ...], tuple[str, ...] | None):
            return [name.strip() for name in given.split(",") if name.strip()]
        if (table, key) == ("ranger", "url") and isinstance(given, list) and all(isinstance(one, str) for one in given):
            return ",".join(given)
        return given

    return {
        table: {key: value(table, key, given) for key, given in values.items()}
        if isinstance(values, Mapping)
        else values
        for table, values in tables.items()
    }


def _refuse_unknown_keys(value: Any, struct: type[_Table], where: str, origin: str) -> None:
    if not isinstance(value, Mapping):
        return
    fields = {field.name: field.type for field in msgspec.structs.fields(struct)}
    for key, inner in value.items():
        if key not in fields:
            near = difflib.get_close_matches(str(key), fields, n=1)
            hint = f"; did you mean `{where}{near[0]}`?" if near else ""
            raise ConfigError(f"{origin}: unknown setting `{where}{key}`{hint}")
        wanted = fields[key]
        if isinstance(wanted, type) and issubclass(wanted, _Table):
            _refuse_unknown_keys(inner, wanted, f"{where}{key}.", origin)
        elif key in _LISTS_OF_TABLES and isinstance(inner, list):
            for n, table in enumerate(inner):
                _refuse_unknown_keys(table, _LISTS_OF_TABLES[key], f"{where}{key}[{n}].", origin)


def _check_ranges(settings: Settings, origin: str) -> None:
    ranger, plugin = settings.ranger, settings.plugin
    positive = {
        "ranger.connect_timeout": ranger.connect_timeout,
        "ranger.read_timeout": ranger.read_timeout,
        "ranger.attempts": ranger.attempts,
        "plugin.poll_interval": plugin.poll_interval,
        "plugin.max_staleness": plugin.max_staleness,
        "sync.keep_days": settings.sync.keep_days,
        "sync.concurrency": settings.sync.concurrency,
        "service.max_body": settings.service.max_body,
        "service.max_batch": settings.service.max_batch,
        "service.max_requests": settings.service.max_requests,
        "service.body_timeout": settings.service.body_timeout,
        "service.stop_timeout": settings.service.stop_timeout,
    }
    for name, number in positive.items():
        if not 0 < number < float("inf"):
            raise ConfigError(f"{origin}: `{name}` must be greater than zero, not `{number}`")
    for name, number in {"sync.rate": settings.sync.rate, "sync.patience": settings.sync.patience}.items():
        if not 0 <= number < float("inf"):
            raise ConfigError(f"{origin}: `{name}` must be zero or greater, not `{number}`")
    if settings.sync.extra_group and "{namespace}" not in settings.sync.extra_group:
        raise ConfigError(f"{origin}: `sync.extra_group` must hold `{{namespace}}`, or one group would get everything")
    for url in map(str.strip, ranger.url.split(",")):
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"{origin}: `ranger.url` must begin with http:// or https://, not `{url.split('@')[-1]}`")
        if "@" in url.split("//", 1)[1].split("/", 1)[0]:
            raise ConfigError(f"{origin}: `ranger.url` must not hold a user name or password")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")
