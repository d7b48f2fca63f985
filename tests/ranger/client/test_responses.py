"""What each answer of Ranger Admin means: the five shapes of errors, and what must never get into a message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap import errors
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.responses import AdminResponse, to_error

HTML = b"<!doctype html><html><body><h1>HTTP Status 400 - Bad Request</h1></body></html>"
REJECTED = (
    "(0) Validation failure: error code[{code}], reason[policy-id=[2,962]], field[name], subfield[null], type[x] "
)


def said(text: str, status_code: int = 1, **more: Any) -> bytes:
    return json.dumps({"statusCode": status_code, "msgDesc": text, **more}).encode()


def listed(name: str) -> dict[str, Any]:
    return {"messageList": [{"name": name, "rbKey": "xa.error", "message": "m", "objectId": 99}]}


VX = 'VXResponse={org.apache.ranger.view.VXResponse@5238ba1cstatusCode={404} msgDesc={"RANGER_ERROR_SERVICE_NOT_FOUND: ServiceName=nosuch"} messageList={null} }'  # noqa: E501
SIGNATURE = '[EclipseLink-4002]: ERROR: duplicate key value violates unique constraint "x_policy_uk_service_signature"'
OPTIMISTIC = (
    "Exception [EclipseLink-5011]: org.eclipse.persistence.exceptions.OptimisticLockException\nException Description"
)
GRANT_NAME = "policy already exists: ServiceName=cdapdev; PolicyName=grant-1795234523136. ID=144"
REMOTE = b'{"RemoteException": {"message": "Unexpected end-of-input", "exception": "JsonParseException"}}'

CASES = [
    ("a wrong password", 401, said("Authentication Failed", 401), errors.AuthenticationFailed),
    ("a wrong password, no body", 401, b"", errors.AuthenticationFailed),
    ("a session that timed out", 419, said("Session Timeout", 419), errors.AuthenticationFailed),
    ("a missing right", 403, said("User doesn't have permission to download policy", 403), errors.AccessForbidden),
    ("a missing role: the login page", 403, HTML, errors.AccessForbidden),
    ("no thing of that name", 404, said("Not found", 404), errors.NotFound),
    ("no thing with that id", 400, said("Data Not Found for given Id", **listed("DATA_NOT_FOUND")), errors.NotFound),
    ("a deleted service", 404, said(VX, 404), errors.ServiceNotFound),
    ("a path Ranger does not have", 404, b"", errors.UnexpectedAnswer),
    ("a 404 of another web server", 404, HTML, errors.UnexpectedAnswer),
    ("a disabled service", 400, said("off", **listed("OPER_NOT_ALLOWED_FOR_STATE")), errors.ServiceDisabled),
    ("a taken name", 400, said(REJECTED.format(code=3006)), errors.RequestRejected),
    ("bad JSON sent", 400, REMOTE, errors.RequestRejected),
    ("a CSRF refusal or Tomcat's own 400", 400, HTML, errors.UnexpectedAnswer),
    ("two changes of one resource", 400, said(SIGNATURE), errors.ConflictingChange),
    ("two changes of one row", 400, said(OPTIMISTIC), errors.ConflictingChange),
    ("two grants in one millisecond", 400, said(GRANT_NAME), errors.ConflictingChange),
    ("a redirect", 302, b"", errors.UnexpectedAnswer),
    ("a wrong method", 405, b"", errors.UnexpectedAnswer),
    ("a wrong content type", 415, b"", errors.UnexpectedAnswer),
    ("too many requests", 429, HTML, errors.AdminUnreachable),
    ("a failure", 500, HTML, errors.AdminFailed),
    ("a gateway without a Ranger Admin", 502, HTML, errors.AdminUnreachable),
    ("no service", 503, HTML, errors.AdminUnreachable),
    ("a good status where another was due", 204, b"", errors.UnexpectedAnswer),
]


@pytest.mark.parametrize(("status", "body", "kind"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_answer_is_one_kind_of_error(status: int, body: bytes, kind: type[errors.RangerAdminError]) -> None:
    error = to_error(AdminResponse("POST", "/service/x", status, body))
    assert type(error) is kind
    assert (error.status, error.method, error.path) == (status, "POST", "/service/x")
    assert "<" not in str(error)
    assert "html" not in str(error).lower()


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (REJECTED.format(code="3006"), (3006,)),
        (REJECTED.format(code="3,010"), (3010,)),
        (REJECTED.format(code="3.010"), (3010,)),
        (
            "(0) Validation failure: error code[1006], reason[a] (1) Validation failure: error code[3031], b",
            (1006, 3031),
        ),
        ("Operation denied. User name: ghost specified in policy does not exist in ranger admin.", ()),
    ],
)
def test_the_reasons_numbers_are_read_in_any_locale(text: str, codes: tuple[int, ...]) -> None:
    error = to_error(AdminResponse("POST", "/service/public/v2/api/policy", 400, said(text)))
    assert isinstance(error, errors.RequestRejected)
    assert error.reason_codes == codes
    assert text.strip() in str(error)


def test_a_service_that_is_not_there_is_named() -> None:
    assert "`nosuch`" in str(to_error(AdminResponse("GET", "/p", 404, said(VX))))


def test_a_secret_that_ranger_repeats_is_masked() -> None:
    error = to_error(
        AdminResponse("POST", "/p", 400, said("bad password: hunter2, really")), (Secret("hunter2"), Secret(""))
    )
    assert isinstance(error, errors.RequestRejected)
    assert "hunter2" not in str(error) + error.ranger_message
    assert "*****" in error.ranger_message


@given(
    st.integers(100, 599),
    st.binary()
    | st.text().map(said)
    | st.recursive(
        st.none() | st.text() | st.integers(),
        lambda v: (
            st.lists(v)
            | st.dictionaries(st.sampled_from(["msgDesc", "messageList", "RemoteException", "message", "name"]), v)
        ),
    ).map(lambda value: json.dumps(value).encode()),
)
def test_any_answer_makes_one_line(status: int, body: bytes) -> None:
    message = str(to_error(AdminResponse("GET", "/p", status, body)))
    assert message.isprintable()
    assert len(message) < 1000
