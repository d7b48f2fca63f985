"""Asking CDAP whether an entity exists: which answers prove something, and that no other does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
import responses
from requests import ConnectionError as NoConnection
from requests import ReadTimeout

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, parse_entity
from spark_sync.reconcile.cdap_existence import MOST_FAILURES, Shown, ask, existence_queries, oldest_author, proved
from spark_sync.reconcile.confirmation import CdapAnswer
from spark_sync.sources.cdap_http import CdapHttp

CDAP = "https://cdap.example:11015"
NS = f"{CDAP}/v3/namespaces"
DEFAULT = f"{NS}/default"
KV, SHOP = parse_entity("dataset:ns1.kv"), parse_entity("application:ns1.shop")

# As CDAP 6.11.1 answers, with more fields there.
SHOWN: dict[str, tuple[str, Any]] = {
    "namespace:ns1": ("ns1", {"name": "ns1", "description": "", "generation": 1, "config": {}}),
    "application:ns1.shop": ("ns1/apps/shop", {"name": "shop", "appVersion": "1", "programs": []}),
    "artifact:ns1.lib": (
        "ns1/artifacts/lib",
        [{"name": "lib", "version": "1.0.0", "scope": "USER"}, {"name": "lib", "version": "2.0.0", "scope": "USER"}],
    ),
    "dataset:ns1.kv": ("ns1/data/datasets/kv", {"spec": {"name": "kv", "type": "table"}, "type": {"name": "table"}}),
    "dataset_module:ns1.m.M": ("ns1/data/modules/m.M", {"name": "m.M", "className": "x", "types": []}),
    "secure_key:ns1.key-1": ("ns1/securekeys/key-1/metadata", {"name": "key-1", "createdEpochMs": 1}),
    "profile:ns1.spark": ("ns1/profiles/spark", {"name": "spark", "scope": "USER"}),
    "schedule:ns1.shop.daily": ("ns1/apps/shop/schedules/daily", {"name": "daily", "application": "shop"}),
}


@pytest.fixture
def cdap() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


def answer_default(cdap: responses.RequestsMock, status: int = 200, name: str = "default") -> None:
    cdap.get(DEFAULT, json={"name": name}, status=status)


def asked(*entities: EntityId, may_get: Callable[[EntityId], bool] = lambda _: True) -> dict[EntityId, CdapAnswer]:
    with CdapHttp(CDAP, attempts=1) as http:
        return ask(entities, http, may_get)


@pytest.mark.parametrize(("shown", "cdap_answers", "may_get"), [*product(Shown, (True, False), (True, False))])
def test_only_one_row_proves_that_an_entity_is_gone(shown: Shown, cdap_answers: bool, may_get: bool) -> None:
    """The law of `proved`, as a table: 200 proves existence, and one row in all that it is gone."""
    gone = (shown, cdap_answers, may_get) == (Shown.NOTHING, True, True)
    expected = True if shown is Shown.IT else False if gone else None
    assert proved(shown, cdap_answers=cdap_answers, may_get=may_get) is expected


STATUSES = (200, 201, 204, 302, 400, 401, 403, 404, 409, 500, 503)
KNOWN = (200, 302, 403, 404, 503)


@pytest.mark.parametrize(("status", "known", "may_get"), [*product(STATUSES, KNOWN, (True, False))])
def test_of_all_answers_one_combination_means_gone(
    cdap: responses.RequestsMock, status: int, known: int, may_get: bool
) -> None:
    """The same law over HTTP: the entity's status, that of what every CDAP has, and the decision."""
    answer_default(cdap, known)
    cdap.get(f"{NS}/ns1/data/datasets/kv", json={"spec": {"name": "kv"}}, status=status)
    found = asked(KV, may_get=lambda _: may_get)
    if known == 200 and status == 200:
        assert found == {KV: CdapAnswer(True)}
    elif (status, known, may_get) == (404, 200, True):
        assert found == {KV: CdapAnswer(False)}
    else:
        assert found == {}


@pytest.mark.parametrize("error", [ReadTimeout("slow"), NoConnection("down")])
def test_no_answer_proves_nothing(cdap: responses.RequestsMock, error: Exception) -> None:
    answer_default(cdap)
    cdap.get(f"{NS}/ns1/data/datasets/kv", body=error)
    assert asked(KV) == {}


def test_every_type_that_may_be_created_is_asked_about_but_for_those_of_cdap_5() -> None:
    created = {kind.name for kind in load_creations().entities}
    assert created - existence_queries().keys() == {"stream", "stream_view"}
    assert {parse_entity(text).type for text in SHOWN} == existence_queries().keys()


@pytest.mark.parametrize("text", SHOWN)
def test_what_cdap_shows_exists(cdap: responses.RequestsMock, text: str) -> None:
    entity, (path, body) = parse_entity(text), SHOWN[text]
    answer_default(cdap)
    cdap.get(f"{NS}/{path}", json=body)
    cdap.get(f"{NS}/ns1/apps", json=[])
    assert asked(entity) == {entity: CdapAnswer(True)}


@pytest.mark.parametrize("text", SHOWN)
def test_what_cdap_does_not_show_is_gone(cdap: responses.RequestsMock, text: str) -> None:
    entity, (path, _) = parse_entity(text), SHOWN[text]
    answer_default(cdap)
    cdap.get(f"{NS}/{path}", status=404, body="not found")
    assert asked(entity) == {entity: CdapAnswer(False)}


@pytest.mark.parametrize("text", SHOWN)
@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"{}", b'"kv"', b'{"name":"other"}', b'[{"name":"other"}]'])
def test_an_answer_of_another_shape_proves_nothing(cdap: responses.RequestsMock, text: str, body: bytes) -> None:
    entity, (path, _) = parse_entity(text), SHOWN[text]
    answer_default(cdap)
    cdap.get(f"{NS}/{path}", body=body)
    assert asked(entity) == {}


def test_an_artifact_without_versions_is_gone(cdap: responses.RequestsMock) -> None:
    entity = parse_entity("artifact:ns1.lib")
    answer_default(cdap)
    cdap.get(f"{NS}/ns1/artifacts/lib", json=[])
    assert asked(entity) == {entity: CdapAnswer(False)}
    assert asked(entity, may_get=lambda _: False) == {}


def test_everything_in_a_namespace_that_is_gone_is_gone(cdap: responses.RequestsMock) -> None:
    answer_default(cdap)
    for text in SHOWN:
        cdap.get(f"{NS}/{SHOWN[text][0]}", status=404)
    entities = [parse_entity(text) for text in SHOWN]
    assert asked(*entities) == dict.fromkeys(entities, CdapAnswer(False))


def test_a_type_without_a_row_is_not_asked_about(cdap: responses.RequestsMock) -> None:
    answer_default(cdap)
    assert asked(parse_entity("stream:ns1.clicks"), parse_entity("program:ns1.shop.workflow.W")) == {}
    assert {call.request.url for call in cdap.calls} == {DEFAULT}


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [((200, "default"), (200, "default"), True), ((200, "default"), (404, "default"), False),
     ((200, "default"), (200, "other"), False), ((404, "default"), (200, "default"), False),
     ((200, "other"), (200, "default"), False), ((200, "default"), (503, "default"), False)],
)  # fmt: skip
def test_what_every_cdap_has_is_shown_before_and_after(
    cdap: responses.RequestsMock, before: tuple[int, str], after: tuple[int, str], gone: bool
) -> None:
    for status, name in (before, after):
        answer_default(cdap, status, name)
    cdap.get(f"{NS}/ns1/data/datasets/kv", status=404)
    assert asked(KV) == ({KV: CdapAnswer(False)} if gone else {})


@pytest.mark.parametrize(("before", "after"), [*product((True, False), repeat=2)])
def test_the_account_may_get_it_before_and_after(cdap: responses.RequestsMock, before: bool, after: bool) -> None:
    answer_default(cdap)
    cdap.get(f"{NS}/ns1/data/datasets/kv", status=404)
    decisions = iter([before, after])
    assert asked(KV, may_get=lambda _: next(decisions)) == ({KV: CdapAnswer(False)} if before and after else {})


def test_a_cdap_that_fails_is_left_for_the_next_round(cdap: responses.RequestsMock) -> None:
    answer_default(cdap)
    entities = [parse_entity(f"dataset:ns1.kv{n}") for n in range(MOST_FAILURES + 3)]
    for entity in entities[:-1]:
        cdap.get(f"{NS}/ns1/data/datasets/{entity.parts[-1]}", status=503)
    cdap.get(f"{NS}/ns1/data/datasets/{entities[-1].parts[-1]}", json={"spec": {"name": entities[-1].parts[-1]}})
    assert asked(*entities) == {}
    assert len(cdap.calls) == MOST_FAILURES + 2
    assert asked(*entities[-MOST_FAILURES:]) == {entities[-1]: CdapAnswer(True)}


def version(name: str = "shop", author: Any = "alice", created: Any = 100, **change: Any) -> dict[str, Any]:
    return {"name": name, "version": str(created), "change": {"author": author, "creationTimeMillis": created} | change}


NOBODY = ("", 0)
VERSIONS: dict[str, tuple[Any, tuple[str, int]]] = {
    "one": ([version()], ("alice", 100)),
    "the oldest of several": ([version(author="bob", created=300), version(), version(created=200)], ("alice", 100)),
    "in a page": ({"applications": [version()]}, ("alice", 100)),
    "a page of several": ({"applications": [version()], "nextPageToken": "x"}, NOBODY),
    "none": ([], NOBODY),
    "no change": ([version(), {"name": "shop", "version": "0"}], NOBODY),
    "no time": ([version(), version(created=None)], NOBODY),
    "a time that is a text": ([version(created="100")], NOBODY),
    "no time at all": ([version(created=0)], NOBODY),
    "empty": ([version(author="")], NOBODY),
    "not decoded": ([version(author="emptyUserId")], NOBODY),
    "no author": ([version(author=None)], NOBODY),
    "an author that is none": ([version(author=["alice"])], NOBODY),
    "only the newer one is named": ([version(author=""), version(author="bob", created=200)], NOBODY),
    "two at the same time": ([version(), version(author="bob")], NOBODY),
    "twice the same": ([version(), version()], ("alice", 100)),
    "of another name": ([version(name="shop2")], NOBODY),
    "one of another name": ([version(), version(name="shop2", created=50)], NOBODY),
    "no list": ({"error": "x"}, NOBODY),
    "no objects": (["shop"], NOBODY),
    "nothing": (None, NOBODY),
}


@pytest.mark.parametrize(("answer", "author"), VERSIONS.values(), ids=VERSIONS)
def test_the_author_of_the_oldest_version(answer: Any, author: tuple[str, int]) -> None:
    assert oldest_author(answer, "shop") == author


def test_an_application_that_exists_is_asked_for_its_oldest_author(cdap: responses.RequestsMock) -> None:
    answer_default(cdap)
    cdap.get(f"{NS}/ns1/apps/shop", json={"name": "shop"})
    wanted = {"latestOnly": "false", "nameFilter": "shop", "nameFilterType": "EQUALS"}
    cdap.get(f"{NS}/ns1/apps", json=[version()], match=[responses.matchers.query_param_matcher(wanted)])
    assert asked(SHOP) == {SHOP: CdapAnswer(True, "alice", 100)}


@pytest.mark.parametrize("status", [302, 403, 404, 500])
def test_without_its_versions_an_application_exists_all_the_same(cdap: responses.RequestsMock, status: int) -> None:
    answer_default(cdap)
    cdap.get(f"{NS}/ns1/apps/shop", json={"name": "shop"})
    cdap.get(f"{NS}/ns1/apps", status=status, body=json.dumps([version()]))
    assert asked(SHOP) == {SHOP: CdapAnswer(True)}
