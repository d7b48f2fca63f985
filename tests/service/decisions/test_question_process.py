"""The child process of the console: its limits, what it is given, and that it ends with what it belongs to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest

from ranger_cdap.config import Settings
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.fixed import documents
from ranger_cdap.service.api import console_worker
from ranger_cdap.service.decisions import question_process
from ranger_cdap.service.decisions.question_process import PageContext, Question, QuestionProcess, Result, question
from ranger_cdap.service.http.reply import Refused
from tests.authz.fixtures import document, policy

SLEEPS = "import sys, time; sys.stdin.buffer.read(); time.sleep(600)"
FAILS = "import sys; sys.stdin.buffer.read(); sys.exit(3)"
POLICIES = [policy(1, {"namespace": "ns1"}, ["alice"], ["read", "write"])]


def asked(view: str = "what", page: PageContext | None = None, found: Documents | None = None) -> Question:
    typed = {"user": "alice", "groups": "", "access": ""}
    read = found or documents(json.dumps(document(POLICIES)).encode())
    return question(view, typed, page, read, service="cdapdev", settings=Settings(), now=1_800_000_000_000)


@pytest.fixture
def process() -> Iterator[QuestionProcess]:
    process = QuestionProcess(max_wait=0.2)
    yield process
    process.close()


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Run this program in place of the worker."""

    def becomes(program: str) -> None:
        (tmp_path / "other_worker.py").write_text(program, encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(question_process, "WORKER", "other_worker")

    return becomes


def wait_until(holds: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def refusal(process: QuestionProcess, one: Question, caller: str = "ann") -> tuple[int, str]:
    with pytest.raises(Refused) as caught:
        process.ask(caller, one)
    return caught.value.status, caught.value.message


def test_it_answers_with_json_or_with_a_page(process: QuestionProcess) -> None:
    allowed = json.loads(process.ask("ann", asked()).body)["allowed"]
    assert [(row["who"], row["accesses"]) for row in allowed] == [(["user alice"], ["read", "write"])]
    page = process.ask("ann", asked(page=PageContext("ann", "", 1_000))).body
    assert page.startswith(b"<!DOCTYPE html>")
    assert b"read, write on namespace cdap/ns1, as user alice" in page


def test_it_ends_after_its_time(process: QuestionProcess, worker: Callable[[str], None]) -> None:
    worker(SLEEPS)
    began = time.monotonic()
    status, sentence = refusal(process, msgspec.structs.replace(asked(), max_seconds=0.5))
    assert time.monotonic() - began < 10
    assert (status, sentence) == (
        503,
        "the answer takes more than 0.5 s; narrow the question, or use `ranger-cdap what`, which has no limits",
    )
    worker_left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "other_worker" not in worker_left


def test_it_ends_at_its_limit_of_memory(process: QuestionProcess) -> None:
    many = [policy(n, {"namespace": f"ns{n}"}, ["alice"], ["read"]) for n in range(2_000)]
    large = documents(json.dumps(document(many)).encode())
    status, sentence = refusal(process, msgspec.structs.replace(asked(found=large), max_memory=1 << 26))
    limit = "the answer needs more than 0.0625 GB"
    assert (status, sentence) == (503, f"{limit}; use `ranger-cdap what`, which has no limits")


# At the limit, Python's parser finds errors in sound modules, and its import cannot map a library.
@pytest.mark.parametrize("error", [MemoryError(), SystemError(), SyntaxError("expected ':'"), ImportError("libx.so")])
def test_any_error_at_the_limit_of_memory_is_one_of_memory(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_worker, "_answered", Mock(side_effect=error))
    assert console_worker.answered(msgspec.structs.replace(asked(), max_memory=1 << 20)).failure == "MemoryError"
    far = console_worker.answered(msgspec.structs.replace(asked(), max_memory=1 << 50)).failure
    assert (far == "MemoryError") == isinstance(error, (MemoryError, SystemError))


def test_a_process_that_dies_is_a_refusal_and_the_next_question_is_answered(
    process: QuestionProcess, worker: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        worker(FAILS)
        assert refusal(process, asked())[0] == 503
        patch.undo()
    monkeypatch.undo()
    assert process.ask("ann", asked()).body


def test_a_caller_has_one_question_at_a_time_and_others_wait_for_a_while(
    process: QuestionProcess, worker: Callable[[str], None]
) -> None:
    worker(SLEEPS)
    ended: list[int] = []
    first = threading.Thread(target=lambda: ended.append(refusal(process, asked())[0]))
    first.start()
    wait_until(lambda: process._running)
    assert refusal(process, asked()) == (
        429,
        "your previous question is still being answered; try again in a moment",
    )
    assert refusal(process, asked(), "bob") == (503, "the console is busy with questions of others; try again")
    process.close()
    first.join(20)
    assert ended == [503]
    assert refusal(process, asked(), "bob") == (503, "the service is stopping")


def test_it_has_no_secret_in_its_environment_or_arguments(
    process: QuestionProcess, worker: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANGER_CDAP_PLUGIN_PASSWORD", "secret-1")
    monkeypatch.setenv("TEAM", "secret-2")
    worker(
        "import os, sys, msgspec; sys.stdin.buffer.read()\n"
        "found = repr((sys.argv, dict(os.environ))).encode()\n"
        "sys.stdout.buffer.write(msgspec.msgpack.encode({'body': found}))"
    )
    found = process.ask("ann", asked()).body
    assert b"PATH" in found
    assert b"secret-" not in found


@pytest.mark.slow
def test_it_ends_with_the_service() -> None:
    """A service that is killed leaves no process behind."""
    program = (
        "import sys, threading, msgspec\n"
        "from tests.service.decisions.test_question_process import asked, QuestionProcess\n"
        "from ranger_cdap.service.decisions import question_process\n"
        "question_process.WORKER = 'tests.service.decisions.slow_worker'\n"
        "process = QuestionProcess()\n"
        "threading.Thread(target=process.ask, args=('ann', asked()), daemon=True).start()\n"
        "while process._running is None: pass\n"
        "print(process._running.pid, flush=True)\n"
        "threading.Event().wait()\n"
    )
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as service:
        assert service.stdout is not None
        child = int(service.stdout.readline())
        wait_until(lambda: "slow_worker" in Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8"))
        service.send_signal(signal.SIGKILL)
        service.wait(20)
    wait_until(lambda: not Path(f"/proc/{child}").exists() or " Z " in Path(f"/proc/{child}/stat").read_text())


def test_a_result_that_is_none_is_a_refusal(process: QuestionProcess) -> None:
    with pytest.raises(Refused) as caught:
        process._result(asked("impact"), b"\xc1", -11)
    assert caught.value.message.endswith("use `ranger-cdap policies diff`, which has no limits")
    failed = msgspec.msgpack.encode(Result(failure="KeyError at x.py:1", sentence="the answer cannot be computed"))
    with pytest.raises(Refused) as caught:
        process._result(asked(), failed, 0)
    assert "KeyError" not in caught.value.message
