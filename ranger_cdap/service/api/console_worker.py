"""Child process of the console: reads one question, computes its answer within limits, and writes the result.

Started by `QuestionProcess` as `python -m`.
"""

from __future__ import annotations

import math
import os
import re
import resource
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from traceback import extract_tb
from typing import BinaryIO, Final

import msgspec

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import Decider
from ranger_cdap.config import RangerSettings, Settings
from ranger_cdap.questions.matrix_document import MatrixNotes
from ranger_cdap.questions.namespace_matrix import NamespaceMatrix
from ranger_cdap.service.api.console_answers import (
    FILE,
    ask_answer,
    impact_answer,
    matrix_answer,
    what_answer,
    who_answer,
)
from ranger_cdap.service.api.console_form import ConsoleForm, ConsoleView
from ranger_cdap.service.api.page import view_page
from ranger_cdap.service.decisions.question_process import Question, Result
from ranger_cdap.service.wire.console_wire import ConsoleAnswer, MatrixAnswer, NamedPolicy

_NEAR: Final = 1 << 26
"""Bytes below the limit of memory where any error may come of it: Python's parser and its import then fail as well."""
_NICENESS: Final = 10
_OUT_OF_MEMORY: Final = (MemoryError, SystemError)
"""Errors at the limit of memory: C code that cannot allocate may return without setting an exception."""
_SHORTEST_WAIT: Final = 0.5
"""Seconds between two looks at whether the service still runs."""


def answered(question: Question) -> Result:
    """Return the result of a question; nothing is raised."""
    try:
        return _answered(question)
    except Exception as e:
        if any(isinstance(one, _OUT_OF_MEMORY) for one in _chain(e)) or _is_near_limit(question.max_memory):
            most = f"{question.max_memory / (1 << 30):g} GB"
            return Result(failure="MemoryError", sentence=f"the answer needs more than {most}")
        frames = reversed(extract_tb(e.__traceback__))
        places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        failure = f"{type(e).__name__} at {places[:1_000]}"
        if question.view == ConsoleView.IMPACT:
            # A crafted file may raise any exception.
            sentence = f"`{question.file_name}` cannot be compared with the policies in effect: {type(e).__name__}"
            return Result(problems={FILE: sentence}, failure=failure)
        return Result(failure=failure, sentence="the answer cannot be computed")


def _chain(e: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those from which it comes: parsers turn lack of memory into errors of their own."""
    while e is not None:
        yield e
        e = e.__cause__ or e.__context__


def _is_near_limit(max_memory: int) -> bool:
    """Return whether the address space of this process has come near the limit of memory; Linux alone says so."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    except (OSError, MemoryError):
        return True
    peak = re.search(r"^VmPeak:\s*(\d+) kB$", status, re.MULTILINE)
    return peak is not None and (int(peak[1]) << 10) > max_memory - _NEAR


def _answered(question: Question) -> Result:
    settings = Settings(
        ranger=RangerSettings(service=question.service),
        cdap=question.cdap,
        enforce=question.enforce,
        master=question.master,
    )
    form = ConsoleForm(ConsoleView(question.view), question.typed)
    with Authorizer(Decider.of_documents(question.documents, settings)) as authorizer:
        engine = authorizer.snapshot.engine
        assert engine is not None  # documents are always compiled
        shown: NamespaceMatrix | None = None
        answer: ConsoleAnswer | None
        match form.view:
            case ConsoleView.ASK:
                answer = ask_answer(form, authorizer, question.pending)
            case ConsoleView.WHO:
                answer = who_answer(form, authorizer)
            case ConsoleView.WHAT:
                answer = what_answer(form, authorizer)
            case ConsoleView.MATRIX:
                answer, shown = matrix_answer(form, authorizer, question.now) or (None, None)
            case _:
                answer = impact_answer(form, engine, question.documents, question.file, question.file_name)
    if answer is None:
        return Result(problems=form.problems)
    if question.page is None:
        return Result(msgspec.json.encode(answer))
    more: Mapping[str, object] = {"status": question.status}
    if isinstance(answer, MatrixAnswer) and shown is not None:
        more = {"shown": shown, "notes": MatrixNotes(shown.index), "policies": _policies(answer)}
    return Result(
        view_page(form, question.page, engine, answer=answer, profile=authorizer.decider.config.profile, more=more)
    )


def _policies(answer: MatrixAnswer) -> list[NamedPolicy]:
    """Return the policies that decide in a matrix, by id."""
    cells = (cell for row in answer.rows for cell in row.cells)
    found = {action.policy for cell in cells for action in cell.actions.values() if action.policy is not None}
    return sorted(found, key=lambda one: one.id)


def _limit(question: Question) -> None:
    seconds = math.ceil(question.max_seconds)
    until = time.monotonic() + seconds
    threading.Thread(target=_end_with, args=(question.parent, until), daemon=True).start()
    os.nice(_NICENESS)
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, question.max_memory),
    ):
        resource.setrlimit(limit, (most, most))


def _end_with(parent: int, until: float) -> None:
    while os.getppid() == parent and time.monotonic() < until:
        time.sleep(_SHORTEST_WAIT)
    os._exit(1)


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Answer the question that is read from one stream on the other."""
    question = msgspec.msgpack.decode(source.read(), type=Question)
    _limit(question)
    target.write(msgspec.msgpack.encode(answered(question)))
    target.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
