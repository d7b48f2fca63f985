"""The scripts of the packages, run as dpkg and rpm run them: an administrator's decisions and the state survive."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
PARTS = ROOT / ".ci" / "packages"
SERVICE, SYNC, TIMER = "ranger-cdap.service", "ranger-cdap-sync.service", "ranger-cdap-sync.timer"
UNITS = {"ranger-cdap": [SERVICE], "ranger-cdap-sync": [SYNC, TIMER]}
STATE = {"ranger-cdap": "var/lib/ranger-cdap/cache", "ranger-cdap-sync": "var/lib/ranger-cdap-sync/state"}
SECRET = "etc/ranger-cdap/plugin.password"

PHASES = ("preinstall", "postinstall", "preremove", "postremove")
DEB = {
    "install": [("preinstall", "install"), ("postinstall", "configure", "")],
    "upgrade": [
        ("preremove", "upgrade", "0.2.0"),
        ("preinstall", "upgrade", "0.1.0"),
        ("postremove", "upgrade", "0.2.0"),
        ("postinstall", "configure", "0.1.0"),
    ],
    "failed upgrade": [
        ("preremove", "upgrade", "0.2.0"),
        ("preinstall", "upgrade", "0.1.0"),
        ("postremove", "abort-upgrade", "0.1.0"),
        ("postinstall", "abort-upgrade", "0.2.0"),
    ],
    "remove": [("preremove", "remove"), ("postremove", "remove")],
    "purge": [("preremove", "remove"), ("postremove", "remove"), ("postremove", "purge")],
}
RPM = {
    "install": [("preinstall", "1"), ("postinstall", "1")],
    "upgrade": [("preinstall", "2"), ("postinstall", "2"), ("preremove", "1"), ("postremove", "1")],
    "remove": [("preremove", "0"), ("postremove", "0")],
}
"""The calls of one operation in their order: Debian Policy §6.5, and "Scriptlets" in Fedora's packaging guidelines."""

SYSTEMCTL = """#!/bin/sh
# A systemd of two folders: a unit is enabled or active if it has a file there.
[ "$1" != --no-reload ] || shift
verb=$1
shift
case "$1" in --now | --quiet) shift ;; esac
for unit; do
  case $verb in
  disable) rm -f "$SYSTEMD/enabled/$unit" "$SYSTEMD/active/$unit" ;;
  stop) rm -f "$SYSTEMD/active/$unit" ;;
  start) touch "$SYSTEMD/active/$unit" ;;
  is-enabled) [ -e "$SYSTEMD/enabled/$unit" ] || exit 1 ;;
  try-restart) [ ! -e "$SYSTEMD/active/$unit" ] || echo again >>"$SYSTEMD/active/$unit" ;;
  *) exit 64 ;;
  esac
done
[ $# -gt 0 ] || [ "$verb" = daemon-reload ]
"""


@dataclass(frozen=True, slots=True)
class System:
    """A system below a folder, with what its administrator did."""

    root: Path

    def units(self, state: str) -> set[str]:
        return {path.name for path in (self.root / "systemd" / state).iterdir()}

    def run(self, package: str, phase: str, *arguments: str) -> None:
        text = (PARTS / f"{package}.{phase}").read_text(encoding="utf-8")
        for place in ("/run/systemd/system", "/etc/ranger-cdap", "/var/lib/ranger-cdap"):
            text = text.replace(f" {place}", f" {self.root}{place}")
        path = f"{self.root}/tools:{os.environ['PATH']}"
        variables = {"PATH": path, "SYSTEMD": str(self.root / "systemd")}
        done = subprocess.run(
            ["sh", "-s", *arguments], input=text, env=variables, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (package, phase, arguments)


@contextmanager
def system(*, booted: bool) -> Iterator[System]:
    with TemporaryDirectory() as work:
        root = Path(work)
        for folder in ("tools", "systemd/enabled", "systemd/active", *STATE.values(), "etc/ranger-cdap"):
            (root / folder).mkdir(parents=True)
        if booted:
            (root / "run/systemd/system").mkdir(parents=True)
        (root / SECRET).write_text("secret", encoding="utf-8")
        for name in ("systemctl", "systemd-sysusers", "systemd-tmpfiles"):
            (root / "tools" / name).write_text(SYSTEMCTL if name == "systemctl" else "#!/bin/sh\n", encoding="utf-8")
            (root / "tools" / name).chmod(0o755)
        yield System(root)


OPERATIONS = [(form, name) for form, calls in (("deb", DEB), ("rpm", RPM)) for name in calls]
BOTH = st.tuples(st.booleans(), st.booleans())
DECISIONS = st.fixed_dictionaries({SERVICE: BOTH, TIMER: BOTH, SYNC: st.tuples(st.just(False), st.booleans())})
"""Of each unit, whether it is enabled and whether it is active. The sync job is never enabled: its timer starts it."""


@pytest.mark.parametrize(("form", "operation"), OPERATIONS, ids=[" ".join(one) for one in OPERATIONS])
@pytest.mark.parametrize("package", UNITS)
@settings(max_examples=8, deadline=None)
@given(decisions=DECISIONS, booted=st.booleans())
def test_an_operation_keeps_what_the_administrator_decided(
    package: str, form: str, operation: str, decisions: dict[str, tuple[bool, bool]], booted: bool
) -> None:
    with system(booted=booted) as here:
        for unit, states in decisions.items():
            for state, there in zip(("enabled", "active"), states, strict=True):
                if there:
                    (here.root / "systemd" / state / unit).touch()
        enabled, active = here.units("enabled"), here.units("active")
        for phase, *arguments in (DEB if form == "deb" else RPM)[operation]:
            here.run(package, phase, *arguments)

        gone = set(UNITS[package]) if booted and operation in {"remove", "purge"} else set()
        assert here.units("enabled") == enabled - gone
        # Nothing is started that was neither running nor enabled.
        assert here.units("active") <= active | enabled
        # A run of the sync job may end early; its timer starts the next one.
        assert active - gone - {SYNC} <= here.units("active") | (set() if TIMER in enabled else {TIMER})
        assert not here.units("active") & gone
        for owner, state in STATE.items():
            assert (here.root / state).exists() is not (operation == "purge" and owner == package)
        assert (here.root / SECRET).exists() is not (operation == "purge" and package == "ranger-cdap")


def test_an_upgrade_restarts_the_service_that_runs() -> None:
    with system(booted=True) as here:
        running = here.root / "systemd/active" / SERVICE
        running.touch()
        for phase, *arguments in DEB["upgrade"]:
            here.run("ranger-cdap", phase, *arguments)
        assert running.read_text(encoding="utf-8") == "again\n"


@pytest.mark.parametrize("package", UNITS)
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("arguments", [(), ("disappear",), ("abort-install",), ("3",), ("failed-upgrade", "0.1.0")])
def test_other_calls_change_nothing(package: str, phase: str, arguments: tuple[str, ...]) -> None:
    with system(booted=True) as here:
        before = set(here.root.rglob("*"))
        here.run(package, phase, *arguments)
        assert set(here.root.rglob("*")) == before
