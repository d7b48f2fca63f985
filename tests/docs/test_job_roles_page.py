"""The page on job roles: its tables are those of the presets, and its commands print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ranger_cdap.cdap.presets import ldap_without_preset, load_preset, preset_names, preset_profiles
from ranger_cdap.cli.main import main
from ranger_cdap.policies.manage.role_plan import ROLE_LABEL
from ranger_cdap.testing import embedded_ranger
from tests.docs.markdown_pages import ROOT, text_of
from tests.embedded_admin.caller import Caller

PAGE = ROOT / "docs" / "how-to" / "give-people-job-roles.md"
PRESETS = {name: load_preset(name, "default") for name in preset_names()}
STEP = re.compile(r"^```sh\n(.*?)\n```\n\n```text\n(.*?)```$", re.DOTALL | re.MULTILINE)


def operations_table() -> str:
    """A row for each operation of a preset; `also` where its privileges allow it besides."""
    known = dict.fromkeys(operation for preset in PRESETS.values() for operation in (*preset.operations, *preset.also))
    rows = [f"| operation | {' | '.join(PRESETS)} |", "| --- |" + " --- |" * len(PRESETS)]
    for operation in sorted(known):
        cells = [
            "yes" if operation in preset.operations else "also" if operation in preset.also else ""
            for preset in PRESETS.values()
        ]
        rows.append(f"| `{operation}` | {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |"))
    return "\n".join(rows) + "\n"


def ldap_table() -> str:
    """A row for each role of the LDAP binding."""
    rows = ["| role of the LDAP binding | here |", "| --- | --- |"]
    rows += [f"| {role} | `{name}` |" for name, preset in PRESETS.items() for role in preset.ldap]
    rows += [f"| {role} | {instead} |" for role, instead in ldap_without_preset().items()]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("table", [operations_table(), ldap_table()], ids=["operations", "LDAP"])
def test_a_table_of_the_page_is_that_of_the_presets(table: str) -> None:
    assert table in text_of(PAGE), f"{PAGE.name} should have:\n{table}"


def test_the_page_names_the_presets_the_profiles_and_the_label() -> None:
    text = text_of(PAGE)
    for name, preset in PRESETS.items():
        assert f"| `{name}` | {preset.description} |" in text
    for profile in preset_profiles():
        assert f"`{profile}`" in text
    assert f"`{ROLE_LABEL}`" in text


def test_what_a_profile_allows_besides_is_on_the_page() -> None:
    base = {name: set(preset.also) for name, preset in PRESETS.items()}
    text = text_of(PAGE)
    for profile in preset_profiles():
        for name in preset_names():
            for operation in set(load_preset(name, profile).also) - base[name]:
                assert re.search(rf"In `{profile}`.*`{re.escape(operation)}`", text, re.DOTALL), (profile, operation)


def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = STEP.findall(text_of(PAGE))
    assert len(steps) >= 4
    with embedded_ranger() as ranger:
        admin = Caller(ranger.url, password=ranger.password.reveal())
        for group in re.findall(r"--group (\S+)", text_of(PAGE)):
            admin("POST", "/service/xusers/secure/groups", {"name": group})
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", ranger.password.reveal())
        (tmp_path / "ranger-cdap.toml").write_text(f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n')
        for command, shown in steps:
            program, *words = shlex.split(command)
            assert program == "ranger-cdap"
            assert main(words) == 0, command
            assert capsys.readouterr().out == shown, command
