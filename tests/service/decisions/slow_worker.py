"""A worker of the console that never ends by itself."""

from __future__ import annotations

import sys
import time

from ranger_cdap.service.api import console_worker
from ranger_cdap.service.decisions.question_process import Question, Result


def never(_question: Question) -> Result:
    time.sleep(600)
    raise AssertionError


if __name__ == "__main__":
    console_worker.answered = never
    console_worker.main(sys.stdin.buffer, sys.stdout.buffer)
