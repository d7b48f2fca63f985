"""The units of ranger_cdap/units: options that systemd knows, two users, and the places that the guide names."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.config import Settings, parse_settings
from ranger_cdap.config.secret_files import NEEDS, Program
from tests.docker.fixtures import parse_command

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "ranger_cdap" / "units"
GUIDE = (ROOT / "docs" / "how-to" / "run-in-production.md").read_text(encoding="utf-8")

KNOWN = {
    "Unit": {"Description", "Wants", "After"},
    "Service": {
        *("User", "Group", "SupplementaryGroups", "Environment", "ExecStart", "Restart", "RestartSec"),
        "TimeoutStopSec",
        *("StateDirectory", "StateDirectoryMode", "ReadWritePaths", "InaccessiblePaths", "UMask"),
        *("ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectControlGroups"),
        *("ProtectKernelModules", "ProtectKernelTunables", "RestrictSUIDSGID", "CapabilityBoundingSet"),
        "NoNewPrivileges",
    },
    "Install": {"WantedBy"},
}
"""What systemd 245 and later have; `systemd-analyze verify` knows all, where there is one."""


def unit(name: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(comment_prefixes="#", strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((UNITS / name).read_text(encoding="utf-8"))
    return {section: dict(parser[section]) for section in parser.sections()}


SERVICE, SYNC = (unit(name)["Service"] for name in ("ranger-cdap.service", "ranger-cdap-sync.service"))
NAMES = ["ranger-cdap.service", "ranger-cdap-sync.service"]


def settings() -> tuple[Settings, dict[str, str]]:
    """The settings of the guide, and the file of each secret in them."""
    (text,) = re.findall(r"```toml\n(\[ranger\]\n.*?)```", GUIDE, re.DOTALL)
    files = dict(re.findall(r'^(\w+) = "file:(\S+)"$', text, re.MULTILINE))
    return parse_settings(tomllib.loads(text), origin="the guide", environ={}), files


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_one_of_systemd(name: str) -> None:
    for section, options in unit(name).items():
        assert options.keys() <= KNOWN[section], section


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_but_that_nothing_is_installed_here(tmp_path: Path) -> None:
    for name in NAMES:
        text = (UNITS / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", text), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--generators=no", *(tmp_path / name for name in NAMES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_they_are_two_users_that_have_the_group_of_the_events_in_common() -> None:
    assert (SERVICE["User"], SYNC["User"]) == ("ranger-cdap", "ranger-cdap-sync")
    assert (SERVICE["Group"], SYNC["Group"]) == ("ranger-cdap", "ranger-cdap-sync")
    guide, _ = settings()
    assert SERVICE["SupplementaryGroups"] == SYNC["SupplementaryGroups"] == guide.service.events_group


def test_each_can_write_its_own_directory_and_nothing_of_the_other() -> None:
    guide, _ = settings()
    state = {unit["User"]: Path("/var/lib", unit["StateDirectory"]) for unit in (SERVICE, SYNC)}
    for place in (guide.plugin.cache_dir, guide.service.events_dir):
        assert place.parent == state["ranger-cdap"]
    assert guide.sync.state_dir.parent == state["ranger-cdap-sync"]
    assert guide.sync.metrics_file is not None
    assert SYNC["ReadWritePaths"] == f"-{guide.sync.metrics_file.parent}"
    assert f"-{state['ranger-cdap-sync']}" in SERVICE["InaccessiblePaths"].split()
    assert f"-{guide.plugin.cache_dir}" in SYNC["InaccessiblePaths"].split()
    # Others pass through the one to the events, and through the other not at all.
    assert (SERVICE["StateDirectoryMode"], SYNC["StateDirectoryMode"]) == ("0711", "0700")
    for each in (SERVICE, SYNC):
        assert each["UMask"] == "0077"
        assert each["ProtectSystem"] == "strict"
        assert {each[name] for name in ("ProtectHome", "PrivateTmp", "NoNewPrivileges", "RestrictSUIDSGID")} == {"true"}
        assert each["CapabilityBoundingSet"] == ""
    assert "ReadWritePaths" not in SERVICE


def test_they_start_commands_of_ours_with_the_settings_of_the_guide() -> None:
    for each, command in ((SERVICE, "serve"), (SYNC, "run")):
        words = shlex.split(each["ExecStart"])
        assert words[0] == "/opt/ranger-cdap/bin/ranger-cdap"
        assert parse_command([word for word in words[1:] if word != "--quiet"]).info_name == command
        assert "RANGER_CDAP_CONFIG=/etc/ranger-cdap/ranger-cdap.toml" in each["Environment"].split()
    assert parse_command(shlex.split(SYNC["ExecStart"])[2:]).params["interval"] == 5
    assert SERVICE["Restart"] == SYNC["Restart"] == "always"


def test_the_users_and_directories_that_are_made_are_those_of_the_units() -> None:
    lines = [shlex.split(line, comments=True) for line in (UNITS / "ranger-cdap.sysusers").read_text().splitlines()]
    made = [line for line in lines if line]
    homes = {line[1]: line[4] for line in made if line[0] == "u"}
    assert homes == {unit["User"]: f"/var/lib/{unit['StateDirectory']}" for unit in (SERVICE, SYNC)}
    assert ["g", "ranger-cdap-events", "-"] in made
    assert {(line[1], line[2]) for line in made if line[0] == "m"} == {(user, "ranger-cdap-events") for user in homes}
    directories = [line.split() for line in (UNITS / "ranger-cdap.tmpfiles").read_text().splitlines() if line[0] == "d"]
    assert {(line[1], line[2], line[3]) for line in directories if line[1] != "/etc/ranger-cdap"} == {
        (f"/var/lib/{unit['StateDirectory']}", unit["StateDirectoryMode"], unit["User"]) for unit in (SERVICE, SYNC)
    }


def test_the_guide_gives_every_secret_to_the_user_that_needs_it() -> None:
    (table,) = re.findall(r"\| file \| owner \| mode \|\n\| --- \| --- \| --- \|\n((?:\|.*\|\n)+)", GUIDE)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    owner = {file: whose for files, whose, _ in rows for file in re.findall(r"`([\w.]+\.(?:password|secret))`", files)}
    users = {Program.SERVICE: "`ranger-cdap`", Program.SYNC: "`ranger-cdap-sync`"}
    _, files = settings()
    assert {Path(path).name for path in files.values()} <= owner.keys()
    for setting, file in {
        "plugin.password": "plugin.password",
        "sync.password": "sync.password",
        "service.callers.secret": "enforce.secret",
        "audit.solr_password": "solr.password",
    }.items():
        programs = NEEDS[setting].programs
        wanted = users[next(iter(programs))] if len(programs) == 1 else "root, group `ranger-cdap-events`"
        assert owner[file] == wanted, setting


def test_the_guide_points_to_every_file() -> None:
    for name in NAMES:
        assert f"ranger_cdap/units/{name}" in GUIDE


def test_the_guide_says_of_every_exit_code_what_a_scheduler_does() -> None:
    (table,) = re.findall(r"\| exit code \| task \| reason \|\n\| --- \| --- \| --- \|\n((?:\|.*\|\n)+)", GUIDE)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    task = {int(code): what for codes, what, _ in rows for code in codes.split(", ")}
    assert task.keys() == {int(code) for code in ExitCode}
    assert {code for code, what in task.items() if what == "succeeds"} == {ExitCode.OK}
    assert task[ExitCode.INVALID_INPUT] == task[ExitCode.NO] == "fails without a retry"
