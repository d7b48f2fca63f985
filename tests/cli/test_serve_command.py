"""`ranger-cdap serve` as its user meets it: what it says, and how it ends."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.service.serve_process import ENFORCE_KV, command, configuration, ranger_admin, serve, until


@pytest.fixture(scope="module")
def ranger() -> Iterator[EmbeddedAdmin]:
    with ranger_admin() as (server, _):
        yield server


def said(*arguments: str, directory: Path, **environment: str) -> tuple[int, str]:
    """Exit code and standard error of a command that ends by itself."""
    process = command(*arguments, directory=directory, **environment)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def test_without_a_configuration_it_says_that_nobody_may_ask(tmp_path: Path) -> None:
    with serve(None, tmp_path, "service.port=0", f"plugin.cache_dir={tmp_path}/cache", "ranger.attempts=1") as served:
        assert served.said.endswith("; everything is enforced\n")
        assert served.ask(None, "GET", "/health/live").status == 200
        assert served.ask(None, "GET", "/health/ready").json["status"] == "NOT_READY"
        assert served.ask("enforce", "POST", "/cdap/v1/enforce", ENFORCE_KV).status == 401
        until(
            lambda: (
                "no callers configured; every request will be rejected: name them in `[[service.callers]]`\n"
                in served.log
            )
        )


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


WRONG = [
    # what is wrong with [service]; exit code, and what is said of it
    ({"service__prot": "6500"}, 3, "unknown setting `service.prot`; did you mean `service.port`? (config)"),
    ({"service__port": '"many"'}, 3, "`service.port`: expected a whole number, got a text (config)"),
    ({"service__port": "70000"}, 1, "cannot be used"),
    ({"service__host": '"0.0.0.0"'}, 3, "which other machines can reach: set `service.tls_certificate`"),
    ({"sync__clock_skew": "-1"}, 3, "`sync.clock_skew` must be zero or greater"),
    ({"cdap__profile": '"099"'}, 3, "there is no profile `099`"),
]


@pytest.mark.parametrize(("changes", "code", "told"), WRONG, ids=[told for *_, told in WRONG])
def test_a_wrong_setting_is_one_sentence(tmp_path: Path, changes: dict[str, str], code: int, told: str) -> None:
    config = configuration(tmp_path, "http://127.0.0.1:9", **changes)
    outcome, errors = said("--config", str(config), "serve", directory=tmp_path)
    assert outcome == code
    assert told in errors
    assert errors.count("\n") == 1, errors


def test_a_configuration_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    code, errors = said("--config", "nowhere.toml", "serve", directory=tmp_path)
    assert (code, errors.count("\n")) == (3, 1)
    assert "`nowhere.toml`" in errors


def test_a_port_in_use_is_one_sentence_that_says_what_to_do(tmp_path: Path) -> None:
    with taken_port() as port:
        config = configuration(tmp_path, "http://127.0.0.1:9", service__port=str(port))
        code, errors = said("--config", str(config), "serve", directory=tmp_path)
    assert code == 1
    assert f"port `{port}` on `127.0.0.1` cannot be used" in errors
    assert "choose another `service.port` (server)" in errors
    assert errors.count("\n") == 1


def test_ctrl_c_ends_it_without_a_trace(ranger: EmbeddedAdmin, tmp_path: Path) -> None:
    with serve(configuration(tmp_path, ranger.url), tmp_path) as served:
        assert served.ask(None, "GET", "/health/ready").status == 200
        served.process.send_signal(signal.SIGINT)
        assert served.ended() == 0
    assert not [line for line in served.log if "Traceback" in line]


def test_sigterm_is_a_good_end(ranger: EmbeddedAdmin, tmp_path: Path) -> None:
    with serve(configuration(tmp_path, ranger.url), tmp_path) as served:
        assert served.ask("enforce", "POST", "/cdap/v1/enforce", ENFORCE_KV).json["allowed"]
        served.process.send_signal(signal.SIGTERM)
        assert served.ended() == 0


def test_sigterm_delivers_the_audit_records_that_wait(ranger: EmbeddedAdmin, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    config = configuration(tmp_path, ranger.url, audit__sinks='["file"]', audit__file=f'"{file}"')
    with serve(config, tmp_path) as served:
        assert served.ask("enforce", "POST", "/cdap/v1/enforce", ENFORCE_KV).json["allowed"]
        served.process.send_signal(signal.SIGTERM)
        assert served.ended() == 0
    assert {json.loads(line)["reqUser"] for line in file.read_text().splitlines()} == {"alice"}


def test_a_service_that_ranger_does_not_have_denies_everything_and_says_so(
    ranger: EmbeddedAdmin, tmp_path: Path
) -> None:
    with serve(configuration(tmp_path, ranger.url, ranger__service='"nowhere"'), tmp_path) as served:
        answer = served.ask("enforce", "POST", "/cdap/v1/enforce", ENFORCE_KV).json
        ready = served.ask(None, "GET", "/health/ready")
        until(lambda: any("nowhere" in line for line in served.log))
    assert not answer["allowed"]
    assert "nowhere" in answer["reason"]
    assert ready.status == 503


def test_each_line_of_its_log_is_json(ranger: EmbeddedAdmin, tmp_path: Path) -> None:
    with serve(configuration(tmp_path, ranger.url), tmp_path) as served:
        served.ask("enforce", "POST", "/cdap/v1/enforce", ENFORCE_KV)
        served.process.send_signal(signal.SIGTERM)
        served.ended()
    lines = [json.loads(line) for line in served.log]
    asked = [line for line in lines if line["message"] == "/cdap/v1/enforce"]
    assert [(line["caller"], line["status"]) for line in asked] == [("enforce", 200)]
    assert asked[0]["request_id"]
