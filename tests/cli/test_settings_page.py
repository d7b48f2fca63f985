"""`docs/reference/configuration.md` is made from the settings, and what it says of them is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from pages.settings import field_descriptions, page

from ranger_cdap.config import (
    CallerSettings,
    ConfirmSettings,
    NotifySettings,
    ProxySettings,
    Settings,
    SourceSettings,
    Table,
    load_settings,
    parse_settings,
)
from ranger_cdap.errors import ConfigError


@dataclass(frozen=True)
class Row:
    """A setting as the page has it."""

    table: str
    key: str
    variable: str
    type: str
    default: str
    meaning: str

    @property
    def values(self) -> list[str]:
        """What the default consists of; nothing where none is shown literally."""
        return [] if " in the user" in self.default else re.findall(r"`([^`]+)`", self.default)


def rows() -> Iterator[Row]:
    for section in page().split("\n## ")[1:]:
        table = section.split("`")[1]
        for line in re.findall(r"^\| (`.*) \|$", section, re.MULTILINE):
            first, type_, default, meaning = line.split(" | ")
            key, variable, *_ = [*re.findall(r"`([^`]+)`", first), ""]
            yield Row(table, key, variable, type_, default, meaning)


ROWS = list(rows())
WITH_VARIABLE = [row for row in ROWS if row.variable]
TABLES: dict[str, type[Table]] = {
    **{f"[{field.name}]": field.type for field in msgspec.structs.fields(Settings)},
    "[[sync.sources]]": SourceSettings,
    "[sync.confirm]": ConfirmSettings,
    "[[sync.notify]]": NotifySettings,
    "[[service.callers]]": CallerSettings,
    "[service.proxy]": ProxySettings,
}


def label(row: Row) -> str:
    return f"{row.table} {row.key}"


@pytest.mark.parametrize("struct", TABLES.values(), ids=TABLES)
def test_every_setting_has_a_sentence(struct: type[Table]) -> None:
    said = field_descriptions(struct)
    assert list(said) == [field.name for field in msgspec.structs.fields(struct)]
    assert not [name for name, text in said.items() if "|" in text or "\n" in text or not text.endswith(".")]


def test_every_setting_is_on_the_page_once() -> None:
    inner = {heading.strip("[]") for heading in TABLES}
    fields = [
        f"{heading} {field.name}"
        for heading, struct in TABLES.items()
        for field in msgspec.structs.fields(struct)
        if f"{heading.strip('[]')}.{field.name}" not in inner
    ]
    assert sorted(map(label, ROWS)) == sorted(fields)


@pytest.mark.parametrize("row", WITH_VARIABLE, ids=label)
def test_its_variable_sets_it_and_the_default_shown_is_the_default(row: Row, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").touch()
    table = row.table.strip("[]")
    if row.values:
        text = ", ".join(value if row.type == "text" else value.replace("_", "") for value in row.values)
        assert load_settings(tmp_path / "empty.toml", {row.variable: text}) == Settings()
    with pytest.raises(ConfigError, match=f"did you mean `{table}.{row.key}`"):
        load_settings(tmp_path / "empty.toml", {f"{row.variable}X": "1"})


@pytest.mark.parametrize("row", [row for row in ROWS if not row.variable], ids=label)
def test_what_has_no_variable_has_none(row: Row, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").touch()
    variable = f"RANGER_CDAP_{'__'.join((*row.table.strip('[]').split('.'), row.key))}".upper()
    with pytest.raises(ConfigError):
        load_settings(tmp_path / "empty.toml", {variable: "1"})


@pytest.mark.parametrize("row", [row for row in ROWS if row.default == "required"], ids=label)
def test_what_must_be_given_has_no_default(row: Row) -> None:
    table, name = row.table.strip("[]").split(".")
    given = {"name": "n", "kind": "audit", "roles": ["audit"], "url": "https://s", "caller": "c", "secret": "s"}
    wanted = {other.key for other in ROWS if other.table == row.table and other.default == "required"}
    full = {key: given[key] for key in wanted}
    assert parse_settings({table: {name: [full]}}, origin="a test")
    with pytest.raises(ConfigError, match=f"`{row.key}`"):
        parse_settings({table: {name: [{k: v for k, v in full.items() if k != row.key}]}}, origin="a test")
