"""The settings, and how they are read; see docs/how-to/configure.md."""

from ranger_cdap.config.address import (
    Address,
    AddressSetting,
    addresses,
    all_can_be_plain,
    checked_address,
    configured_addresses,
    is_exposed,
)
from ranger_cdap.config.groups import GroupSettings, LdapSettings
from ranger_cdap.config.layers import ENVIRONMENT_PREFIX
from ranger_cdap.config.loader import DEFAULT_FILE, Configuration, load_settings, parse_settings, read_configuration
from ranger_cdap.config.location import Location, StoreUrl, for_spark, location, named
from ranger_cdap.config.secret import Secret, resolve_secret
from ranger_cdap.config.service import CallerSettings, ProxySettings, ServiceSettings
from ranger_cdap.config.settings import (
    AdminSettings,
    AuditSettings,
    CdapSettings,
    EnforceSettings,
    HadoopSettings,
    MasterSettings,
    NetworkSettings,
    PluginSettings,
    RangerSettings,
    Settings,
)
from ranger_cdap.config.sync import ConfirmSettings, NotifySettings, SourceSettings, SyncSettings
from ranger_cdap.config.table import Table, UserDirectory
from ranger_cdap.config.watched_files import WatchedFiles

__all__ = [
    "DEFAULT_FILE",
    "ENVIRONMENT_PREFIX",
    "Address",
    "AddressSetting",
    "AdminSettings",
    "AuditSettings",
    "CallerSettings",
    "CdapSettings",
    "Configuration",
    "ConfirmSettings",
    "EnforceSettings",
    "GroupSettings",
    "HadoopSettings",
    "LdapSettings",
    "Location",
    "MasterSettings",
    "NetworkSettings",
    "NotifySettings",
    "PluginSettings",
    "ProxySettings",
    "RangerSettings",
    "Secret",
    "ServiceSettings",
    "Settings",
    "SourceSettings",
    "StoreUrl",
    "SyncSettings",
    "Table",
    "UserDirectory",
    "WatchedFiles",
    "addresses",
    "all_can_be_plain",
    "checked_address",
    "configured_addresses",
    "for_spark",
    "is_exposed",
    "load_settings",
    "location",
    "named",
    "parse_settings",
    "read_configuration",
    "resolve_secret",
]
