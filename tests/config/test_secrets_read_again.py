"""A secret in a file is read again when the file changes; nothing that stands there for a moment locks anybody out."""

from __future__ import annotations

import base64
import logging
import os
import threading
import time
from pathlib import Path

import pytest
import requests
import responses

from ranger_cdap.audit.solr import SolrSink
from ranger_cdap.config import (
    Address,
    CallerSettings,
    ProxySettings,
    Secret,
    ServiceSettings,
    resolve_secret,
    watched_files,
)
from ranger_cdap.config import secret as secret_module
from ranger_cdap.config.watched_files import LOOK_SECONDS, WatchedFiles
from ranger_cdap.ranger.client.sign_in import credentials
from ranger_cdap.service.http.callers import Callers

OLD, NEW, NEXT = (f"{name}-secret-0123456789" for name in ("old", "new", "next"))


@pytest.fixture(autouse=True)
def _looks_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_files, "LOOK_SECONDS", 0.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(OLD)
    return path


def put(file: Path, text: str) -> None:
    """As a whole, like everything that renews secrets."""
    fresh = file.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(file)


def a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.monotonic() + 61
    monkeypatch.setattr(secret_module.time, "monotonic", lambda: later)


def test_a_changed_file_is_another_secret(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    secret = resolve_secret(f"file:{file}")
    assert (secret.reveal(), secret.accepted()) == (OLD, (OLD,))
    put(file, NEW + "\n")
    assert (secret.reveal(), secret.accepted()) == (NEW, (NEW, OLD))
    put(file, NEXT)
    assert secret.accepted() == (NEXT, NEW)
    assert secret == Secret(NEXT)
    assert not [text for text in (OLD, NEW, NEXT) if text in caplog.text + repr(secret)]


def test_the_secret_before_counts_for_a_minute(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = resolve_secret(f"file:{file}")
    put(file, NEW)
    assert secret.accepted() == (NEW, OLD)
    a_minute_later(monkeypatch)
    assert secret.accepted() == (NEW,)


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe"])
def test_what_is_no_secret_leaves_the_one_before(
    file: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    secret = resolve_secret(f"file:{file}")
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert secret.accepted() == (OLD,)
    assert "the previous secret stays in use" in caplog.text
    put(file, NEW)
    assert secret.reveal() == NEW


def test_a_link_that_is_replaced_is_a_change(tmp_path: Path) -> None:
    """As Kubernetes renews its volumes."""
    for name, text in (("1", OLD), ("2", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "secret").write_text(text)
    (tmp_path / "data").symlink_to("1")
    secret = resolve_secret(f"file:{tmp_path / 'data' / 'secret'}")
    (tmp_path / "next").symlink_to("2")
    (tmp_path / "next").replace(tmp_path / "data")
    assert secret.reveal() == NEW


def test_a_file_is_looked_at_once_a_second(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_files, "LOOK_SECONDS", LOOK_SECONDS)
    now = [0.0]
    watched, read = WatchedFiles((file,), lambda: now[0]), list[float]()
    for n in range(40):
        now[0] = n * LOOK_SECONDS / 10
        os.utime(file, (n + 1, n + 1))
        watched.if_changed(lambda: read.append(now[0]))
    assert read == [LOOK_SECONDS, 2 * LOOK_SECONDS, 3 * LOOK_SECONDS]


def test_a_change_that_could_not_be_read_is_tried_again(file: Path) -> None:
    watched, tries = WatchedFiles((file,)), list[int]()

    def read() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise MemoryError

    put(file, NEW)
    with pytest.raises(MemoryError):
        watched.if_changed(read)
    watched.if_changed(read)
    watched.if_changed(read)
    assert len(tries) == 2


# --- those who use one --------------------------------------------------------------------------------------------


def admits(callers: Callers, secret: str) -> bool:
    pair = base64.b64encode(f"enforce:{secret}".encode()).decode()
    return callers.admit({"authorization": f"Basic {pair}"}, "127.0.0.1") is not None


def callers_of(file: Path) -> Callers:
    row = CallerSettings(name="enforce", roles=("enforce",), secret=resolve_secret(f"file:{file}"))
    return Callers.of(ServiceSettings(callers=(row,)))


def test_a_caller_proves_itself_by_the_new_secret_and_for_a_minute_by_the_old_one(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers = callers_of(file)
    assert (admits(callers, OLD), admits(callers, NEW)) == (True, False)
    put(file, NEW)
    assert (admits(callers, OLD), admits(callers, NEW)) == (True, True)
    a_minute_later(monkeypatch)
    assert (admits(callers, OLD), admits(callers, NEW)) == (False, True)


@pytest.mark.parametrize("short", ["", "x", "0123456789abcde"])
def test_a_short_secret_proves_nothing_even_if_a_file_comes_to_hold_it(file: Path, short: str) -> None:
    callers = callers_of(file)
    put(file, short)
    assert not admits(callers, short)
    assert admits(callers, OLD)


def test_the_secret_of_a_proxy_changes_too(file: Path) -> None:
    proxy = ProxySettings(addresses=("10.0.0.5",), secret=resolve_secret(f"file:{file}"), callers=("enforce",))
    row = CallerSettings(name="enforce", roles=("enforce",))
    callers = Callers.of(ServiceSettings(callers=(row,), proxy=proxy))
    put(file, NEW)
    for shown, admitted in ((NEW, True), (OLD, True), (NEXT, False), ("", False)):
        headers = {"x-forwarded-user": "enforce", "x-proxy-secret": shown}
        assert (callers.admit(headers, "10.0.0.5") is not None) is admitted


def test_nobody_fails_while_a_secret_changes_under_load(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each asks by what the file holds, as programs do that read it; each has asked between two changes."""
    monkeypatch.setattr(watched_files, "LOOK_SECONDS", LOOK_SECONDS)
    callers, stop, failed = callers_of(file), threading.Event(), list[str]()
    rounds = [0] * 4

    def ask(number: int) -> None:
        while not stop.is_set():
            secret = file.read_text()
            if not admits(callers, secret):
                failed.append(secret)
            rounds[number] += 1

    asking = [threading.Thread(target=ask, args=(n,)) for n in range(len(rounds))]
    for thread in asking:
        thread.start()
    for n in range(20):
        put(file, f"secret-{n}-0123456789")
        begun = list(rounds)
        while not all(now >= then + 2 for now, then in zip(rounds, begun, strict=True)):
            time.sleep(0.001)
    stop.set()
    for thread in asking:
        thread.join()
    assert failed == []


@responses.activate
@pytest.mark.parametrize("way", ["basic", "bearer"])
def test_an_account_signs_in_by_what_its_file_holds_now(file: Path, way: str) -> None:
    found = credentials(way, "svc", resolve_secret(f"file:{file}"))  # type: ignore[arg-type]
    assert found
    put(file, NEW)
    sent = found(requests.Request("GET", "https://ranger.test").prepare()).headers["Authorization"]
    assert NEW in (base64.b64decode(sent.split()[1]).decode() if way == "basic" else sent)


@responses.activate
def test_audit_records_go_to_solr_with_the_password_of_now(file: Path) -> None:
    responses.post("https://solr.test/update", json={"responseHeader": {"status": 0}})
    sink = SolrSink([Address("https://solr.test")], "ranger", resolve_secret(f"file:{file}"))
    put(file, NEW)
    sink.write([])
    sink.close()
    sent = responses.calls[0].request.headers["Authorization"].split()[1]
    assert base64.b64decode(sent).decode() == f"ranger:{NEW}"
