"""Every property of the predecessor's bindings has its row in the migration page, which says what the loader does."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from ranger_cdap.config import Settings
from ranger_cdap.config.cdap_site import SiteProperty, known_properties
from ranger_cdap.config.hadoop import _AUDIT_SWITCH, _TLS_FILE_KEY, TLS_FILE, _rows, _why_unusable
from tests.docs.markdown_pages import ROOT, text_of

PAGE = ROOT / "docs" / "how-to" / "migrate-from-cdap-security-extn.md"
EXTENSION = "security.authorization.extension.config."
THERE = tomllib.loads((ROOT / "tests" / "data" / "predecessor-properties.toml").read_text(encoding="utf-8"))


def known_keys() -> Iterator[tuple[str, str]]:
    """Every key of Ranger's files that is known, and what becomes of it; `*` at the end is for all that begin so."""
    yield _TLS_FILE_KEY, f"names `{TLS_FILE}`, which is read"
    yield _AUDIT_SWITCH, "`false` empties `audit.sinks`"
    for key, row in _rows().items():
        if "unusable" in row:
            yield key, f"not used: {_why_unusable(row, '')}"
        elif "part_of" in row:
            yield key, f"becomes a part of `{row['part_of']}`"
        else:
            sink = f", as `{row['sink']}`" if "sink" in row else ""
            yield key, f"becomes `{row['setting']}`{sink}"


KNOWN = [*known_properties(), *(SiteProperty(key, fate, ("Ranger",)) for key, fate in known_keys())]


def full_names() -> Iterator[tuple[str, str]]:
    """Yield each property with the group it is listed in."""
    for group, names in THERE.items():
        prefix = EXTENSION if group in ("Ranger", "Sentry", "dataset", "LDAP") else ""
        yield from ((group, prefix + name) for name in names)


def row_of(name: str) -> SiteProperty:
    exact = [one for one in KNOWN if one.name == name]
    patterns = [one for one in KNOWN if one.name.endswith("*") and name.startswith(one.name[:-1])]
    return max(exact or patterns, key=lambda one: len(one.name))


@pytest.mark.parametrize(("group", "name"), list(full_names()))
def test_a_property_is_known_as_one_of_its_binding(group: str, name: str) -> None:
    bindings = row_of(name).bindings
    assert {"cdap": (), "files": ("Ranger",), "service": ("Ranger",)}.get(group, bindings) == bindings
    assert group in bindings or not name.startswith(EXTENSION)


def test_the_page_has_every_row_and_no_other() -> None:
    section = text_of(PAGE).split("### Every property\n")[1].split("\n## ")[0]
    shown = [line for line in section.splitlines() if line.startswith("| `")]
    assert shown == [
        f"| `{one.name.replace(EXTENSION, '…')}` | {', '.join(one.bindings) or 'CDAP'} | {one.fate} |" for one in KNOWN
    ]


def test_every_setting_that_a_row_names_exists() -> None:
    tables = {table.name: getattr(Settings(), table.name) for table in msgspec.structs.fields(Settings)}
    named = {name for one in KNOWN for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", one.fate)}
    of_settings = {name for name in named if name.split(".")[0] in tables and not name.startswith("instance")}
    assert len(of_settings) > 25
    for name in of_settings:
        value: Any = tables[name.split(".")[0]]
        for part in name.split(".")[1:]:
            value = getattr(value, part)
