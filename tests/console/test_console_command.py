"""`ranger-cdap console` as its user meets it: what it says, that it stays up, and how it ends."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.cli.test_serve_command import said, taken_port
from tests.service.serve_process import ask, command, configuration, ranger_admin, serve

WHO = "/who?entity=dataset:ns1.kv"
NEVER_ENDS = """
import time
from ranger_cdap.console import app, views
app.MAX_SECONDS = 3  # more than another question takes on a busy machine
views.what_answer = lambda *_: time.sleep(600)
"""
console = partial(serve, what=("console", "--listen", "127.0.0.1:0"))


@pytest.fixture(scope="module")
def ranger() -> Iterator[EmbeddedAdmin]:
    with ranger_admin() as (server, _):
        yield server


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_until_a_signal_ends_it_without_a_trace(
    ranger: EmbeddedAdmin, tmp_path: Path, number: signal.Signals
) -> None:
    with console(configuration(tmp_path, ranger.url), tmp_path) as running:
        assert running.said == f"listening on {running.url}\n"
        page = running.ask("delegate", "GET", WHO)
        assert page.status == 200
        assert b'user <a href="/what?user=alice">alice</a>' in page.body
        assert running.ask("enforce", "GET", WHO).status == 403
        assert running.ask(None, "GET", WHO).status == 401
        assert {running.ask("delegate", "GET", path).status for path in ("/health/live", "/metrics")} == {404}
        running.process.send_signal(number)
        assert running.ended() == 0
    assert not [line for line in running.log if "Traceback" in line]


def test_a_question_that_never_ends_costs_a_restart(ranger: EmbeddedAdmin, tmp_path: Path) -> None:
    with console(configuration(tmp_path, ranger.url), tmp_path, before=NEVER_ENDS) as running:
        answer = running.ask("delegate", "GET", "/what?user=alice")
        assert answer.status == 503
        assert b"takes more than 3 s" in answer.body
        assert running.process.stdout is not None
        again = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", running.process.stdout.readline())
        assert again
        assert ask(int(again[1]), "delegate", "GET", WHO).status == 200
        running.process.send_signal(signal.SIGTERM)
        assert running.ended() == 0


def test_it_writes_no_audit_file(ranger: EmbeddedAdmin, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with console(configuration(tmp_path, ranger.url, audit__file=f'"{file}"'), tmp_path) as running:
        assert running.ask("delegate", "GET", WHO).status == 200
    assert not file.exists()


def test_without_ranger_and_cache_it_says_that_it_is_not_ready(tmp_path: Path) -> None:
    with console(configuration(tmp_path, "http://127.0.0.1:9"), tmp_path) as running:
        assert running.ask("delegate", "GET", WHO).status == 503
        assert b"not ready" in running.ask("delegate", "GET", "/status").body


def test_with_json_it_prints_its_address(tmp_path: Path) -> None:
    config = configuration(tmp_path, "http://127.0.0.1:9")
    arguments = ("--config", str(config), "--json", "console", "--listen", "127.0.0.1:0")
    with command(*arguments, directory=tmp_path) as process:
        assert process.stdout is not None
        printed = "".join(iter(process.stdout.readline, "}\n")) + "}"
        process.kill()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", json.loads(printed)["url"])


WRONG = [
    ("7000", "`7000` is not HOST:PORT, like `127.0.0.1:6501` (invalid-input)"),
    ("127.0.0.1:x", "is not HOST:PORT"),
    ("0.0.0.0:7000", "--listen is `0.0.0.0`, which other machines can reach: set `service.tls_certificate`"),
    ("example.org:7000", "--listen must be an address, not `example.org` (config)"),
]


@pytest.mark.parametrize(("listen", "told"), WRONG)
def test_a_wrong_address_is_one_sentence(tmp_path: Path, listen: str, told: str) -> None:
    code, errors = said("console", "--listen", listen, directory=tmp_path)
    assert code == 3
    assert told in errors


def test_a_port_in_use_is_one_sentence_that_says_what_to_do(tmp_path: Path) -> None:
    with taken_port() as port:
        config = configuration(tmp_path, "http://127.0.0.1:9")
        code, errors = said("--config", str(config), "console", "--listen", f"127.0.0.1:{port}", directory=tmp_path)
    assert code == 1
    assert f"port `{port}` on `127.0.0.1` cannot be used" in errors
    assert "choose another --listen (server)" in errors
    assert errors.count("\n") == 1
