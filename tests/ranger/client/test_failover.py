"""Several addresses of one Ranger Admin: which failures the next one answers for, and what is never done twice."""

from __future__ import annotations

import logging

import pytest
import requests
import responses
import urllib3
from apache_ranger.utils import API, HttpMethod, HTTPStatus

from ranger_cdap import errors
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.http import AdminHttp

A, B = "https://a.test:6182", "https://b.test:6182"
GET = API("service/thing", HttpMethod.GET, HTTPStatus.OK)
POST = API("service/thing", HttpMethod.POST, HTTPStatus.OK)
PUT = API("service/thing", HttpMethod.PUT, HTTPStatus.OK)
PASSWORD = "hunter2-hunter2"

REFUSED = requests.ConnectionError(
    urllib3.exceptions.MaxRetryError(None, "/", ConnectionRefusedError())  # type: ignore[arg-type]
)
NO_CONNECTION = requests.ConnectTimeout()
UNKNOWN_NAME = requests.ConnectionError(urllib3.exceptions.NameResolutionError("a.test", None, OSError()))  # type: ignore[arg-type]
SILENT = requests.ReadTimeout()
BROKEN = requests.ConnectionError()


def pair(attempts: int = 1) -> AdminHttp:
    return AdminHttp(AdminConnection(f"{A}, {B}/", username="svc", password=Secret(PASSWORD), attempts=attempts))


def answer(base: str, api: API, what: int | Exception) -> None:
    """The address answers with a status, or not at all."""
    if isinstance(what, int):
        body = {} if what == 200 else {"statusCode": 1, "msgDesc": "no"}
        responses.add(api.method.value, f"{base}/service/thing", status=what, json=body)
    else:
        responses.add(api.method.value, f"{base}/service/thing", body=what)


def asked() -> list[str]:
    return [str(call.request.url).split("/service")[0] for call in responses.calls]


# what the first address does; whether the next is asked by GET, which changes nothing, and by POST and PUT
WHAT_HAPPENS = [
    ("connection refused", REFUSED, True, True),
    ("no connection in time", NO_CONNECTION, True, True),
    ("unknown name", UNKNOWN_NAME, True, True),
    ("no answer in time", SILENT, True, False),
    ("connection broken off", BROKEN, True, False),
    ("bad gateway", 502, True, False),
    ("service unavailable", 503, True, False),
    ("gateway time-out", 504, True, False),
    ("too many requests", 429, False, False),
    ("wrong password: a second try would count too", 401, False, False),
    ("no right", 403, False, False),
    ("refused", 400, False, False),
    ("failed", 500, False, False),
    ("moved", 302, False, False),
]


@pytest.mark.parametrize("api", [GET, POST, PUT], ids=["GET", "POST", "PUT"])
@pytest.mark.parametrize(
    ("first", "read_goes_on", "change_goes_on"), [row[1:] for row in WHAT_HAPPENS], ids=[row[0] for row in WHAT_HAPPENS]
)
@responses.activate
def test_the_next_address_is_asked_where_that_does_nothing_twice(
    api: API, first: int | Exception, read_goes_on: bool, change_goes_on: bool
) -> None:
    answer(A, api, first)
    answer(B, api, 200)
    if read_goes_on if api is GET else change_goes_on:
        assert pair().call_api(api) == {}
        assert asked() == [A, B]
    else:
        with pytest.raises(errors.RangerAdminError):
            pair().call_api(api)
        assert asked() == [A]


@responses.activate
def test_the_address_that_answered_is_asked_first_from_then_on() -> None:
    answer(A, GET, BROKEN)
    answer(A, GET, 200)
    answer(B, GET, 200)
    admin = pair()
    for _ in range(3):
        admin.call_api(GET)
    assert asked() == [A, B, B, B]
    assert admin.url == B


@responses.activate
def test_after_a_change_that_may_have_been_made_the_next_request_goes_elsewhere() -> None:
    answer(A, POST, SILENT)
    answer(B, POST, 200)
    admin = pair()
    with pytest.raises(errors.AdminUnreachable):
        admin.call_api(POST)
    admin.call_api(POST)
    assert asked() == [A, B]


@responses.activate
def test_what_was_never_sent_may_be_sent_again() -> None:
    responses.post(f"{A}/service/thing", body=NO_CONNECTION)
    responses.post(f"{A}/service/thing", json={})
    admin = AdminHttp(AdminConnection(A, username="svc", password=Secret(PASSWORD), attempts=2))
    assert admin.call_api(POST) == {}
    assert asked() == [A, A]


@responses.activate
def test_where_nobody_is_there_each_address_is_named_with_its_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answer(A, GET, REFUSED)
    answer(B, GET, SILENT)
    with pytest.raises(errors.AdminUnreachable) as caught:
        pair(attempts=2).call_api(GET)
    message = str(caught.value)
    assert f"`{A}` cannot be reached: the connection was refused" in message
    assert f"`{B}` cannot be reached: no answer within the time-out" in message
    assert asked() == [A, B, A, B]
    assert PASSWORD not in message + caplog.text + repr(caught.value.__dict__)


@pytest.mark.parametrize("url", ["", ",", f"{A},nonsense", f"{A},https://u:{PASSWORD}@b.test"])
def test_every_address_is_checked(url: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        AdminHttp(AdminConnection(url, username="svc", password=Secret("x")))
    assert PASSWORD not in str(caught.value)
