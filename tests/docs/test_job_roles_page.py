"""The page on job roles: it names presets and profiles, and its commands print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ranger_cdap.cdap.presets import load_preset, preset_names, preset_profiles
from ranger_cdap.cli.main import main
from ranger_cdap.testing import embedded_ranger
from ranger_cdap.tools.roles.role_plan import ROLE_LABEL
from tests.docs.markdown_pages import ROOT, text_of
from tests.testing.admin.caller import Caller

PAGE = ROOT / "docs" / "how-to" / "give-people-job-roles.md"
REFERENCE = ROOT / "docs" / "reference" / "job-roles.md"
PRESETS = {name: load_preset(name, "default") for name in preset_names()}
STEP = re.compile(r"^```sh\n(.*?)\n```\n\n```text\n(.*?)```$", re.DOTALL | re.MULTILINE)


def test_the_page_names_the_presets_the_profiles_and_the_label() -> None:
    text = text_of(PAGE)
    for name in PRESETS:
        assert f"`{name}`" in text
    for profile in preset_profiles():
        assert f"`{profile}`" in text
    assert f"`{ROLE_LABEL}`" in text


def test_what_a_profile_allows_besides_is_in_the_reference() -> None:
    base = {name: set(preset.also) for name, preset in PRESETS.items()}
    text = text_of(REFERENCE)
    for profile in preset_profiles():
        for name in preset_names():
            for operation in set(load_preset(name, profile).also) - base[name]:
                assert re.search(rf"In `{profile}`.*`{re.escape(operation)}`", text, re.DOTALL), (profile, operation)


def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = STEP.findall(text_of(PAGE))
    assert len(steps) == 3
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
