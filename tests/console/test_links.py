"""Names in sentences of an answer lead to the questions about them, and no name becomes markup."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cli.display import visible
from ranger_cdap.console.links import Links, about
from tests.authz.fixtures import policy
from tests.cli.fixtures import item
from tests.console.fixtures import serving
from tests.console.test_page import HOSTILE, elements, look

KNOWN = {
    *("user alice", "user hugo.adeyemi", "user admin", "user svc/host@REALM", "group etl", "group Domain Users"),
    *("group a", "group a, b", "group b", "role ops"),
}


class Anchors(HTMLParser):
    """The links of a text by their names, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text, self.found, self._at = "", list[tuple[str, str]](), ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._at = dict(attrs)["href"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._at = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._at:
            self.found.append((data, self._at))


def linked(text: str, known: set[str] = KNOWN) -> dict[str, str]:
    """The names of a text that are links, with the questions that they lead to."""
    found = Anchors(str(Links("", None, known).linked(text)))
    assert found.text == visible(text, keep="")
    return {name: "&".join("=".join(one) for one in parse_qsl(urlsplit(to).query)) for name, to in found.found}


SENTENCES = {
    "a revocation": (
        'revoke READ from hugo.adeyemi in policy 94 "not for user data" (version 1): deny item 1 (group Domain Users:'
        " read, admin), and in policy 7: deny item 1 (user alice, role ops: cdap:read), or add a deny exception for"
        " admin there; then a policy must allow it",
        {
            "hugo.adeyemi": "user=hugo.adeyemi",
            "Domain Users": "groups=Domain Users",
            "alice": "user=alice",
            "ops": "role=ops",
            "admin": "user=admin",
        },
    ),
    "a grant": (
        "add READ for svc/host@REALM to a policy on dataset:ns1.kv",
        {"svc/host@REALM": "user=svc/host@REALM", "dataset:ns1.kv": "entity=dataset:ns1.kv"},
    ),
    "a missing privilege": (
        "alice needs READ on namespace:ns1",
        {"alice": "user=alice", "namespace:ns1": "entity=namespace:ns1"},
    ),
    "super users": ("remove alice and their groups from the super users of the service", {"alice": "user=alice"}),
    "an example": (
        "alice in a, b, etl with role ops: admin on dataset:ns1.kv (from 10.0.0.1)",
        {
            "alice": "user=alice",
            "a, b": "groups=a, b",
            "etl": "groups=etl",
            "ops": "role=ops",
            "dataset:ns1.kv": "entity=dataset:ns1.kv",
        },
    ),
    "no known user": ("someone in b, etl: read on instance", {"b": "groups=b", "etl": "groups=etl"}),
    "an exception": ('except policy 3 "x", deny item 1 (group etl)', {"etl": "groups=etl"}),
    "in code": ("the group lookup for `alice` failed", {"alice": "user=alice"}),
    "other words": ("the user data of group work in part: alice, admin", {}),
}


@pytest.mark.parametrize(("text", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_names_in_sentences_lead_to_the_questions_about_them(text: str, expected: dict[str, str]) -> None:
    assert linked(text) == expected


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    [*HOSTILE, "a b", "a, b", "user a", "policy 7", "dataset:ns1.kv", "in", " ", ", ", "\u202e", "`a`"]
)
KINDS = ("user", "group", "role")


@given(st.lists(st.tuples(st.sampled_from(KINDS), names), min_size=1, max_size=4), st.data())
def test_no_name_becomes_markup_and_the_text_stays(principals: list[tuple[str, str]], data: st.DataObject) -> None:
    who, (_, one), (_, two) = (
        ", ".join(f"{kind} {name}" for kind, name in principals),
        data.draw(st.sampled_from(principals)),
        data.draw(st.sampled_from(principals)),
    )
    groups = ", ".join(name for _, name in principals)
    texts = (
        f'revoke READ from {one} in policy 2 "{two}" (version 1): allow item 1 ({who}: read), or for {two} there',
        f"{one} needs READ on dataset:ns1.kv",
        f"{one} in {groups} with role {two}: read on dataset:ns1.kv",
        f"the lookup for `{one}` failed",
        one,
    )
    for text in texts:
        page = str(Links("https://ui", None, {f"{kind} {name}" for kind, name in principals}).linked(text))
        found = Anchors(page)
        assert set(found.tags) <= {"a"}
        assert found.text == visible(text, keep="")
        assert html.unescape(re.sub("<[^>]*>", "", page)) == visible(text, keep=""), "no character opens a tag"
        assert all(address.startswith(("/what?", "/who?")) for _, address in found.found)


@given(st.sampled_from(KINDS), names.filter(lambda name: not name.startswith("`")))
def test_a_known_name_of_any_characters_leads_to_its_question(kind: str, name: str) -> None:
    found = Anchors(str(Links("", None, {f"{kind} {name}"}).linked(f"allow item 1 ({kind} {name}: read)"))).found
    assert found == [(visible(name, keep=""), about(kind, name))]


@pytest.mark.parametrize("name", ["eve", *HOSTILE])
def test_the_reasons_of_an_answer_lead_on(name: str) -> None:
    policies = [policy(7, {"namespace": "ns1", "dataset": "kv"}, [], [], policyItems=[item("write", groups=[name])])]
    with serving(policies) as world:
        page = look(world, user=name, groups=name, operation="dataset.get", entity="dataset:ns1.kv")
    assert f"add READ for {name} to a policy on dataset:ns1.kv" in page.text
    assert set(elements(page)) & {"script", "img", "svg", "b"} == set()
