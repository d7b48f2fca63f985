"""The installed plugin: found by its entry point, and the effect of each of its hooks."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap import Answer, entity_id
from ranger_cdap.audit import AuditRecord
from ranger_cdap.cli.main import main
from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError
from ranger_cdap.plugins.manager import audit_sinks, plugin_manager
from ranger_cdap_example import freeze, syslog_sink

NAME = "example"


def answer(operation: str) -> Answer:
    return Answer(
        allowed=True,
        operation=operation,
        entity=entity_id("dataset", ["ns1", "purchases"]),
        person="alice",
        requirements=(),
    )


def test_it_is_installed_with_its_three_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--json"]) == 0
    found = {one["hook"]: one for one in json.loads(capsys.readouterr().out) if one["plugin"] == NAME}

    assert found.keys() == {"ranger_cdap_veto", "ranger_cdap_audit_sinks", "ranger_cdap_event_sources"}
    assert {one["package"] for one in found.values()} == {"ranger-cdap-example-plugin"}
    assert found["ranger_cdap_audit_sinks"]["names"] == ["syslog"]
    assert found["ranger_cdap_event_sources"]["names"] == ["csv"]


@pytest.fixture
def frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "freeze"
    monkeypatch.setenv(freeze.VARIABLE, str(file))
    return file


@pytest.mark.parametrize(
    ("operation", "reasons"),
    [
        ("dataset.truncate", ["changes are frozen"]),
        ("application.deploy", ["changes are frozen"]),
        ("dataset.get", []),
        ("program.view_logs", []),
        ("dataset.an_operation_of_tomorrow", ["changes are frozen"]),
    ],
)
def test_while_the_file_is_there_only_looking_is_allowed(frozen: Path, operation: str, reasons: list[str]) -> None:
    hook = plugin_manager().hook.ranger_cdap_veto
    assert hook(answer=answer(operation)) == []
    frozen.touch()
    assert hook(answer=answer(operation)) == reasons


def test_where_it_cannot_find_out_it_raises_and_so_denies(frozen: Path) -> None:
    frozen.parent.joinpath("file").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(freeze.VARIABLE, str(frozen.parent / "file" / "below"))
        with pytest.raises(NotADirectoryError):
            freeze.reason_to_deny(answer("dataset.truncate"))


@pytest.fixture
def daemon() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(10)
        yield listening


def test_records_reach_the_daemon_one_message_each(daemon: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(syslog_sink.VARIABLE, f"127.0.0.1:{daemon.getsockname()[1]}")
    sink = audit_sinks(plugin_manager())["syslog"](Settings())
    record = AuditRecord(
        repo="cdapdev", reqUser="al\nice", evtTime=1, access="dataset.get", resource="cdap/ns1/kv", resType="dataset",
        action="read", result=1, policy=7,
    )  # fmt: skip
    sink.write([record, record])
    sink.close()

    messages = [daemon.recv(65536) for _ in range(2)]
    for message in messages:
        head, _, body = message.partition(b": ")
        assert head == b"<86>ranger-cdap"
        assert b"\n" not in body
        assert json.loads(body)["reqUser"] == "al\nice"


@pytest.mark.parametrize("address", ["", "localhost", ":514", "host:port"])
def test_an_address_that_is_none_is_one_sentence(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(syslog_sink.VARIABLE, address)
    with pytest.raises(ConfigError, match="must be HOST:PORT"):
        syslog_sink.syslog_sink(Settings())
