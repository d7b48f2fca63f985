"""The console as hostile people see it: names, files and forms that are not what they should be, and roles."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap import hookimpl
from ranger_cdap.console.forms import PATHS
from ranger_cdap.console.pages import STYLE
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.service.http.callers import CallerRole
from tests.cli.fixtures import COMPANY, download
from tests.console.fixtures import HOSTILE_NAME, ConsoleWorld, Page, company, hostile, serving
from tests.console.test_console import QUESTIONS, look, upload
from tests.console.test_page import elements
from tests.service.fixtures import READ_AND_WRITE

Json = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("estates")


# --- markup -------------------------------------------------------------------------------------------------------

HOSTILE_QUESTIONS = [
    ("ask", {"user": "alice", "operation": "dataset.get", "entity": "dataset:ns1.kv"}),
    ("ask", {"user": HOSTILE_NAME, "operation": "dataset.get", "entity": "dataset:ns1.kv"}),
    ("who", {"entity": "dataset:ns1.kv"}),
    ("who", {"entity": "dataset:ns1.k*"}),
    ("what", {"user": "alice"}),
    ("what", {"user": HOSTILE_NAME, "groups": HOSTILE_NAME}),
    ("matrix", {"namespace": "ns1", "users": HOSTILE_NAME, "groups": HOSTILE_NAME}),
    ("status", {}),
]


@pytest.mark.parametrize(("view", "typed"), HOSTILE_QUESTIONS)
def test_no_name_from_policies_is_markup_or_acts_on_the_text(
    world: ConsoleWorld, folder: Path, view: str, typed: dict[str, str]
) -> None:
    hostile(folder / "hostile").takes_effect(world)
    query = urlencode(typed)
    path = f"/{view.removeprefix('ask')}"
    answer = world.ask("delegate", "GET", f"{path}?{query}")
    harmless = urlencode({name: text.replace(HOSTILE_NAME, "somebody") for name, text in typed.items()})
    hostile(folder / "harmless", "somebody").takes_effect(world)
    usual = world.ask("delegate", "GET", f"{path}?{harmless}")
    assert (answer.status, usual.status) == (200, 200), Page(answer).text
    assert sorted(elements(Page(answer))) == sorted(elements(Page(usual)))
    page = answer.body.decode()
    main_part = page.partition("</form>")[2] or page.partition("<main>")[2]
    assert "ana&lt;b onclick" in main_part
    if view != "status":  # the engine's problems have no control characters
        assert "\\u202e" in main_part
    assert not {"\u202e", "\x1b"} & set(main_part)
    assert html.escape("<b onclick='x'>", quote=False)[:8] in main_part


def test_no_name_of_an_uploaded_file_is_markup(world: ConsoleWorld, folder: Path) -> None:
    estate = hostile(folder / "hostile")
    company(folder / "company").takes_effect(world)
    answer = upload(world, (estate.folder / "policies.json").read_bytes(), name="<b>\u202e.json")
    page = answer.body.decode()
    assert answer.status == 200, Page(answer).text
    assert "b" not in elements(Page(answer))
    assert "ana&lt;b onclick" in page
    assert not {"\u202e", "\x1b"} & set(page)
    bad = upload(world, b"[]", name="<b>\u202e.json").body.decode()
    assert "&lt;b&gt;\\u202e.json" in bad


# --- who may, and from where --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"), [*(("GET", path) for path in (*PATHS.values(), STYLE)), ("POST", "/impact")]
)
def test_every_view_is_for_delegates_only(world: ConsoleWorld, method: str, path: str) -> None:
    for role in (None, *CallerRole):
        answer = world.ask(role.value if role else None, method, path, b"{}" if method == "POST" else None)
        if role is None:
            assert answer.status == 401
        else:
            assert (answer.status == 403) is (role is not CallerRole.DELEGATE)


SITES = [
    # the headers of a browser; whether its form is taken
    ({"Sec_Fetch_Site": "same-origin"}, True),
    ({"Sec_Fetch_Site": "none"}, True),
    ({"Sec_Fetch_Site": "same-site"}, False),
    ({"Sec_Fetch_Site": "cross-site"}, False),
    ({"Sec_Fetch_Site": "cross-site", "Origin": "{own}"}, False),
    ({"Sec_Fetch_Site": ""}, False),
    ({"Origin": "{own}"}, True),
    ({"Origin": "https://{host}"}, True),
    ({"Origin": "http://evil.example"}, False),
    ({"Origin": "http://evil.example/{host}"}, False),
    ({"Origin": "http://{host}@evil.example"}, False),
    ({"Origin": "http://[{host}"}, False),
    ({"Origin": "null"}, False),
    ({"X_Nothing": "known"}, False),
]


@pytest.mark.parametrize(("headers", "is_taken"), SITES)
def test_a_form_is_taken_from_our_own_pages_only(world: ConsoleWorld, headers: dict[str, str], is_taken: bool) -> None:
    own = {"own": world.url, "host": urlsplit(world.url).netloc}
    sent = {name: value.format(**own) for name, value in headers.items()}
    answer = upload(world, b"[]", **sent)
    assert answer.status == (400 if is_taken else 403)
    assert is_taken is (b"only pages of the console may send this" not in answer.body)


def test_what_is_refused_beforehand_is_a_page_too(world: ConsoleWorld) -> None:
    answer = world.ask("delegate", "GET", "/impact", Host="evil.example")
    assert (answer.status, answer.headers["content-type"]) == (421, "text/html; charset=utf-8")


def test_other_bodies_than_a_form_are_refused(world: ConsoleWorld) -> None:
    for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/mixed"):
        sent = {"Content_Type": kind, "Sec_Fetch_Site": "same-origin"}
        assert world.ask("delegate", "POST", "/impact", b"{}", **sent).status == 415


def test_nothing_is_audited(world: ConsoleWorld, folder: Path) -> None:
    estate = company(folder / "company").takes_effect(world)
    world.memory.records.clear()
    for name in ("allowed", "who", "what", "matrix"):
        view, typed, _ = QUESTIONS[name]
        assert look(world, view, **typed).status == 200
    assert upload(world, (estate.folder / "policies.json").read_bytes()).status == 200
    assert world.memory.records == []


# --- fuzz ---------------------------------------------------------------------------------------------------------

junk = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
members = st.sampled_from(
    ["policies", "serviceName", "serviceDef", "tagPolicies", "securityZones", "service", "roles", "policyDeltas"]
)
documents_like = st.dictionaries(members, junk, max_size=5).map(lambda one: json.dumps(one).encode())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A download of which one value is another, or the end is missing."""
    document = download(list(COMPANY))
    place: Any = document
    while isinstance(place, dict | list) and place:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            place[key] = draw(junk)
            break
        place = place[key]
    written = json.dumps(document).encode()
    return written[: draw(st.integers(0, len(written)))] if draw(st.integers(0, 5)) == 0 else written


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=40) | documents_like | damaged(),
    st.sampled_from(["new.json", "new.yaml", "new", "\x00", "a/b\\c.YML", "x" * 300 + ".json"]),
)
def test_any_file_is_compared_or_refused(world: ConsoleWorld, folder: Path, file: bytes, name: str) -> None:
    estate = company(folder / "company")
    if world.authorizer.snapshot.engine is None or world.authorizer.snapshot.versions.policies != 7:
        estate.takes_effect(world)
    assert upload(world, file, name).status in (200, 400)


# --- hooks --------------------------------------------------------------------------------------------------------


class Refuses:
    @hookimpl
    def ranger_cdap_veto(self, answer: Any) -> str:
        return "not today"


def test_hooks_decide_as_in_the_service() -> None:
    plugins = plugin_manager(entry_points=False)
    plugins.register(Refuses())
    with serving(READ_AND_WRITE, plugins=plugins) as world:
        page = look(world, "ask", user="alice", operation="dataset.get", entity="dataset:ns1.kv")
        assert "Denied: alice dataset.get on dataset:ns1.kv" in page.text
        assert "not today" in page.text
