from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from ranger_cdap.service.api.console_worker import answered
from ranger_cdap.service.decisions.question_process import Question, QuestionProcess, Result


@pytest.fixture(scope="module")
def in_this_process() -> Iterator[None]:
    """Answer questions of the console here, for speed; `test_question_process.py` has the child process."""

    def run(process: QuestionProcess, asked: Question) -> Result:
        read = msgspec.msgpack.decode(msgspec.msgpack.encode(asked), type=Question)
        return process._result(asked, msgspec.msgpack.encode(answered(read)), 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QuestionProcess, "_run", run)
        yield
