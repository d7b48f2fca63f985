"""Pytest in this process: what is collected can be run in parts, each in a process forked from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.mutation.targets import ROOT

OPTIONS = (
    # Output is a file's already, and the children's too.
    "--capture=no", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutation",
    # Pytest would rewrite the assertions of libraries that are loaded already.
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip


class _Loop:
    """What happens to the collected tests."""

    def __init__(self, act: Callable[[Sequence[pytest.Item]], int]) -> None:
        self._act = act
        self.status = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:  # a file that cannot be imported
            self.status = self._act(session.items)
        return True


def collect(tests: Iterable[str], marks: str, log: Path, act: Callable[[Sequence[pytest.Item]], int]) -> int:
    """Collect tests, act on them and return the status that this has; else pytest's, which is not 0."""
    from hypothesis import Phase, settings

    settings.register_profile(
        "mutation", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
    )
    loop = _Loop(act)
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        with log.open("w", encoding="utf-8") as output, redirect_stdout(output), redirect_stderr(output):
            status = pytest.main([*OPTIONS, "-m", marks, *tests], plugins=[loop])
    finally:
        os.chdir(before)
    return int(status) or loop.status


def run_tests(items: Sequence[pytest.Item]) -> int:
    """Run tests until one fails, each time the same examples; return 1 if one does."""
    for item, following in zip_longest(items, items[1:]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return 1
    return 0
