"""The law of replies: whatever a server sends, the client allows only what it said to exactly this question."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.client.service_response import ServiceResponse, read_reply
from ranger_cdap.errors import DecisionServiceError, NotReady, RangerCdapError
from tests.client.questions import QUESTIONS, Asked, understood

URL = "https://decisions.example"
SENT = "0123456789abcdef"
JSON = "application/json"
_ODD = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        -1,
        "",
        "true",
        "True",
        "ALLOW",
        "DENY",
        "allow",
        "NOT_DETERMINED",
        [],
        {},
        [True],
        "7",
        2**70,
    ]
)
_NAMES = st.sampled_from(
    ["allowed", "decision", "visible", "evaluations", "accesses", "permissions", "read", "write", "context", "error",
     "subResources", "requestId", "ready", "live", "new", "access", "permission", "missing",
     "user", "asked", "entity", "enforced"]
)  # fmt: skip


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(below for key, value in inner for below in places(value, (*path, key)))]


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


@st.composite
def changed(draw: st.DrawFn, tree: Any) -> Any:
    """The document with a value replaced, removed, doubled, moved or added."""
    tree = copy.deepcopy(tree)
    path = draw(st.sampled_from(places(tree)))
    if not path:
        return draw(st.one_of(_ODD, st.just(tree)))
    above, key = at(tree, path[:-1]), path[-1]
    match draw(st.sampled_from(["replace", "remove", "add", "double", "reverse", "swap"])):
        case "replace":
            above[key] = draw(_ODD)
        case "remove":
            del above[key]
        case "add" if isinstance(above, dict):
            above[draw(_NAMES)] = draw(_ODD | st.just(copy.deepcopy(above[key])))
        case "double" if isinstance(above, list):
            above.append(copy.deepcopy(above[key]))
        case "reverse" if isinstance(above, list):
            above.reverse()
        case "swap" if isinstance(above, dict):
            other = draw(st.sampled_from(sorted(above)))
            above[key], above[other] = above[other], above[key]
    return tree


@st.composite
def bodies(draw: st.DrawFn, asked: Asked) -> bytes:
    """A body that resembles the one that allows everything: as a document, as text, or cut off."""
    document = asked.allowing
    for _ in range(draw(st.integers(0, 3))):
        document = draw(changed(document))
    body = json.dumps(document).encode()
    match draw(st.sampled_from(["whole", "whole", "whole", "cut", "bytes", "repeated", "twice", "noise"])):
        case "cut":
            return body[: draw(st.integers(0, len(body)))]
        case "bytes":
            place = draw(st.integers(0, max(0, len(body) - 1)))
            return body[:place] + draw(st.binary(max_size=3)) + body[place + 1 :]
        case "repeated":
            name = draw(_NAMES)
            return body.replace(b"{", json.dumps({name: draw(_ODD)}).encode()[:-1] + b", ", 1)
        case "twice":
            return body + draw(st.sampled_from([b"", b"\n", body, b"}", b" null"]))
        case "noise":
            return draw(st.binary(max_size=40))
    return body


_STATUSES = (200, 201, 204, 206, 301, 400, 401, 403, 404, 429, 500, 503)
_TYPES = (JSON, "", "text/html", "application/jsonp", "APPLICATION/JSON; charset=utf-8")
_IDS = ("", SENT.upper(), SENT[:-1], f"{SENT}, {SENT}", "another")


@st.composite
def responses(draw: st.DrawFn, asked: Asked) -> ServiceResponse:
    """A response that is odd in its body, or in one part of its head, or in several."""
    odd = draw(st.sampled_from(["body", "body", "body", "status", "type", "encoding", "id", "several"]))

    def part(name: str, usual: Any, others: tuple[Any, ...]) -> Any:
        return draw(st.sampled_from(others)) if odd in (name, "several") else usual

    return ServiceResponse(
        part("status", 200, _STATUSES),
        draw(bodies(asked)) if odd in ("body", "several") else asked.body,
        part("type", JSON, _TYPES),
        part("encoding", "", ("identity", "gzip", "br")),
        part("id", SENT, _IDS),
    )


def repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def said(asked: Asked, response: ServiceResponse) -> list[bool]:
    """What the server allows by this response, read by another parser and without the client's structs."""
    if (response.status, response.request_id) != (200, SENT):
        return []
    if response.content_encoding not in ("", "identity") or not response.content_type.lower().startswith(JSON):
        return []
    try:
        return asked.said(json.loads(response.body, object_pairs_hook=repeated))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return []


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_reply_that_allows_everything_is_understood_so(name: str) -> None:
    asked = QUESTIONS[name]
    reply = read_reply(URL, asked.request, ServiceResponse(200, asked.body, JSON, "", SENT), SENT)
    assert understood(reply) == [True] * asked.count


@pytest.mark.parametrize("name", QUESTIONS)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_nothing_is_allowed_that_the_server_did_not_say(name: str, data: st.DataObject) -> None:
    asked = QUESTIONS[name]
    response = data.draw(responses(asked))
    try:
        reply = read_reply(URL, asked.request, response, SENT)
    except (DecisionServiceError, NotReady):
        return
    allowed = said(asked, response)
    for place, understood_so in enumerate(understood(reply)):
        assert not understood_so or (place < len(allowed) and allowed[place])


@given(body=st.binary(max_size=200), status=st.integers(100, 599), kind=st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_one_error_of_ours_in_one_sentence(body: bytes, status: int, kind: str) -> None:
    with pytest.raises(RangerCdapError) as caught:
        read_reply(URL, QUESTIONS["enforce"].request, ServiceResponse(status, body, kind, "", SENT), SENT)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["visible", "evaluations", "authorize several"])
def test_several_decisions_have_no_truth_value(name: str) -> None:
    """A list with a denial in it would count as true."""
    asked = QUESTIONS[name]
    reply = read_reply(URL, asked.request, ServiceResponse(200, asked.body, JSON, "", SENT), SENT)
    with pytest.raises(TypeError, match="read each of them"):
        bool(reply)


_ERRORS = {
    "not ready": (503, '"not ready: no policies yet"', "not-ready", "no policies yet"),
    "busy": (503, '{"code": "BUSY", "message": "try again"}', "decision-service-unreachable", "`try again`"),
    "a service not ready": (503, '"service `cdapdev` is not ready: no policies"', "not-ready", "no policies"),
    "its share": (429, "", "decision-service-unreachable", "HTTP 429"),
    "no credentials": (401, '"Authentication required"', "decision-service-forbidden", "`Authentication required`"),
    "no role": (403, '"bob is not authorized"', "decision-service-forbidden", "`bob is not authorized`"),
    "invalid": (400, '{"code": "BAD_REQUEST", "message": "no\\nuser"}', "decision-service-rejected", "`no user`"),
    "masked": (501, '"masks"', "decision-service-rejected", "`masks`"),
    "another program's 501": (501, "<html>", "decision-service-unexpected", "HTTP 501"),
    "another program": (404, "<html>", "decision-service-unexpected", "HTTP 404"),
    "a redirect": (302, "", "decision-service-unexpected", "not followed"),
    "a quotation": (400, '"`rm -rf`"', "decision-service-rejected", "`'rm -rf'`"),
}  # fmt: skip


@pytest.mark.parametrize("case", _ERRORS)
def test_an_error_has_its_class_and_the_services_own_sentence(case: str) -> None:
    status, body, code, words = _ERRORS[case]
    with pytest.raises(RangerCdapError) as caught:
        read_reply(URL, QUESTIONS["evaluation"].request, ServiceResponse(status, body.encode(), JSON, "", SENT), SENT)
    assert (caught.value.code, words in str(caught.value)) == (code, True)
