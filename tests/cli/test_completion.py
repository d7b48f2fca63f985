"""What a shell completes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ranger_cdap.cli.main import main

COMPLETED = [
    ("ranger-cdap acc", ["access"]),
    (
        "ranger-cdap policies ",
        ["lint", "test", "diff", "refresh", "export", "apply"],
    ),
    ("ranger-cdap check alice dataset.tr", ["dataset.truncate"]),
    ("ranger-cdap check alice topic.cre", ["topic.create"]),
    ("ranger-cdap check alice dataset.get data", ["dataset:", "dataset_module:", "dataset_type:"]),
    ("ranger-cdap check alice dataset.get dataset:", ["dataset:"]),
    ("ranger-cdap access --entity name", ["namespace:"]),
    ("ranger-cdap needs --profile 00", ["000", "001", "001-prose", "002", "003", "004"]),
    ("ranger-cdap needs --type sch", ["schedule"]),
    ("ranger-cdap check a application.deploy application:n.a --with da", ["datasets="]),
    ("ranger-cdap --set ranger.ser", ["ranger.service="]),
    ("ranger-cdap check --js", ["--json"]),
    ("ranger-cdap check alice 'no end", []),
]


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def completed(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setenv("_RANGER_CDAP_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    return [text.partition(",")[2] for text in capsys.readouterr().out.splitlines() if text]


@pytest.mark.parametrize(("line", "words"), COMPLETED, ids=[line for line, _ in COMPLETED])
def test_what_is_completed(
    line: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(line, monkeypatch, capsys) == words


def test_operations_are_those_of_the_configured_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "check alice dataset.exi"
    (tmp_path / "other.toml").write_text('[cdap]\nprofile = "003"\n')
    assert completed(f"ranger-cdap {line}", monkeypatch, capsys) == ["dataset.exists"]
    assert completed(f"ranger-cdap --config other.toml {line}", monkeypatch, capsys) == []
    (tmp_path / "other.toml").write_text("no settings")  # pressing a key is no time to say so
    assert completed(f"ranger-cdap --config other.toml {line}", monkeypatch, capsys) == ["dataset.exists"]


def script_of(shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("_RANGER_CDAP_COMPLETE", f"{shell}_source")
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_the_program(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = script_of(shell, monkeypatch, capsys)
    assert f"_RANGER_CDAP_COMPLETE={shell}_complete" in script
    assert "ranger-cdap" in script.splitlines()[-2] + script.splitlines()[-1]
    if shell == "zsh":
        assert "compadd -U -V unsorted -S '' -a begun" in script
    if executable := shutil.which(shell):
        subprocess.run([executable, "-n"], input=script, text=True, check=True)


BASH = """
source script
complete() { :; }
compopt() { echo "compopt $*"; }
COMP_LINE="$1" COMP_POINT=${#1}
_ranger_cdap_completion
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "ranger-cdap check alice dataset.get data",
            ["compopt -o nospace"] * 3 + ["dataset:", "dataset_module:", "dataset_type:"],
        ),
        ("ranger-cdap check alice dataset.get dataset:", ["compopt -o nospace", ""]),
        ("ranger-cdap doc", ["doctor"]),
        ("ranger-cdap policies test ./", ["compopt -o default", ""]),
    ],
)
def test_bash_itself(
    line: str, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script").write_text(script_of("bash", monkeypatch, capsys))
    monkeypatch.delenv("_RANGER_CDAP_COMPLETE")
    program = tmp_path / "ranger-cdap"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ranger_cdap "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH, "bash", line], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.stdout.splitlines(), done.stderr) == (told, "")
