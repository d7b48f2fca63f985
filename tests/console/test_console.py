"""The console: each page says what the command says."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.console.pages import MAX_FILE
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from tests.console.fixtures import ConsoleWorld, Estate, Page, company, estate_of, serving
from tests.console.test_page import elements
from tests.service.fixtures import Answer

MATRIX = ("access", "--format", "matrix", "--entity", "namespace:ns1")
Json = dict[str, Any]
VIEWS = ("/", "/who", "/what", "/matrix", "/impact", "/status")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("estates")


def look(world: ConsoleWorld, view: str, **typed: str) -> Page:
    answer = world.ask("delegate", "GET", f"/{view.removeprefix('ask')}?{urlencode(typed)}")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Page(answer)


def upload(world: ConsoleWorld, content: bytes, name: str = "new.json", access: str = "", **headers: str) -> Answer:
    boundary = uuid.uuid4().hex
    quoted = name.replace("\\", "\\\\").replace('"', "%22")
    body = b"".join(
        [
            f'--{boundary}\r\nContent-Disposition: form-data; name="access"\r\n\r\n{access}\r\n'.encode(),
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{quoted}"\r\n'.encode(),
            b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n",
            f"--{boundary}--\r\n".encode(),
        ]
    )
    sent = {"Content_Type": f"multipart/form-data; boundary={boundary}"} | (
        headers or {"Sec_Fetch_Site": "same-origin"}
    )
    return world.ask("delegate", "POST", "/impact", body, **sent)


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command prints with `--json`."""
    assert main([*arguments, "--json"]) in (ExitCode.OK, ExitCode.NO)
    return json.loads(capsys.readouterr().out)


# --- page and command ----------------------------------------------------------------------------------------------

QUESTIONS: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "allowed": (
        "ask",
        {"user": "alice", "operation": "dataset.get", "entity": "dataset:ns1.kv"},
        ["check", "--why", "alice", "dataset.get", "dataset:ns1.kv"],
    ),
    "denied": (
        "ask",
        {"user": "mallory", "groups": "etl", "operation": "dataset.get", "entity": "dataset:ns1.kv"},
        ["check", "--why", "mallory", "dataset.get", "dataset:ns1.kv", "--group", "etl"],
    ),
    "conditional": (
        "ask",
        {"user": "bob", "operation": "dataset.get", "entity": "dataset:ns1.day"},
        ["check", "--why", "bob", "dataset.get", "dataset:ns1.day"],
    ),
    "excepted": (
        "ask",
        {"user": "eve", "operation": "dataset.delete", "entity": "dataset:ns1.secret"},
        ["check", "--why", "eve", "dataset.delete", "dataset:ns1.secret"],
    ),
    "who": ("who", {"entity": "dataset:ns1.kv"}, ["access", "--entity", "dataset:ns1.kv"]),
    "who in part": (
        "who",
        {"entity": "dataset:ns1.day", "access": "read, WRITE"},
        ["access", "--entity", "dataset:ns1.day", "--access", "read", "--access", "write"],
    ),
    "who nowhere": ("who", {"entity": "namespace:ns9"}, ["access", "--entity", "namespace:ns9"]),
    "pattern": ("who", {"entity": "dataset:ns1.b*"}, ["access", "--entity", "dataset:ns1.b*"]),
    "pattern nowhere": ("who", {"entity": "dataset:ns9.b*"}, ["access", "--entity", "dataset:ns9.b*"]),
    "what": ("what", {"user": "ann"}, ["access", "--user", "ann"]),
    "what of groups": (
        "what",
        {"user": "carol", "groups": "oncall, x", "access": "read,admin"},
        ["access", "--user", "carol", "--group", "oncall", "--group", "x", "--access", "read", "--access", "admin"],
    ),
    "what of a stranger": ("what", {"user": "alicia"}, ["access", "--user", "alicia"]),
    "matrix": ("matrix", {"namespace": "ns1"}, [*MATRIX]),
    "matrix of more": (
        "matrix",
        {"namespace": "ns1", "types": "dataset", "users": "zoe, yan", "groups": "others"},
        [
            *MATRIX,
            "--type",
            "dataset",
            "--user",
            "zoe",
            "--user",
            "yan",
            "--group",
            "others",
        ],
    ),
}


def texts_of(value: Any) -> Iterator[str]:
    """Names in what a command prints that its page must show."""
    shown = {"why", "change", "changes", "who", "conditions", "except", "name", "requirement_sentences", "depends"}
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in shown and isinstance(inner, str):
                yield inner
            elif name in shown and isinstance(inner, list) and all(isinstance(one, str) for one in inner):
                yield from inner
            elif name not in ("others", "examples"):
                yield from texts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner)


def check(estate: Estate, world: ConsoleWorld, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    view, typed, command = QUESTIONS[name]
    printed = said([*command, *estate.arguments], capsys)
    unknown = {text for one in printed["unknown"] for text in (one["name"], *one["nearest"])}
    if view == "who":
        printed = printed["allowed" if "allowed" in printed else "holders"]
    page = look(world, view, **typed)
    assert page.status == 200, page.text
    missing = {text for text in {*texts_of(printed), *unknown} if text and " ".join(text.split()) not in page.text}
    if view == "who":
        missing -= {one["name"] for one in printed if not one.get("accesses")}
    if view == "ask":
        verdict = "Allowed: " if printed["allowed"] else "Denied: "
        assert f"{verdict}{typed['user']} {printed['operation']} on {typed['entity']}" in page.text
    if view == "ask" and printed["allowed"] is False:
        missing -= {one["change"] for alternative in printed["alternatives"] for one in alternative}
    assert missing == set()


@pytest.mark.parametrize("name", QUESTIONS)
def test_page_and_command_say_the_same(
    world: ConsoleWorld, folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(company(folder / "company").takes_effect(world), world, name, capsys)


ESTATE_QUESTIONS = {
    "what": ("what", {"user": "hugo.adeyemi"}, ["access", "--user", "hugo.adeyemi"]),
    "who": ("who", {"entity": "dataset:hr.mart_salaries"}, ["access", "--entity", "dataset:hr.mart_salaries"]),
    "pattern": ("who", {"entity": "dataset:sales.*"}, ["access", "--entity", "dataset:sales.*"]),
    "matrix": (
        "matrix",
        {"namespace": "hr", "types": "dataset"},
        ["access", "--format", "matrix", "--entity", "namespace:hr", "--type", "dataset"],
    ),
}


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Estate:
    target = tmp_path_factory.mktemp("made-up") / "estate"
    subprocess.run([sys.executable, ROOT / "examples" / "estate" / "make_estate.py", target], check=True)
    return Estate(target, "cdap_estate")


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTATE_QUESTIONS)
def test_so_they_do_of_the_made_up_estate(
    world: ConsoleWorld, made_up: Estate, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUESTIONS, name, ESTATE_QUESTIONS[name])
    monkeypatch.setenv("RANGER_CDAP_RANGER__SERVICE", "cdap_estate")
    check(made_up.takes_effect(world), world, name, capsys)


# --- impact -------------------------------------------------------------------------------------------------------


def changed(estate: Estate, **changes: Any) -> Json:
    found: Json = json.loads((estate.folder / "policies.json").read_bytes())
    found["policies"] = [one for one in found["policies"] if one["id"] not in (2, 5)]
    return found | changes


def as_export(document: Json) -> Json:
    policies = [{k: v for k, v in one.items() if k not in ("id", "version")} for one in document["policies"]]
    return {"policies": [{**one, "service": "cdapdev"} for one in policies], "service": {"service": "cdapdev"}}


def as_yaml(document: Json) -> bytes:
    yaml = pytest.importorskip("yaml")
    dumped: str = yaml.safe_dump(as_export(document))
    return dumped.encode()


FORMS: dict[str, tuple[str, Callable[[Json], bytes]]] = {
    "a download": ("new.json", lambda new: json.dumps(new).encode()),
    "a cache file": ("cache", lambda new: json.dumps(new, indent=2).encode()),
    "an export": ("new.json", lambda new: json.dumps(as_export(new)).encode()),
    "YAML": ("new.yaml", as_yaml),
    "a list": ("new.json", lambda new: json.dumps(as_export(new)["policies"]).encode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_file_changes_is_what_the_command_says(
    world: ConsoleWorld, folder: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    estate = company(folder / "company").takes_effect(world)
    name, written = FORMS[form]
    new = written(changed(estate))
    (folder / name).write_bytes(new)
    old = f"{estate.folder / 'policies.json'},{estate.folder / 'roles.json'}"
    printed = said(["policies", "diff", old, str(folder / name), "--access", "read"], capsys)
    answer = upload(world, new, name, access="read")
    assert answer.status == 200, answer.body
    page = Page(answer)
    assert f"{len(printed['gained'])} gained, {len(printed['lost'])} lost in cdapdev" in page.text
    assert printed["lost"]
    for row in printed["lost"]:
        assert f"{', '.join(row['who'])} loses {', '.join(row['accesses'])} on" in page.text
        assert f'by policy {row["policy_id"]} "{row["policy_name"]}", allow item {row["item"]}' in page.text


def test_a_file_is_read_as_ranger_would_save_it(world: ConsoleWorld, folder: Path) -> None:
    estate = company(folder / "company").takes_effect(world)
    found: Json = json.loads((estate.folder / "policies.json").read_bytes())
    eve = {"users": [" eve"], "accesses": [{"type": "READ"}]}
    found["policies"][0]["policyItems"].append(eve)
    page = Page(upload(world, json.dumps(found).encode()))
    assert "1 gained, 0 lost in cdapdev" in page.text
    assert "note: `new.json`: access type `READ` is saved as `read`: policy" in page.text
    assert "note: `new.json`: user ` eve` is saved as `eve`: policy" in page.text


def test_the_policies_in_effect_change_nothing(world: ConsoleWorld, folder: Path) -> None:
    estate = company(folder / "company").takes_effect(world)
    page = Page(upload(world, (estate.folder / "policies.json").read_bytes()))
    assert "0 gained, 0 lost in cdapdev" in page.text
    assert "No access changes." in page.text


BAD_FILES = {
    # the content; what is said
    "nothing": (b"", "`new.json` cannot be used"),
    "no JSON": (b"{]", "`new.json` cannot be used: it is not JSON"),
    "an empty list": (b"[]", "`new.json` cannot be used"),
    "cut off": (b'{"serviceName": "cdapdev", "policies": [', "`new.json` cannot be used"),
    "of another service": (
        b'{"serviceName": "hive", "policies": []}',
        "the policies belong to service `hive`, not to `cdapdev`",
    ),
    "of two services": (
        b'{"policies": [{"name": "a", "service": "x"}, {"name": "b", "service": "y"}]}',
        "`new.json` cannot be used",
    ),
    "without a definition": (b'{"serviceName": "cdapdev"}', "have no service definition"),
    "deep": (b'{"policies": ' + b"[" * 100_000, "`new.json` cannot be used"),
    "a number": (b'{"policies": [{"id": 1e999}]}', "`new.json` cannot be used"),
}


@pytest.mark.parametrize(("file", "told"), BAD_FILES.values(), ids=BAD_FILES)
def test_what_is_wrong_with_a_file_stands_beside_its_field(
    world: ConsoleWorld, folder: Path, file: bytes, told: str
) -> None:
    company(folder / "company").takes_effect(world)
    page = Page(upload(world, file))
    assert page.status == 400
    field = page.inputs()["file"]
    assert (field["aria-invalid"], field["aria-describedby"]) == ("true", "file-hint file-problem")
    assert told in page.text


def test_without_a_file_it_asks_for_one(world: ConsoleWorld) -> None:
    page = Page(upload(world, b"", name=""))
    assert page.status == 400
    assert "choose a file" in page.text


def test_a_wrong_access_type_of_an_impact_stands_beside_its_field(world: ConsoleWorld, folder: Path) -> None:
    estate = company(folder / "company").takes_effect(world)
    page = Page(upload(world, (estate.folder / "policies.json").read_bytes(), access="fly"))
    assert (page.status, page.inputs()["access"]["aria-invalid"]) == (400, "true")
    assert "there is no access type `fly`" in page.text
    assert page.inputs()["access"]["value"] == "fly"


def test_a_file_larger_than_the_limit_is_refused_with_the_limit(world: ConsoleWorld) -> None:
    answer = world.ask("delegate", "GET", "/impact", Content_Length=str(MAX_FILE + 1))
    assert answer.status == 413
    assert f"longer than {MAX_FILE} bytes".encode() in answer.body


# --- wrong input --------------------------------------------------------------------------------------------------

WRONG = [
    # view, what is typed, the field that is wrong, what is said of it
    ("who", {"entity": ""}, "entity", "enter an entity"),
    ("who", {"entity": "kv"}, "entity", "write it as type:name"),
    ("who", {"entity": "datset:ns1.kv"}, "entity", "did you mean `dataset`?"),
    ("who", {"entity": "dataset:ns1.kv", "access": "raed"}, "access", "did you mean `read`?"),
    ("who", {"entity": "dataset:ns1.kv", "access": "r," * 300}, "access", "more than 100 names"),
    ("who", {"entity": "dataset:ns1." + "x" * 1_000}, "entity", "longer than 1000 characters"),
    ("what", {"user": " "}, "user", "enter a user name"),
    ("what", {"user": "ann", "access": "fly"}, "access", "there is no access type `fly`"),
    ("what", {"user": "ann", "groups": "g," * 300}, "groups", "more than 100 names"),
    ("matrix", {"namespace": ""}, "namespace", "enter a namespace"),
    ("matrix", {"namespace": "n s"}, "namespace", "n s"),
    ("matrix", {"namespace": "ns1", "types": "datset"}, "types", "did you mean `dataset`?"),
    ("matrix", {"namespace": "ns1", "types": "stream"}, "namespace", "nothing of type stream is known in `ns1`"),
    ("ask", {"user": "a", "operation": "dataset.get", "entity": "dataset:a.b", "groups": "," * 999}, "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("view", "typed", "field", "told"), WRONG)
def test_wrong_input_stands_beside_its_field(
    world: ConsoleWorld, folder: Path, view: str, typed: dict[str, str], field: str, told: str
) -> None:
    company(folder / "company").takes_effect(world)
    page = look(world, view, **typed)
    assert page.status == (400 if field else 200)
    assert {name for name, a in page.inputs().items() if a.get("aria-invalid")} == ({field} if field else set())
    assert told in page.text
    for name, text in typed.items():
        assert page.inputs()[name]["value"] == text.strip(), "what was typed is still there"


def test_a_matrix_that_is_too_large_is_refused_as_by_the_command(world: ConsoleWorld, folder: Path) -> None:
    people = [f"u{n}" for n in range(400)]
    policies = [
        {"id": n, "name": f"p{n}", "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]},
         "dataset": {"values": [f"d{n}"]}},
         "policyItems": [{"users": people, "accesses": [{"type": "read"}]}]}
        for n in range(300)
    ]  # fmt: skip
    estate_of(folder / "large", policies).takes_effect(world)
    page = look(world, "matrix", namespace="ns1")
    assert page.status == 400
    assert "are too many to look at" in page.text


def test_without_policies_every_view_says_so() -> None:
    with serving([]) as world:
        world.becomes(Snapshot(None, PolicyState.NOT_READY, "Ranger Admin was never reached"))
        for view, typed, _ in QUESTIONS.values():
            page = look(world, view, **typed)
            assert page.status == (200 if view == "ask" else 503)
            assert "Ranger Admin was never reached" in page.text
        assert Page(upload(world, b"{}")).status == 503
        assert {Page(world.ask("delegate", "GET", path)).status for path in VIEWS} == {200}


# --- every page ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", VIEWS)
def test_each_view_leads_to_all_others_and_says_where_one_is(world: ConsoleWorld, path: str) -> None:
    page = Page(world.ask("delegate", "GET", path))
    assert page.status == 200
    assert set(VIEWS) <= page.links.keys()
    assert [a["href"] for tag, a in page.elements if tag == "a" and a.get("aria-current") == "page"] == [path]
    assert "script" not in elements(page)
    labels = {a["for"] for tag, a in page.elements if tag == "label"}
    assert labels == {a["id"] for a in page.inputs().values()}


def test_what_is_nowhere_is_a_page_that_leads_to_all_views(world: ConsoleWorld) -> None:
    page = Page(world.ask("delegate", "GET", "/nowhere"))
    assert page.status == 404
    assert set(VIEWS) <= page.links.keys()


@pytest.mark.parametrize(
    ("alone", "user"), [({"groups": "etl"}, {"groups": "etl"}), ({"role": "ops"}, {"role": "ops"})]
)
def test_a_group_or_a_role_alone_has_what_a_user_has_by_it(
    world: ConsoleWorld, folder: Path, alone: dict[str, str], user: dict[str, str]
) -> None:
    company(folder / "company").takes_effect(world)
    found, same = look(world, "what", **alone), look(world, "what", user="newcomer", **alone)
    assert (found.status, same.status) == (200, 200)
    of_rows = [page.text.partition("Groups ")[2].partition("for example")[0] for page in (found, same)]
    assert of_rows[0].partition("Allowed")[2] == of_rows[1].partition("Allowed")[2] != ""
    assert "Unknown user newcomer" in same.text


def test_a_policy_is_linked_in_each_view(tmp_path: Path) -> None:
    estate = company(tmp_path / "linked")
    document = json.loads((estate.folder / "policies.json").read_bytes()) | {"serviceId": 3}
    (estate.folder / "policies.json").write_text(json.dumps(document), encoding="utf-8")
    address = "https://ranger.example.org/index.html#/service/3/policies/{}/edit"
    with serving([]) as world:
        estate.takes_effect(world)
        assert address.format(2) in look(world, "ask", **QUESTIONS["denied"][1]).links
        assert address.format(2) in look(world, "who", **QUESTIONS["who"][1]).links
        assert address.format(3) in look(world, "who", **QUESTIONS["pattern"][1]).links
        assert address.format(3) in look(world, "what", **QUESTIONS["what"][1]).links
        assert address.format(2) in look(world, "matrix", **QUESTIONS["matrix"][1]).links
