"""Requests drawn from our own OpenAPI document, right ones and wrong ones, at a running service, as every role."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ranger_cdap.service.api.openapi import document
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.table import ROUTES
from tests.authz.fixtures import policy
from tests.service.fixtures import basic, serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
EXAMPLES = 10

schema = schemathesis.openapi.from_dict(document(ROUTES))
ROLES_OF = {(row.method, row.path): row.roles for row in ROUTES}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    policies = [policy(1, {"namespace": "ns1"}, ["alice"], ["read", "write"])]
    with serving(policies, Path(tmp_path_factory.mktemp("schemathesis"))) as world:
        yield world.url


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


TURNS = itertools.cycle((None, *CallerRole))


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@pytest.mark.slow
def test_whatever_is_sent_is_answered_as_documented(
    case: schemathesis.Case, url: str, session: requests.Session
) -> None:
    roles = ROLES_OF.get((case.method, case.path))
    for role in (min(roles) if roles else None, next(TURNS)):  # somebody who may, and everybody in turn
        case.headers.pop("Authorization", None)
        headers = {"Authorization": basic(role.value)} if role else {}
        response = case.call(base_url=url, session=session, headers=headers, timeout=20)
        if roles is None:
            assert response.status_code == 405, "a method that the document does not name"
            continue
        case.validate_response(response, checks=CHECKS)
        if response.status_code == 413:
            continue  # nobody is asked who he is where the head says that the body is too long
        if roles and role not in roles:
            assert response.status_code == (401 if role is None else 403)
