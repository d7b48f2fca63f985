"""The settings, and how they are read; see docs/how-to/configure.md."""

from ranger_cdap.config.reading import Configuration, load_settings, parse_settings, read_configuration
from ranger_cdap.config.secret import Secret, resolve_secret
from ranger_cdap.config.service import CallerSettings, JwtSettings, ProxySettings, ServiceSettings
from ranger_cdap.config.settings import (
    AdminSettings,
    AuditSettings,
    CdapSettings,
    EnforceSettings,
    HadoopSettings,
    MasterSettings,
    PluginSettings,
    RangerSettings,
    Settings,
)
from ranger_cdap.config.sync import SourceSettings, SyncSettings
from ranger_cdap.config.table import Table, UserDirectory

__all__ = [
    "AdminSettings",
    "AuditSettings",
    "CallerSettings",
    "CdapSettings",
    "Configuration",
    "EnforceSettings",
    "HadoopSettings",
    "JwtSettings",
    "MasterSettings",
    "PluginSettings",
    "ProxySettings",
    "RangerSettings",
    "Secret",
    "ServiceSettings",
    "Settings",
    "SourceSettings",
    "SyncSettings",
    "Table",
    "UserDirectory",
    "load_settings",
    "parse_settings",
    "read_configuration",
    "resolve_secret",
]
