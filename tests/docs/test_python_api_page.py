"""The page about the Python API has an example of each function and method, which prints what the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTest, DocTestParser, DocTestRunner
from pathlib import Path

import pytest

from ranger_cdap.client import DecisionClient
from ranger_cdap.service.http.callers import CallerRole
from tests.authz.fixtures import policy
from tests.docs.markdown_pages import ROOT, text_of
from tests.service.fixtures import caller, secret_of, serving

PAGE = ROOT / "docs" / "reference" / "python-api.md"
WRITTEN = ROOT / ".ci" / "pages" / "python_api_examples.txt"
POLICIES = [
    policy(1, {"namespace": "sales"}, ["bob"], ["read"]),
    policy(2, {"namespace": "sales", "dataset": "orders"}, ["alice"], ["read", "write"]),
]
"""Those of the service that the examples of `ranger_cdap.client` ask."""


def sections(text: str, level: str) -> dict[str, str]:
    """The text below each heading of that level; that before the first is the one of ``."""
    first, *rest = re.split(rf"^{level} `([^`]+)`\n", text, flags=re.MULTILINE)
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def example_in(section: str) -> str:
    return "".join(re.findall(r"^```pycon\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))


MODULES = {name: sections(text, "#{3,4}") for name, text in sections(text_of(PAGE), "##").items() if name}
MEMBERS = [(name, text) for module in MODULES.values() for name, text in module.items() if name]
CALLED = [(name, text) for name, text in MEMBERS if "```text\n" in text]


@pytest.mark.parametrize(("name", "text"), CALLED, ids=[name for name, _ in CALLED])
def test_each_function_and_method_has_an_example_that_calls_it(name: str, text: str) -> None:
    last = name.rpartition(".")[2]
    assert re.search(rf"@{last}\b|\b{last}\(", example_in(text))


def test_each_example_is_shown_with_its_function_or_module() -> None:
    shown = [name for name, text in CALLED if example_in(text)]
    shared = [module for module, members in MODULES.items() if example_in(members[""])]
    assert sorted(re.findall(r"^## (.+)", WRITTEN.read_text(encoding="utf-8"), re.MULTILINE)) == sorted(shown + shared)
    assert text_of(PAGE).count("```pycon\n") == len(shown + shared)


def run(name: str, example: str, names: dict[str, object]) -> tuple[DocTest, list[str]]:
    """The example with the names that it leaves, and what it prints otherwise than it shows."""
    test, differences = DocTestParser().get_doctest(example, names, name, str(PAGE), 0), list[str]()
    DocTestRunner(optionflags=ELLIPSIS | NORMALIZE_WHITESPACE).run(test, out=differences.append, clear_globs=False)
    return test, differences


@pytest.fixture
def _decision_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with serving(POLICIES, tmp_path, callers=(caller("reports", *CallerRole),)) as service:
        monkeypatch.setenv("DECISIONS_URL", service.url)
        monkeypatch.setenv("DECISIONS_SECRET", secret_of("reports"))
        yield


@pytest.mark.usefixtures("_decision_service")
@pytest.mark.parametrize("module", [module for module, members in MODULES.items() if example_in(members[""])])
def test_the_examples_print_what_the_page_shows(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each on its own, after the lines that those of its module share."""
    monkeypatch.chdir(tmp_path)
    shared, differences = run(module, example_in(MODULES[module][""]), {})
    for name, text in MODULES[module].items():
        if name:
            differences += run(name, example_in(text), shared.globs)[1]
    for value in shared.globs.values():
        if isinstance(value, ExitStack | DecisionClient):
            value.close()
    assert not differences, "".join(differences)


@pytest.mark.parametrize("example", [">>> 1 + 1\n3\n", ">>> int('x')\n", ">>> print('x')\n"])
def test_an_example_that_shows_something_else_would_be_found(example: str) -> None:
    assert run("wrong", example, {})[1]
