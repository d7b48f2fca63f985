"""`ranger-cdap access --format matrix`: what it shows is what the engine decides, and no name can act on the page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.cli.main import main
from ranger_cdap.engine import AccessRequest, PolicyEngine, Verdict
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies
from ranger_cdap.tools.cli.access_matrix import page
from ranger_cdap.tools.questions.matrix import ActionAccess, Matrix, MatrixCell, MatrixSubject
from tests.cli.fixtures import COMPANY, ROLES, dataset, download, item, named, policy

MATRIX = ("access", "--format", "matrix", "--entity", "namespace:ns1")
PROGRAMS = policy(16, {"namespace": "ns1", "application": "shop", "program": "*"}, item("execute", users=["alice"]))
ELSEWHERE = policy(17, {"namespace": "ns2", "dataset": "kv"}, item("read", users=["stranger"]))
COMMON_OPTIONS = policy(18, {"namespace": "n*", "dataset": "log"}, item("read", groups=["public", "ops"]))
DISABLED = policy(19, dataset("old"), item("read", users=["gone"]), isEnabled=False)
POLICIES = [*COMPANY, PROGRAMS, ELSEWHERE, COMMON_OPTIONS, DISABLED]

Marks = dict[tuple[str, str], dict[str, dict[str, str]]]


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(capsys: pytest.CaptureFixture[str], *options: str, policies: list[Any] = POLICIES) -> dict[str, Any]:
    assert main([*MATRIX, *named(Path(), policies), "--json", *options]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def row_names(document: dict[str, Any]) -> list[str]:
    return [row["entity"] for row in document["rows"]]


def columns(document: dict[str, Any]) -> list[str]:
    return [f"{one['kind']} {one['name']}".strip() for one in document["columns"]]


def test_what_policies_of_the_namespace_name(capsys: pytest.CaptureFixture[str]) -> None:
    document = asked(capsys)
    assert row_names(document) == [
        "namespace:ns1",
        "application:ns1.shop",
        "dataset:ns1.*",
        "dataset:ns1.bo*",
        "dataset:ns1.both",
        "dataset:ns1.day",
        "dataset:ns1.kv",
        "dataset:ns1.log",
        "dataset:ns1.secret",
        "program:ns1.shop.*",
    ]
    # carol is in etl and dan in oncall, as Ranger knows; zoe is in no group of these policies
    users = ("alice", "ann", "bob", "carol", "dan", "eve", "mallory", "olga", "x")
    groups = ("etl", "oncall", "ops")
    assert columns(document) == ["everybody", *(f"user {u}" for u in users), *(f"group {g}" for g in groups)]


def test_more_members_of_groups_than_anybody_can_look_at_are_left_out_with_a_note(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranger_cdap.tools.questions.namespace_matrix.MOST_CELLS", 10 * 12)
    assert main([*MATRIX, *named(Path(), POLICIES), "--json"]) == 0
    told = capsys.readouterr()
    assert "user carol" not in columns(json.loads(told.out))
    assert "note: the 2 members of the groups are too many columns; not shown" in told.err


def test_what_exists_and_who_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = [{"v": 1, "instance": "cdap", "taken": "2026-11-21T00:00:00Z"}]
    lines += [{"type": "dataset", "parts": [namespace, "a.b"]} for namespace in ("ns1", "ns2")]
    lines += [{"type": "topic", "parts": ["ns1", "t"]}]
    Path("inventory.jsonl").write_text("\n".join(map(json.dumps, lines)))
    more = ("--inventory", "inventory.jsonl", "--user", "carol", "--group", "sales", "--type", "dataset")
    document = asked(capsys, *more)
    assert row_names(document)[:2] == ["dataset:ns1.*", "dataset:ns1.a.b"]
    assert not [name for name in row_names(document) if not name.startswith("dataset:ns1.")]
    assert {"user carol", "group sales"} <= set(columns(document))
    assert next(one for one in document["columns"] if one["name"] == "carol")["groups"] == ["etl"]


def test_every_mark_is_the_engines_decision(capsys: pytest.CaptureFixture[str]) -> None:
    document = asked(capsys, "--user", "carol", "--user", "nobody")
    engine = PolicyEngine.build(
        decode_service_policies(json.dumps(download(POLICIES)).encode()),
        roles=decode_roles(json.dumps(ROLES).encode()),
    )
    seen = set()
    for row in document["rows"]:
        entity = parse_pattern(row["entity"])
        shown = {(cell["kind"], cell["name"]): cell["actions"] for cell in row["cells"]}
        for column in document["columns"]:
            key = (column["kind"], column["name"])
            for action in ("READ", "WRITE", "ADMIN", "EXECUTE"):
                user = column["name"] if column["kind"] == "user" else "somebody else"
                decision = engine.evaluate(
                    AccessRequest(
                        to_resource(entity, "cdap"),
                        action.lower(),
                        user=user,
                        groups=frozenset(column["groups"]),
                        access_time=1_790_000_000_000,
                    )
                )
                mark = shown.get(key, {}).get(action)
                seen.add(mark and mark["verdict"])
                assert (mark is not None and mark["allowed_now"]) == is_allowed(decision)
                assert (mark["policy"] or {"id": -1})["id"] == decision.policy_id if mark else decision.policy_id == -1
                if mark and mark["verdict"] != "conditional":
                    assert mark["verdict"] == ("allowed" if decision.allowed else "denied")
    assert seen == {None, "allowed", "denied", "conditional"}


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    "</title><svg/onload=x>",
    "a\n&b",
]
INERT = {
    "html", "head", "meta", "title", "style", "body", "h1", "p", "span", "div", "table", "thead", "tbody", "tr", "th",
    "td", "b", "i", "s", "small", "sup", "h2", "ul", "ol", "li", "details", "summary", "dl", "dt", "dd",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "tabindex", "role", "aria-label", "scope", "colspan",
    "title", "open",
}  # fmt: skip


def must_be_inert(text: str) -> Reader:
    reader = Reader(text)
    assert {tag for tag, _ in reader.tags} <= INERT
    assert {name for _, attributes in reader.tags for name in attributes} <= ATTRIBUTES
    assert "default-src 'none'" in text.partition("<style>")[0]
    assert "url(" not in text
    assert "@import" not in text
    return reader


@pytest.mark.parametrize("evil", EVIL)
def test_no_name_of_a_policy_can_act_on_the_page(evil: str) -> None:
    policies = [*COMPANY, policy(9, {"namespace": "ns1"}, item("read", users=[evil], groups=[evil]), name=evil)]
    assert (
        main(
            [
                *MATRIX,
                *named(Path(), policies),
                "--user",
                evil + "2",
                "--out",
                "ns1.html",
            ]
        )
        == 0
    )
    reader = must_be_inert(Path("ns1.html").read_text(encoding="utf-8"))
    shown = evil.replace("\n", "\\n")
    found = [text for text in reader.texts if text in (shown, shown + "2")]
    assert found[:3] == [shown, shown + "2", shown], "the heads: the user, the further one, the group"
    assert found[3:], "the cards"
    told = [str(attributes["title"]) for tag, attributes in reader.tags if tag == "td" and "title" in attributes]
    assert any(f'READ: allowed by policy 9 "{shown}"' in title for title in told)


@pytest.mark.parametrize("evil", EVIL)
def test_no_name_of_an_entity_service_or_namespace_can(evil: str) -> None:
    """CDAP has no such entities and they are left out; the page does not rely on it."""
    cell = MatrixCell((("READ", ActionAccess(Verdict.ALLOWED, True, 1)),))
    entities = (EntityId("dataset", ("ns1", evil)),)
    subjects = (MatrixSubject("user", "alice", (evil,)),)
    reader = must_be_inert(page(Matrix(evil, evil, 1, evil, subjects, entities, ((cell,),)), PolicyIndex()))
    assert "ns1." + evil.replace("\n", "\\n") in reader.texts


def test_an_entity_that_cdap_can_not_have_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    policies = [*COMPANY, *(policy(10 + n, dataset(evil), item("read", users=["x"])) for n, evil in enumerate(EVIL))]
    assert row_names(asked(capsys, policies=policies)) == row_names(asked(capsys, policies=list(COMPANY)))


def test_the_page_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*MATRIX, *named(Path(), POLICIES), "--out", "ns1.html"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "`ns1.html` shows 10 entities and 13 columns" in told.err
    text = Path("ns1.html").read_text(encoding="utf-8")
    reader = must_be_inert(text)
    assert "position: sticky" in text
    for word in ("Who can do what in ns1", "R read, W write, A admin, X execute", " allowed", " denied by a policy"):
        assert any(word in one for one in reader.texts)
    titles = [str(attributes["title"]) for tag, attributes in reader.tags if tag == "td" and "title" in attributes]
    assert 'user mallory on dataset:ns1.kv\nREAD: denied by policy 2 "kv"\nWRITE: no policy allows it' in "\n".join(
        titles
    )
    assert "<s>R</s>" in text
    seen = re.sub(r'<span class="unseen">[^<]*</span>', "", text)
    assert "<b>R</b><b>W</b><small>2</small>" in seen, "readable without a pointer"
    assert '<b>R</b><span class="unseen"> allowed </span>' in text, "and for a screen reader"
    assert 'policy 2 "kv"' in reader.texts
    assert reader.texts.index('policy 2 "kv"') > reader.texts.index("Policies")
    assert "<i>R?<sup>1</sup></i>" in text
    assert reader.texts.index("allowed if ip-range (10.0.0.1)") > reader.texts.index("Notes")
    assert "READ: allowed if ip-range (10.0.0.1); now not allowed by" not in text, "no policy allows it now"


def test_a_card_has_the_cells_of_its_row_each_access_once(capsys: pytest.CaptureFixture[str]) -> None:
    document = asked(capsys)
    assert main([*MATRIX, *named(Path(), POLICIES), "--out", "ns1.html"]) == 0
    text = Path("ns1.html").read_text(encoding="utf-8")
    _, *cards = re.split("<details[^>]*>", text)
    assert len(cards) == len(document["rows"])
    for row, card in zip(document["rows"], cards, strict=True):
        card = card.partition("</details>")[0]
        assert f"<summary>{row['entity'].partition(':')[2]}</summary>" in card
        accesses = re.findall("<dt>(.*?)</dt>", card, re.DOTALL)
        assert len(accesses) == len(set(accesses))
        lists = [re.sub("<[^>]+>|user |group ", "", one) for one in re.findall("<dd>(.*?)</dd>", card, re.DOTALL)]
        found = sorted(name for one in lists for name in one.split(", "))
        assert found == sorted(cell["name"] or cell["kind"] for cell in row["cells"])


def test_the_table_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*MATRIX, *named(Path(), list(COMPANY))]) == 0
    told = capsys.readouterr()
    lines = {line.split()[0]: line.split()[1:] for line in told.out.splitlines()[1:]}
    assert lines["dataset:ns1.kv"] == ["RW", "RWAX", "R", "A", "R!", "A", "R", "A"]
    assert lines["dataset:ns1.day"] == ["RWAX", "R?1", "A", "A", "A"]
    assert told.out.splitlines()[-1] == "1: allowed if ip-range (10.0.0.1)"
    legend = (
        "R read, W write, A admin, X execute; ? depends on a condition or a time, / for a part of the row's entities,"
        " ~ may be, ! is denied"
    )
    assert told.err.splitlines() == [legend], "progress is for terminals"


OVERLAPPING = [
    policy(21, dataset("*"), item("read", users=["ann"])),
    policy(22, dataset("*log*"), denyPolicyItems=[item("read", users=["ann"])]),
    policy(23, dataset("tmp_*"), item("read", users=["bob"])),
    policy(24, dataset("????_day"), item("write", users=["bob"])),
]


def test_a_row_of_a_pattern_says_for_which_part_an_access_is(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for row in asked(capsys, policies=OVERLAPPING)["rows"]:
        for cell in row["cells"]:
            found[row["entity"].partition(".")[2], cell["name"]] = cell["actions"]
    assert found["*", "ann"]["READ"]["verdict"] == "allowed", "`*log*` has a row of its own"
    assert found["*log*", "ann"]["READ"]["verdict"] == "denied"
    part = found["tmp_*", "ann"]["READ"]
    assert part["in_part"]
    assert {one["verdict"]: one["policy"]["id"] for one in part["parts"]} == {"allowed": 21, "denied": 22}
    assert [("log" in one["example"], one["verdict"]) for one in part["parts"]] in (
        [(False, "allowed"), (True, "denied")],
        [(True, "denied"), (False, "allowed")],
    )
    assert found["*_day", "bob"]["WRITE"]["in_part"], "a value with `?` is a part of a wider row"
    assert main([*MATRIX, *named(Path(), OVERLAPPING)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "R/" in lines["dataset:ns1.tmp_*"]
    assert 'denied by policy 22 "p22"' in lines["1:"]


def test_more_overlapping_patterns_than_can_be_told_apart_may_be_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"
    policies = [
        policy(n, dataset(f"*{letter}*"), item("read", users=["ann"] if letter == "a" else ["bob"]))
        for n, letter in enumerate(letters, 1)
    ]
    document = asked(capsys, policies=policies)
    rows = {row["entity"].partition(".")[2]: row["cells"] for row in document["rows"]}
    by_name = {cell["name"]: cell["actions"]["READ"] for cell in rows["*a*"]}
    assert by_name["ann"]["verdict"] == "allowed", "no other policy is about ann"
    assert by_name["bob"]["in_part"] or by_name["bob"]["verdict"] == "undecided"
    assert "too many patterns overlap: " in by_name["bob"]["depends"]


def test_the_list_on_a_narrow_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranger_cdap.cli.invocation.PIPE_WIDTH", 60)
    assert main([*MATRIX, *named(Path(), list(COMPANY))]) == 0
    lines = " ".join(capsys.readouterr().out.split())
    users = "user alice RW, user ann RWAX, user carol R, user dan A, user mallory R!, user olga A"
    assert f"dataset:ns1.kv: {users}, group etl R, group" in lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["ns1", "--type", "secure_key"], "nothing of type secure_key is known in `ns1`"),
        (["ns1", "--type", "datset"], "did you mean `dataset`"),
        (["n s"], "is not a name that CDAP allows"),
        (["ns1", "--inventory", "nowhere.jsonl"], "cannot be read"),
        (["ns1", "--out", "no/such/page.html"], "cannot be written"),
        (["ns1", *(word for n in range(20_000) for word in ("--user", f"u{n}"))], "are too many to look at"),
    ],
    ids=["no such entity", "no such type", "no such name", "no inventory", "nowhere", "too much"],
)
def test_what_can_not_be_shown_is_one_sentence(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["access", "--format", "matrix", "--entity", f"namespace:{options[0]}", *options[1:], *named(Path())]) == 3
    )
    assert said in capsys.readouterr().err


def test_policies_that_name_more_than_anybody_can_look_at(capsys: pytest.CaptureFixture[str]) -> None:
    huge = policy(19, {"namespace": "ns1", "application": "a", "program": "service.p"}, item("read", users=["x"]))
    huge["resources"]["application"]["values"] = [f"a{n}" for n in range(1000)]
    huge["resources"]["program"]["values"] = [f"service.p{n}" for n in range(1000)]
    assert main([*MATRIX, *named(Path(), [huge])]) == 3
    assert "policies name more than 20,000 entities" in capsys.readouterr().err
