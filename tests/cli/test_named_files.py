"""Files that the user names and that cannot be used: exit code 3 and a sentence, whatever the command and the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import named
from tests.cli.test_command_laws import DOING

POLICIES = ("check bob dataset.get dataset:ns1.kv", "access --entity dataset:ns1.kv", "access --user carol",
            "access --user carol --entity dataset:ns1.kv", "access --entity namespace:ns1 --format matrix",
            "groups carol", "policies lint")  # fmt: skip

# Command lines with a file that is read, as FILE; DOWNLOAD is a usable download of policies.
READING = [
    *(f"{asked} --policies FILE" for asked in POLICIES),
    *(f"{asked} --policies DOWNLOAD,FILE" for asked in POLICIES),
    "setup --from-cdap-site FILE",
    "import sentry FILE",
    "policies test FILE",
    "audit report FILE --policies DOWNLOAD",
    "audit report audit --policies FILE",
    "policies diff DOWNLOAD DOWNLOAD --replay FILE",
    "policies lint --policies DOWNLOAD --propose --audit FILE",
    "policies lint --policies DOWNLOAD --propose --inventory FILE",
    "policies diff FILE DOWNLOAD",
    "policies diff DOWNLOAD,FILE DOWNLOAD",
    "audit verify FILE",
    "policies test expectations.toml --policies FILE",
    "policies test expectations.toml --policies DOWNLOAD,FILE",
    "shadow report audit --policies DOWNLOAD,FILE",
    "shadow report audit --policies FILE",
    "eval --requests DOWNLOAD --policies DOWNLOAD,FILE",
    "shadow report FILE --policies DOWNLOAD",
    "eval --policies FILE --requests DOWNLOAD",
    "eval --policies DOWNLOAD --requests FILE",
    "access --entity namespace:ns1 --format matrix --policies DOWNLOAD --inventory FILE",
    "access --format parquet --out x --inventory FILE --policies DOWNLOAD",
    "access --format parquet --out x --inventory ENTITIES --users FILE --policies DOWNLOAD",
    "policies lint --policies DOWNLOAD --inventory FILE",
    "--config FILE config",
    "check bob dataset.get dataset:ns1.kv --service https://127.0.0.1:1 --caller bob --cert-file FILE --key-file FILE",
]

# Options and arguments of files that are written, or whose commands need Ranger, CDAP or a sync job before they read.
OTHER = {
    "--out", "--database", "--directory",
    "policies apply", "sync inventory", "sync baseline", "sync reconcile",
    "units", "--deltas",
}  # fmt: skip


def test_every_file_that_is_read_is_tried() -> None:
    for name, command in DOING.items():
        tried = [line for line in READING if line.startswith(name)]
        for one in command.params:
            if isinstance(one.type, click.Path) and not OTHER & {name, one.opts[0], f"{name} {one.opts[0]}"}:
                is_option = one.param_type_name == "option"
                assert any(f"{one.opts[0]} FILE" in line or not is_option for line in tried), (name, one.name)


# Commands whose answer is about such lines.
READS_ANY_LINES = {
    "audit verify FILE": ExitCode.NO,
    "eval --policies DOWNLOAD --requests FILE": ExitCode.ERROR,
}


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANGER_CDAP_SERVICE_SECRET", "not-used-by-anyone-else")


def run(folder: Path, line: str) -> int:
    named(folder)
    (folder / "expectations.toml").write_text(
        '[[expect]]\nuser = "bob"\noperation = "dataset.get"\nentity = "dataset:ns1.kv"\nexpected = "denied"\n'
    )
    (folder / "audit").touch()
    (folder / "entities").write_text(
        '{"v": 1, "instance": "cdap", "taken": "2026-11-01T00:00:00Z"}\n{"type": "dataset", "parts": ["ns1", "kv"]}\n'
    )
    names = {"FILE": "given", "DOWNLOAD": "policies.json", "ENTITIES": "entities"}
    words = [",".join(names.get(part, part) for part in word.split(",")) for word in line.split()]
    return main([*words, "--quiet"])


def is_binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 4)


KINDS: dict[str, Callable[[Path], None]] = {
    "missing": lambda path: None,
    "directory": Path.mkdir,
    "binary": is_binary,
    "loop": lambda path: path.symlink_to(path),
}
if os.geteuid():
    KINDS["unreadable"] = lambda path: path.touch(mode=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", READING)
def test_a_file_that_cannot_be_used_is_invalid_input(
    line: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    KINDS[kind](tmp_path / "given")
    code = run(tmp_path, line)
    err = capfd.readouterr().err
    if kind == "binary" and line in READS_ANY_LINES:
        assert code == READS_ANY_LINES[line], err
    else:
        assert code == ExitCode.INVALID_INPUT, err
        assert "given" in err
        assert "Traceback" not in err


@pytest.mark.parametrize("line", READING)
def test_a_pipe_that_nothing_writes_to_is_an_empty_file(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = []
    for make in (Path.touch, os.mkfifo):
        (tmp_path / "given").unlink(missing_ok=True)
        make(tmp_path / "given")
        codes.append(run(tmp_path, line))
    assert codes[0] == codes[1], capfd.readouterr()
