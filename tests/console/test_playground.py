"""The playground: a made-up company, questions about it, and no sign-in where nothing needs protection."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by
from ranger_cdap.config import CallerSettings, Secret, ServiceSettings, Settings
from ranger_cdap.console.app import Console
from ranger_cdap.console.forms import PATHS
from ranger_cdap.console.playground import company, example_questions, needs_sign_in
from tests.console.fixtures import Page
from tests.console.test_console_safety import SITES
from tests.service.fixtures import Site

ESTATE = Path(__file__).parents[2] / "examples" / "estate" / "company.py"
CALLERS = (CallerSettings("anna", ("delegate",), Secret("x" * 20)),)


@contextmanager
def open_console(*, is_open: bool = True) -> Iterator[Site]:
    settings = Settings(service=ServiceSettings(port=0, callers=() if is_open else CALLERS))
    with authorizer_by(Invocation(), company()) as authorizer:
        console = Console(settings, authorizer, is_open=is_open, examples=example_questions())
        console._server.start(console._app)
        try:
            yield Site(console.url)
        finally:
            console.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with open_console() as running:
        yield running


def test_the_company_is_the_one_that_the_example_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("estate_company", ESTATE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    made = module.company(7)
    folder = files("ranger_cdap.console").joinpath("estate")
    for name in ("policies", "roles", "tags", "users"):
        shipped = json.loads(folder.joinpath(f"{name}.json").read_bytes())
        assert shipped == json.loads(json.dumps(getattr(made, name))), f"copy {name}.json of make_estate.py"


def test_the_first_page_answers_a_question_and_offers_ten(site: Site) -> None:
    page = Page(site.ask(None, "GET", "/"))
    assert page.status == 200
    for text in (
        "Denied: hugo.adeyemi dataset.get on dataset:hr.mart_salaries",
        'policy 94 "finance and hr: not for contractors"',
        "add a deny exception for hugo.adeyemi there",
        "No sign-in",
    ):
        assert text in page.text
    offered = [one.address for one in example_questions()[1:]]
    assert len(offered) == 10
    assert set(offered) <= page.links.keys()


@pytest.mark.parametrize("number", range(11))
def test_each_question_has_an_answer(site: Site, number: int) -> None:
    page = Page(site.ask(None, "GET", example_questions()[number].address))
    assert (page.status, "Invalid:" in page.text) == (200, False)
    assert [one for one, _ in page.elements if one == "h2"]


def test_every_link_of_an_answer_is_a_question_with_an_answer(site: Site) -> None:
    for question in example_questions():
        page = Page(site.ask(None, "GET", question.address))
        for address in [one for one in page.links if one.startswith("/")][:20]:
            assert site.ask(None, "GET", address).status == 200, (question.text, address)


def test_a_typo_leads_to_the_right_name(site: Site) -> None:
    page = Page(site.ask(None, "GET", "/who?entity=dataset:salse.mart_orders"))
    assert "Unknown namespace salse" in page.text
    assert "/matrix?namespace=sales" in page.links


def test_names_are_offered_while_they_are_typed(site: Site) -> None:
    page = Page(site.ask(None, "GET", "/matrix"))
    lists = {a["id"] for tag, a in page.elements if tag == "datalist"}
    assert {a["list"] for a in page.inputs().values()} == lists
    offered = {a["value"] for tag, a in page.elements if tag == "option"}
    assert {"sales", "hugo.adeyemi", "contractors"} <= offered


# --- no other site, and no one else ----------------------------------------------------------------------------------

OTHER_SITES = [headers for headers, is_taken in SITES if not is_taken and headers.keys() & {"Sec_Fetch_Site", "Origin"}]


@pytest.mark.parametrize("path", [*PATHS.values(), "/who?entity=dataset:hr.mart_salaries"])
@pytest.mark.parametrize("headers", OTHER_SITES, ids=str)
def test_no_other_site_can_use_it(site: Site, headers: dict[str, str], path: str) -> None:
    host = site.url.removeprefix("http://")
    sent = {name: value.format(own=site.url, host=host) for name, value in headers.items()}
    assert site.ask(None, "GET", path, **sent).status == 403


def test_no_name_of_another_host_leads_to_it(site: Site) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "10.0.0.1", ""):
        assert site.ask(None, "GET", "/", Host=host).status == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_it_has_no_state_to_change(site: Site, method: str) -> None:
    for path in PATHS.values():
        # A form with a file is taken from pages of its own only.
        expected = 403 if (path, method) == ("/impact", "POST") else 405
        assert site.ask(None, method, path, b"{}").status == expected


def test_with_callers_they_sign_in() -> None:
    with open_console(is_open=False) as site:
        assert site.ask(None, "GET", "/").status == 401


NEEDS = {
    # which policies, the settings that are set; whether callers sign in
    "a file and no settings": ("a.json", (), False),
    "a file, and what CDAP is called": ("a.json,roles.json", ("ranger.service", "cdap.instance"), False),
    "no policies": (None, (), True),
    "Ranger": ("ranger:", (), True),
    "what Ranger has in addition": ("a.json,ranger:", (), True),
    "a cache": ("cache:/var/cache", (), True),
    "a history": ("history:7d", (), True),
    "a Ranger in the settings": ("a.json", ("ranger.url",), True),
    "callers in the settings": ("a.json", ("service.callers",), True),
    "anything else": ("a.json", ("plugin.cache_dir",), True),
}


@pytest.mark.parametrize(("which", "origins", "needed"), NEEDS.values(), ids=NEEDS)
def test_when_callers_sign_in(which: str | None, origins: tuple[str, ...], needed: bool) -> None:
    policies = None if which is None else PolicyFiles(which)
    assert needs_sign_in(policies, dict.fromkeys(origins, "a file")) is needed
