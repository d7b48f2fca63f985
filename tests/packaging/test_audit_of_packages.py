"""`make audit`: that nobody could look is said loudly, and is no good end unless that was accepted before."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ANSWERS = {
    # what pip-audit says, its exit code, whether it looked, and the end of ours, by default and with AUDIT_OFFLINE=1
    "nothing known": ("No known vulnerabilities found", 0, True, 0, 0),
    "something known": ("Found 1 known vulnerability in 1 package", 1, True, 1, 1),
    "packages it has no answer for": ("anyio  Dependency not found on index: could not be audited", 0, False, 1, 0),
    "no way to the service": ("requests.exceptions.ConnectionError: Connection refused", 1, False, 1, 0),
    "a time-out": ("the request timed out", 1, False, 1, 0),
}


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("name", ANSWERS)
def test_that_nobody_could_look_is_said(name: str, offline: bool, tmp_path: Path) -> None:
    said, code, looked, *ends = ANSWERS[name]
    ours = tmp_path / ".ci" / "audit"
    script(ours, (ROOT / ".ci" / "audit").read_text(encoding="utf-8"))
    script(tmp_path / ".venv" / "bin" / "python", "exit 0")
    script(tmp_path / "tool" / "bin" / "pip-audit", f"echo '{said}'; exit {code}")
    environment = {key: value for key, value in os.environ.items() if key != "AUDIT_OFFLINE"}
    environment |= {"AUDIT_OFFLINE": "1"} if offline else {}

    ran = subprocess.run(
        ["sh", str(ours), str(tmp_path / "tool")], capture_output=True, text=True, env=environment, check=False
    )

    assert ran.returncode == ends[offline], ran.stderr
    assert ("VULNERABILITIES WERE NOT LOOKED UP" in ran.stderr) is not looked


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("run-in-*.md")), ROOT / "docker" / "Dockerfile"]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_what_is_installed_for_production_has_the_hashes_of_the_lock_files(page: Path) -> None:
    commands = re.findall(r"^[^`#\n]*\bpip install\b.*$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert all("--require-hashes" in command or "--no-index" in command for command in commands)
    locks = re.findall(r"(docker/\w+\.lock)", " ".join(commands))
    assert all("--hash=sha256:" in (ROOT / lock).read_text(encoding="utf-8") for lock in locks)
    assert commands or page.name != "run-in-production.md"
