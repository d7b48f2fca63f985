"""No room for the answer, nobody to ask, the wrong file at hand: one sentence that says what to do, no traceback."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import named


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_is_named_and_is_no_internal_error() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        ended = subprocess.run(
            [sys.executable, "-m", "ranger_cdap", "needs"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert "the answer cannot be written: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "internal error" not in ended.stderr


def test_a_terminal_that_has_no_such_letter_shows_its_number(tmp_path: Path) -> None:
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "ranger_cdap",
            *["check", "--why", "zoë", "dataset.get", "dataset:ns1.kv"],
            *named(tmp_path),
        ],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, b"error" in ended.stderr) == (ExitCode.NO, False)
    assert rb"zo\xeb" in ended.stdout


@pytest.mark.parametrize("command", ["access --entity dataset:ns1.kv", "eval --requests requests.jsonl"])
def test_of_several_files_the_one_that_can_not_be_used_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    named(tmp_path)
    Path("requests.jsonl").touch()
    Path("wrong.bin").write_bytes(b"\xff\x80")
    assert main([*command.split(), "--policies", "policies.json,wrong.bin"]) == 3
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("ranger-cdap: `wrong.bin` cannot be used: ")
    assert "it is no download of roles, tags or users" in said


def test_a_file_may_come_from_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-` is standard input, as everywhere."""
    expectation = b'[[expect]]\nuser = "bob"\noperation = "dataset.get"\nentity = "dataset:ns1.kv"\nexpected = "denied"'
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(expectation)))
    assert main(["policies", "test", "-", *named(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 of 1 expectations are met\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("policies apply wrong.bin", "`wrong.bin` cannot be used: it is not UTF-8"),
        ("policies test wrong.bin", "`wrong.bin` is not a TOML file: it is not UTF-8"),
        ("--config wrong.bin config", "`wrong.bin` cannot be read: it is not UTF-8"),
    ],
)
def test_a_file_of_garbage_is_named(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.bin").write_bytes(b"\xff\x80")
    assert main(command.split()) == 3
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["setup --yes", "policies export", "policies apply --yes policies.json"])
def test_a_password_is_asked_for_on_a_terminal_only(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a script it would be echoed, or waited for until somebody wonders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies.json").write_text('{"policies": []}')
    monkeypatch.delenv("RANGER_CDAP_SETUP_PASSWORD", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Not-A-Terminal\n"))

    assert main(command.split()) == 3
    assert "RANGER_CDAP_SETUP_PASSWORD to the password of admin" in capsys.readouterr().err


def test_an_export_is_as_good_as_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both hold policies, and a newcomer has the export at hand."""
    monkeypatch.chdir(tmp_path)
    item = {"users": ["alice"], "accesses": [{"type": "read"}]}
    resources = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}}
    Path("all.json").write_text(
        json.dumps({"policies": [{"name": "a", "resources": resources, "policyItems": [item]}]})
    )
    Path("none.jsonl").write_text("")

    assert main(["access", "--entity", "namespace:ns1", "--policies", "all.json", "--json"]) == 0
    (alice,) = (row for row in json.loads(capsys.readouterr().out)["holders"] if row["name"] == "alice")
    assert alice["accesses"]["read"]["policy"] == {"id": 1, "name": "a", "zone": None}
    assert main(["policies", "lint", "--policies", "all.json"]) == 0
    assert main(["eval", "--requests", "none.jsonl", "--policies", "all.json"]) == 0
