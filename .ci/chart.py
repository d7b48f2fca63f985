"""Renew the definitions of our settings in the Helm chart's `values.schema.json`.

Settings that the chart decides (addresses, places, the passwords of accounts) are not among them.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

import msgspec

from ranger_cdap.config.groups import GroupSettings, LdapSettings
from ranger_cdap.config.location import Location
from ranger_cdap.config.secret import Secret
from ranger_cdap.config.service import CallerSettings, ServiceSettings
from ranger_cdap.config.settings import (
    AdminSettings,
    AuditSettings,
    CdapSettings,
    EnforceSettings,
    MasterSettings,
    NetworkSettings,
    PluginSettings,
    RangerSettings,
)
from ranger_cdap.config.sync import SourceSettings, SyncSettings
from ranger_cdap.config.table import Table

SCHEMA: Final = Path(__file__).parents[1] / "examples" / "kubernetes" / "chart" / "values.schema.json"

Json = dict[str, Any]

# By definition: the tables, each with the keys that the chart decides.
TABLES: Final[Mapping[str, Mapping[str, tuple[type[Table], frozenset[str]]]]] = {
    "settings": {
        "ranger": (
            RangerSettings,
            frozenset({"url", "service", "auth", "cert_file", "key_file"}),
        ),
        "network": (NetworkSettings, frozenset({"ca_file"})),
        "cdap": (CdapSettings, frozenset({"instance"})),
        "enforce": (EnforceSettings, frozenset()),
        "admin": (AdminSettings, frozenset()),
        "master": (MasterSettings, frozenset()),
    },
    "decisionServiceSettings": {
        "plugin": (PluginSettings, frozenset({"username", "password", "cache_dir"})),
        "groups": (GroupSettings, frozenset()),
        "ldap": (LdapSettings, frozenset()),
        "audit": (AuditSettings, frozenset()),
        "service": (
            ServiceSettings,
            frozenset(
                {
                    *("host", "port", "hosts", "callers", "events_dir", "events_group"),
                    *("tls_certificate", "tls_key", "tls_client_ca", "tls_probe_certificate", "tls_probe_key"),
                }
            ),
        ),
    },
    "syncSettings": {
        "sync": (
            SyncSettings,
            frozenset({"username", "password", "state_dir", "sources", "jars_dir", "allow_open_spark"}),
        ),
        "audit": (AuditSettings, frozenset()),
    },
}
ROWS: Final[Mapping[str, type[Table]]] = {"caller": CallerSettings, "source": SourceSettings}
TYPES: Final[Mapping[object, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def reference(key: str) -> Json:
    """A key of the Secret: never its value."""
    return {
        "type": "object",
        "properties": {key: {"$ref": "#/$defs/secretKey"}},
        "required": [key],
        "additionalProperties": False,
    }


def schema_of_type(wanted: Any, *, is_file: bool = False) -> Json:
    """The schema of a setting of that type; a file may be a key of the Secret."""
    if wanted is Secret:
        return reference("secretKey")
    if wanted is Location:
        return {"type": "string", "pattern": "^/|^[a-z0-9]+://"}
    if wanted is Path or (wanted is str and is_file):
        return {"anyOf": [{"type": "string", "pattern": "^/"}, reference("secretFile")]}
    if wanted in TYPES:
        return {"type": TYPES[wanted]}
    if isinstance(wanted, type) and issubclass(wanted, Table):
        return schema_of_table(wanted)
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": schema_of_type(inner[0])}
    if origin is dict:
        # The chart takes a table with one of these keys for a reference.
        names = {"minLength": 1, "not": {"enum": ["secretKey", "secretFile"]}}
        return {"type": "object", "propertyNames": names, "additionalProperties": schema_of_type(inner[1])}
    if origin in (types.UnionType, Union):
        (one,) = [each for each in inner if each is not type(None)]
        return schema_of_type(one, is_file=is_file)
    raise TypeError(f"no schema is known for a setting of type {wanted}")


def schema_of_table(table: type[Table], decided: frozenset[str] = frozenset()) -> Json:
    """The schema of a table of settings, without the keys that the chart decides."""
    fields = [field for field in msgspec.structs.fields(table) if field.name not in decided]
    found: Json = {
        "type": "object",
        "properties": {
            field.name: schema_of_type(field.type, is_file=field.name.endswith("_file")) for field in fields
        },
        "additionalProperties": False,
    }
    if required := [field.name for field in fields if field.required]:
        found["required"] = required
    return found


def definitions() -> Json:
    """The definitions of the schema that come of our settings."""
    tables = {
        name: {
            "type": "object",
            "properties": {table: schema_of_table(*given) for table, given in of.items()},
            "additionalProperties": False,
        }
        for name, of in TABLES.items()
    }
    return tables | {name: schema_of_table(table) for name, table in ROWS.items()}


def schema(text: str) -> str:
    """`values.schema.json` with the definitions as they are now."""
    whole = json.loads(text)
    whole["$defs"] |= definitions()
    return json.dumps(whole, indent=1) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema(SCHEMA.read_text(encoding="utf-8")), encoding="utf-8")
