"""The page `docs/reference/predecessor-properties.md`, from the tables that the loader reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pages import table
from ranger_cdap.config.cdap_site import SiteProperty, known_properties
from ranger_cdap.config.hadoop import TLS_FILE
from ranger_cdap.config.jceks import jceks_note
from ranger_cdap.config.tables import rows_of

_HEAD = """\
Each property of the Java predecessor and of Hadoop, with the setting that replaces it ([how to
move](../how-to/migrate-from-cdap-security-extn.md)). A name that ends in `*` covers every name with that beginning.

## CDAP and the predecessor's bindings

"""
_GROUPS = """
## Hadoop's group mapping

`hadoop.core_site` reads these keys of `core-site.xml` ([how to](../how-to/take-groups-from-ldap.md)). An `error`
stops the program, because a deny would miss a member of a group.

"""


# Keys that the loader follows itself.
_FOLLOWED: Final = {
    "ranger.plugin.cdap.policy.rest.ssl.config.file": f"names `{TLS_FILE}`, which is read",
    "xasecure.audit.is.enabled": "`false` empties `audit.sinks`",
}


def properties() -> list[SiteProperty]:
    """Return every known property, first those of `cdap-site.xml`."""
    return [*known_properties(), *(SiteProperty(key, fate, ("Ranger",)) for key, fate in _of_files())]


def page() -> str:
    """Return a row for each property."""
    rows = ((f"`{one.name}`", ", ".join(one.bindings) or "CDAP", one.fate) for one in properties())
    return _HEAD + table(("property", "of", "replacement"), rows) + _GROUPS + table(("key", "read as"), _keys())


def _keys() -> Iterator[tuple[str, str]]:
    for key, row in rows_of("core_site").items():
        match row:
            case {"refused": why}:
                fate = f"error: {why}"
            case {"unused": why}:
                fate = f"not used: {jceks_note('', '', why) if row.get('as') == 'alias' else why}"
            case _:
                fate = f"`{row['setting']}`"
        yield f"`{key}`", fate


def _of_files() -> Iterator[tuple[str, str]]:
    yield from _FOLLOWED.items()
    for key, row in rows_of("hadoop").items():
        match row:
            case {"unusable": why}:
                fate = f"not used: {jceks_note('', '', why) if 'alias' in row else why}"
            case {"part_of": setting}:
                fate = f"becomes a part of `{setting}`"
            case _:
                fate = f"becomes `{row['setting']}`" + (f", as `{row['sink']}`" if "sink" in row else "")
        yield key, fate
