"""Every property of the predecessor's bindings has a row in the page of them, and names settings that exist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from pages.predecessor import properties

from ranger_cdap.config import Settings
from ranger_cdap.config.cdap_site import SiteProperty
from tests.docs.markdown_pages import ROOT

EXTENSION = "security.authorization.extension.config."
THERE = tomllib.loads((ROOT / "tests" / "data" / "predecessor-properties.toml").read_text(encoding="utf-8"))
KNOWN = properties()


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


def test_every_setting_that_a_row_names_exists() -> None:
    tables = {table.name: getattr(Settings(), table.name) for table in msgspec.structs.fields(Settings)}
    named = {name for one in KNOWN for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", one.fate)}
    of_settings = {name for name in named if name.split(".")[0] in tables and not name.startswith("instance")}
    assert len(of_settings) > 25
    for name in of_settings:
        value: Any = tables[name.split(".")[0]]
        for part in name.split(".")[1:]:
            value = getattr(value, part)
