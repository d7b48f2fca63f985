"""No room for the answer, nobody to ask, the wrong file at hand: one sentence that says what to do, no traceback."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ranger_cdap.cli.main import main


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")  # noqa: PTH110
def test_a_full_disk_is_named_and_is_no_internal_error() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        ended = subprocess.run(
            [sys.executable, "-m", "ranger_cdap", "operations"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert "the answer can't be written: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "internal error" not in ended.stderr


@pytest.mark.parametrize("command", ["setup --yes", "policies export", "policies import --yes policies.json"])
def test_a_password_is_asked_for_on_a_terminal_only(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a script it would be echoed, or waited for until somebody wonders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies.json").write_text('{"policies": []}')
    monkeypatch.delenv("RANGER_CDAP_SETUP_PASSWORD", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Not-A-Terminal\n"))

    assert main(command.split()) == 3
    assert "there is no terminal to ask for the password of admin" in capsys.readouterr().err


def test_an_export_is_no_download_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both hold policies, and a newcomer has the export at hand."""
    monkeypatch.chdir(tmp_path)
    Path("all.json").write_text('{"policies": [{"name": "a"}]}')

    for command in (["who", "namespace:ns1"], ["policies", "lint"], ["eval", "--requests", "-"]):
        assert main([*command, "--policies", "all.json"]) == 3
        assert "`all.json` can't be used: it is no policy download; take a plugin's cache" in capsys.readouterr().err
