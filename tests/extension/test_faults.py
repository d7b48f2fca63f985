"""Whatever the service does, nothing is allowed but what it clearly allows; the user reads why."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.extension.driver import NS1, Extension, entity
from tests.extension.scripted_service import ALLOWED, DENIED, HELLO, Reply, ScriptedService, impatient

pytestmark = pytest.mark.java

SAID = "the authorization service of CDAP does not answer ({}); nothing is allowed until it does"
NOT_JSON = "its answer is not JSON as agreed"
VISIBLE = {"visible": [True, True], "cacheable": False, "generation": "g1"}
TWO = [NS1, entity("DATASET", "ns1", "kv")]

TEXT = json.dumps(ALLOWED)
UNUSABLE = {
    "no content": (Reply(b""), NOT_JSON),
    "not JSON": (Reply(b"allowed"), NOT_JSON),
    "HTML": (Reply(b"<html>allowed: true</html>"), NOT_JSON),
    "a list": (Reply(f"[{TEXT}]"), NOT_JSON),
    "a truth value": (Reply(b"true"), NOT_JSON),
    "JSON that goes on": (Reply(TEXT + "{}"), NOT_JSON),
    "JSON that ends early": (Reply(TEXT[:-1]), NOT_JSON),
    "single quotes": (Reply(TEXT.replace('"', "'")), NOT_JSON),
    "a field twice": (Reply('{"allowed": false, ' + TEXT[1:]), NOT_JSON),
    "a field twice, the other way": (Reply(TEXT[:-1] + ', "allowed": false}'), NOT_JSON),
    "not UTF-8": (Reply(TEXT.replace("g1", "g\u00e9").encode("latin-1")), NOT_JSON),
    "nested a thousand times": (Reply('{"a":' * 1000 + "1" + "}" * 1000), NOT_JSON),
    "nested a hundred thousand times": (Reply(b"[" * 100_000), NOT_JSON),
    "more than four megabytes": (Reply(TEXT + " " * (5 << 20)), "its answer is too long"),
    "cut": (Reply(ALLOWED, cut=True), "the connection broke"),
    "closed without a word": (Reply(drops=True), "the connection broke"),
    "silence": (Reply(hangs=True), "no answer within 400 ms"),
    "created": (Reply(ALLOWED, 201), "HTTP status 201"),
    "no content, with status": (Reply(b"", 204), "HTTP status 204"),
    "redirect": (Reply(ALLOWED, 302, {"Location": "/cdap/v1/enforce"}), "HTTP status 302"),
    "bad request": (Reply({"code": "BAD_REQUEST", "message": "no"}, 400), "HTTP status 400"),
    "not known": (Reply({"code": "UNAUTHORIZED", "message": "no"}, 401), "HTTP status 401"),
    "not known, and asks": (Reply(b"", 401, {"WWW-Authenticate": 'Basic realm="x"'}), "HTTP status 401"),
    "not permitted": (Reply(ALLOWED, 403), "HTTP status 403"),
    "not found": (Reply(b"Not Found", 404), "HTTP status 404"),
    "too many": (Reply(ALLOWED, 429), "HTTP status 429"),
    "broken": (Reply(ALLOWED, 500), "HTTP status 500"),
    "overloaded": (Reply(b"", 503, {"Retry-After": "1"}), "HTTP status 503"),
}
TWICE = {"cut", "closed without a word"}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_answer_denies(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    reply, why = UNUSABLE[name]
    extension.start(impatient(properties, reply))
    service.answers(reply, *[reply] * (name in TWICE))

    seen = extension.enforce()

    assert not seen["allowed"]
    assert seen["text"] == (
        f"Principal 'alice' has insufficient privileges to perform action 'STANDARD.GET' on namespace:ns1. "
        f"{SAID.format(why)}"
    )
    assert len(service.asked) == 1 + (name in TWICE)


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_answer_is_no_empty_list(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    reply, why = UNUSABLE[name]
    extension.start(impatient(properties, reply))
    service.answers(reply, *[reply] * (name in TWICE))

    assert extension.visible(TWO) == {"error": "Refusal", "status": 503, "text": SAID.format(why)}


WRONG = {
    "allowed": ["true", 1, None, [True]],
    "enforced": ["yes", None],
    "reason": [None, 1],
    "missing": [None, "WRITE", [1]],
    "cacheable": [None, "true", 0],
    "generation": [None, 1],
}


def spoiled(good: Mapping[str, object], wrong: Mapping[str, list[object]]) -> list[tuple[str, Reply]]:
    lacking = [(field, Reply({k: v for k, v in good.items() if k != field})) for field in wrong]
    return lacking + [(field, Reply({**good, field: value})) for field in wrong for value in wrong[field]]


@pytest.mark.parametrize(("field", "reply"), spoiled(ALLOWED, WRONG))
def test_an_answer_with_a_missing_or_wrong_field_denies(
    field: str, reply: Reply, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(reply)

    seen = extension.enforce()

    assert not seen["allowed"]
    assert seen["text"].endswith(SAID.format(f"its answer has no usable field {field}"))


COUNTS: list[object] = [[], [True], [True] * 3, [True, None], [True, "true"], [True, 1], {"0": True}, None]


@pytest.mark.parametrize(
    "reply",
    [Reply({**VISIBLE, "visible": value}) for value in COUNTS]
    + [reply for _, reply in spoiled(VISIBLE, {"visible": [], "cacheable": [None, 1], "generation": [None, 1]})],
)
def test_a_wrong_number_or_kind_of_visibilities_shows_nothing(
    reply: Reply, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(reply)

    assert extension.visible(TWO)["status"] == 503


def test_unknown_fields_of_a_newer_service_do_no_harm(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(ALLOWED | {"news": [{"a": None}, 1.5]}, VISIBLE | {"news": 1})

    assert extension.enforce()["allowed"]
    assert extension.visible(TWO) == {"visible": [True, True]}


def test_a_redirect_takes_the_secret_nowhere(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    with ScriptedService() as other:
        extension.start(properties)
        service.answers(Reply(b"", 307, {"Location": f"{other.url}/cdap/v1/enforce"}))

        assert not extension.enforce()["allowed"]
        assert other.connections == 0


def test_a_connection_that_breaks_is_tried_once_more(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(Reply(drops=True), ALLOWED)

    assert extension.enforce()["allowed"]
    first, second = service.asked
    assert first.body == second.body


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (ALLOWED, {"allowed": True}),
        (DENIED, {"allowed": False}),
        (Reply(b"", 500), {"error": "Refusal", "status": 503, "text": SAID.format("HTTP status 500")}),
    ],
)
def test_a_container_does_not_keep_that_nobody_can_tell(
    reply: Reply,
    seen: dict[str, object],
    extension: Extension,
    service: ScriptedService,
    properties: dict[str, str],
) -> None:
    """CDAP's containers keep a denial for 300 seconds, but no error."""
    extension.start(properties)
    service.answers(reply)

    got = extension.command(
        "enforce for a container", principal={"name": "alice"}, entity=NS1, permissions=["STANDARD.GET"]
    )

    assert {k: got.get(k) for k in seen} == seen
    assert service.asked[0].body["from_container"] is True
    assert service.asked[0].body["hint"] == "RemotePrivilegesHandler.enforce"


def test_many_questions_share_a_connection(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(*[ALLOWED, DENIED, Reply({"code": "X", "message": "y"}, 400)] * 10)

    assert [extension.enforce()["allowed"] for _ in range(30)] == [True, False, False] * 10
    assert {asked.connection for asked in service.asked} == {1}


def test_a_service_that_is_away_at_the_start_is_found_when_it_comes(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    service.leave()
    assert extension.start(properties) == {}
    assert extension.enforce()["text"].endswith(SAID.format("no connection"))
    assert extension.visible(TWO)["text"] == SAID.format("no connection")

    service.listen()
    extension.pass_time(10_000)
    service.answers(ALLOWED, ALLOWED)

    assert extension.enforce()["allowed"]
    assert len(service.hellos) == 1
    assert extension.enforce()["allowed"]
    assert len(service.hellos) == 1


def test_a_service_that_goes_and_comes_back_is_asked_who_it_is(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(ALLOWED)
    assert extension.enforce()["allowed"]
    assert len(service.hellos) == 1

    service.leave()
    assert extension.enforce()["text"].endswith(SAID.format("no connection"))
    service.listen()
    service.answers(ALLOWED)

    assert extension.enforce()["allowed"]
    assert len(service.hellos) == 2


@pytest.mark.parametrize("hello", [Reply(b"", 500), Reply(b"nonsense"), Reply({}), Reply(hangs=True)])
def test_a_failed_hello_stops_neither_cdap_nor_decisions(
    hello: Reply, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    service.hello = hello
    assert extension.start(impatient(properties, hello)) == {}
    service.answers(ALLOWED, DENIED)

    assert extension.enforce()["allowed"]
    assert not extension.enforce()["allowed"]
    assert len(service.hellos) == 1, "asked again at most every ten seconds"


def test_what_the_service_sees_otherwise_is_logged(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    service.hello = Reply(HELLO | {"differences": ["CDAP says its master user is `root`\nFAKE LINE"]})
    extension.start(properties)

    assert "CDAP says its master user is `root` FAKE LINE" in extension.log


def test_a_lasting_failure_is_one_line_a_minute(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    before = extension.log.count("HTTP status 500")
    service.answers(*[Reply(b"", 500)] * 21)
    for _ in range(20):
        extension.enforce()
    assert extension.log.count("HTTP status 500") == before + 1

    extension.pass_time(60_000)
    extension.enforce()
    assert extension.log.count("HTTP status 500") == before + 2
    assert "[19 times more since the last line]" in extension.log


@pytest.mark.parametrize("cache_seconds", ["0", "5"])
def test_two_hundred_at_once_get_each_his_own_answer(
    cache_seconds: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | {"cache.seconds": cache_seconds})
    service.decides = lambda asked: (
        ALLOWED | {"cacheable": True} if int(asked.body["principal"]["name"].split()[1]) % 3 == 0 else DENIED
    )

    for _ in range(2):
        assert extension.command("enforce together", users=200)["allowed"] == [n % 3 == 0 for n in range(200)]
