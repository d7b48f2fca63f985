"""What the service tells of itself: metrics without names, and a log that nobody else can write a line of."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.service.api import cdap_api
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.json_log import JsonLines, TextLines
from ranger_cdap.service.table import ROUTES
from tests.authz.fixtures import policy
from tests.service.event_samples import record
from tests.service.fixtures import World, basic, secret_of, serving
from tests.service.serve_process import until

HELLO = "/cdap/v1/hello"
ENFORCE = "/cdap/v1/enforce"
QUESTION = {"principal": {"name": "alice"}, "entity": {"type": "NAMESPACE", "parts": ["ns1"]}, "permissions": []}

NAMES = ("alice-the-user", "ns_of_alice", "kv-of-alice", "caller-name", "path-of-somebody", "host-of-somebody")


def test_metrics_hold_no_name_of_a_person_an_entity_or_a_caller(tmp_path: Path) -> None:
    rights = [policy(1, {"namespace": "ns_of_alice", "dataset": "kv-of-alice"}, ["alice-the-user"], ["read"])]
    with serving(rights, tmp_path) as world:
        entity = {"type": "DATASET", "parts": ["ns_of_alice", "kv-of-alice"]}
        question = {"principal": {"name": "alice-the-user"}, "entity": entity, "permissions": ["STANDARD.DELETE"]}
        assert world.ask("enforce", "POST", ENFORCE, question).json["reason"].startswith("alice-the-user")
        world.ask("audit", "POST", "/cdap/v1/audit", {"records": [record(check_principal="alice-the-user"), 1]})
        world.ask(None, "POST", ENFORCE, question, Authorization=basic("caller-name"))
        world.ask("enforce", "GET", "/path-of-somebody")
        world.ask("enforce", "GET", "/health/live", Host="host-of-somebody")
        text = world.ask(None, "GET", "/metrics").body.decode()
    for name in (*NAMES, *(secret_of(role) for role in CallerRole)):
        assert name not in text
    labels = set(re.findall(r'route="([^"]*)"', text))
    assert labels <= {row.path for row in ROUTES} | {"unknown"}


@contextmanager
def logged(form: logging.Formatter | None = None) -> Iterator[list[str]]:
    """What the service writes to its log, line by line."""
    lines, form = list[str](), form or JsonLines()

    class Keep(logging.Handler):
        def emit(self, entry: logging.LogRecord) -> None:
            lines.append(form.format(entry))

    root = logging.getLogger()
    # pytest's own handlers would put hostile text into its report, which its workers cannot send one another.
    level, others = root.level, root.handlers[:]
    root.handlers[:] = [Keep()]
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.handlers[:] = others
        root.setLevel(level)


HOSTILE = 'eve\n{"level":"error","message":"all is lost"}\r\x85\u2028\u2029\x1b[31m\x7f'


@pytest.mark.parametrize("form", [JsonLines(), TextLines()], ids=["json", "text"])
def test_no_name_can_begin_a_line_of_the_log(world: World, form: logging.Formatter) -> None:
    with logged(form) as lines:
        world.ask("enforce", "POST", HELLO, {"extension": HOSTILE, "instance": HOSTILE, "admin_users": [HOSTILE]})
        world.ask("enforce", "POST", ENFORCE, QUESTION | {"principal": {"name": HOSTILE}})
        world.ask("audit", "POST", "/cdap/v1/audit", {"records": [record(instance=HOSTILE), {HOSTILE: 1}]})
        world.ask("enforce", "POST", HELLO, {"extension": "x"}, X_Request_Id='x"}')
        logging.getLogger("test").warning("%s", "lone \ud800 half")
    assert len(lines) >= 6
    for line in lines:
        assert len(line.splitlines()) == 1
        if isinstance(form, TextLines):
            assert re.match(r"20[0-9T:.-]+\+00:00 (info|warning|error) [\w.]+: ", line)
        else:
            assert {"time", "level", "logger", "message"} <= json.loads(line).keys()
        assert not re.search(r"[\x00-\x1f\x7f\x85\u2028\u2029]", line)


def test_a_line_of_text_has_the_fields_of_one_of_json() -> None:
    record = logging.LogRecord("a.b", logging.WARNING, "", 0, "said `%s`", ("x\ty",), None)
    record.created, record.caller, record.status = 1_800_000_000.25, "it's", 401
    assert TextLines().format(record) == (
        '2027-01-15T08:00:00.250+00:00 warning a.b: said `x\\ty` caller="it\'s" status=401'
    )
    assert json.loads(JsonLines().format(record)) == {
        "time": "2027-01-15T08:00:00.250+00:00",
        "level": "warning",
        "logger": "a.b",
        "message": "said `x\ty`",
        "caller": "it's",
        "status": 401,
    }


LOGS = [
    # options, on a terminal, the level of the command: level, form
    ({}, False, "info", logging.INFO, JsonLines),
    ({}, True, "info", logging.INFO, TextLines),
    ({}, True, "warning", logging.WARNING, TextLines),
    ({"quiet": True}, False, "info", logging.WARNING, JsonLines),
    ({"quiet": True, "log_level": "debug"}, False, "info", logging.DEBUG, JsonLines),
    ({"log_format": "text"}, False, "info", logging.INFO, TextLines),
    ({"log_format": "json", "log_level": "error"}, True, "info", logging.ERROR, JsonLines),
]


def test_the_options_decide_what_is_logged_and_how(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    wrong = []
    for row in LOGS:
        options, on_terminal, default, level, form = row
        with logged():
            monkeypatch.setattr(sys.stderr, "isatty", lambda on_terminal=on_terminal: on_terminal)
            invocation = Invocation(quiet=options.get("quiet", False))
            invocation.log.update({name: value for name, value in options.items() if name != "quiet"})
            invocation.start_log(default)
            (handler,) = root.handlers
            if (root.level, type(handler.formatter)) != (level, form):
                wrong.append(row)
    assert wrong == []


def test_no_secret_gets_into_a_log_or_an_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_call: object) -> None:
        raise RuntimeError(f"with {secret_of('enforce')} in it")

    answers = []
    with logged() as lines:
        for credentials in (basic("enforce"), basic("mallory", secret_of("enforce")), basic("enforce", "x" * 20)):
            answers.append(world.ask(None, "POST", HELLO, {"extension": 1}, Authorization=credentials))
        monkeypatch.setattr(cdap_api, "differences", lambda *_: fails(None))
        answers.append(world.ask("enforce", "POST", HELLO, {"extension": "x"}))
    assert [one.status for one in answers] == [400, 401, 401, 500]
    assert answers[-1].json == {"code": "INTERNAL_SERVER_ERROR", "message": "Internal Server Error"}
    failed = [line for line in lines if "failed with RuntimeError" in line]
    assert len(failed) == 1
    assert "test_json_log.py:" in failed[0]
    for text in (*lines, *(one.body.decode() for one in answers)):
        assert secret_of("enforce") not in text
        assert basic("enforce").split()[1] not in text
        assert "x" * 20 not in text


def test_each_request_is_one_line_with_its_name_and_its_caller(world: World) -> None:
    with logged() as lines:
        world.ask("enforce", "POST", HELLO, {"extension": "x"}, X_Request_Id="mine-1")
        until(lambda: any("mine-1" in line for line in lines))  # it is written when the answer is on its way
    (line,) = [entry for line in lines if (entry := json.loads(line)).get("request_id") == "mine-1"]
    assert (line["message"], line["route"], line["caller"], line["status"]) == (HELLO, HELLO, "enforce", 200)
    assert 0 < line["seconds"] < 20
