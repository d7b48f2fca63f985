"""Asking a real CDAP whether entities exist: its answers for what is there, what is not, and what it hides."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.config import ConfirmSettings
from spark_sync.reconcile.cdap_existence import ask, existence_queries
from spark_sync.reconcile.confirmation import CdapAnswer
from spark_sync.reconcile.evaluation_client import EvaluationClient
from spark_sync.sources.cdap_http import CdapHttp
from tests.cdap_master.builder import KEY_VALUE, build
from tests.cdap_master.fixtures import CONFIRM, World

BUILDER = "builder-of-there"
NS = "/v3/namespaces/there"
PROFILE = {"label": "l", "description": "d", "provisioner": {"name": "native", "properties": []}}
KEY = {"description": "d", "data": "1234", "properties": {}}

THERE = (
    "namespace:there",
    "application:there.First",
    "artifact:there.shop-app",
    "dataset:there.prices",
    "secure_key:there.till",
    "profile:there.small",
)
NOT_THERE = (
    "namespace:nowhere",
    "application:there.None",
    "artifact:there.none",
    "dataset:there.none",
    "dataset_module:there.none",
    "secure_key:there.none",
    "profile:there.none",
    "schedule:there.First.none",
    "application:nowhere.None",
    "dataset:nowhere.none",
)
HIDDEN = ("dataset:there.hidden", "application:there.Hidden", "artifact:there.hidden", "namespace:hidden")
"""Not there either, but the account may not get them, so CDAP could hide them."""


@pytest.fixture(scope="module")
def there(cdap_world: World) -> World:
    builder = build(cdap_world, "there", "First")
    builder.must(f"PUT {NS}/data/datasets/prices", KEY_VALUE)
    builder.must(f"PUT {NS}/securekeys/till", KEY)
    builder.must(f"PUT {NS}/profiles/small", PROFILE)
    reads = [f"READ {entity}" for entity in ("instance:", "namespace:default", *THERE, *NOT_THERE)]
    cdap_world.people({"reader": reads, "blind": []})
    return cdap_world


@contextmanager
def asking(world: World, user: str) -> Iterator[tuple[CdapHttp, EvaluationClient]]:
    caller = next(caller for caller in world.settings.service.callers if caller.name == CONFIRM)
    assert caller.secret is not None
    confirm = ConfirmSettings(
        url=world.cdap.url, user=user, decision_service=world.service.url, caller=CONFIRM, secret=caller.secret
    )
    sync = msgspec.structs.replace(world.settings.sync, confirm=confirm)
    with (
        CdapHttp(world.cdap.url, attempts=1) as cdap,
        EvaluationClient(msgspec.structs.replace(world.settings, sync=sync)) as service,
    ):
        # The stand-in for a proxy that has authenticated the account; other CDAPs take a token.
        cdap._exchange.session.headers.update({"X-User": user, "Authorization": "Bearer credential-of-a-proxy"})
        yield cdap, service


def asked(world: World, user: str, *entities: str) -> dict[EntityId, CdapAnswer]:
    with asking(world, user) as (cdap, service):
        return ask(map(parse_entity, entities), cdap, service.may_get)


def test_what_is_there_exists(there: World) -> None:
    found = asked(there, "reader", *THERE)
    assert {str(entity) for entity, existence in found.items() if existence.exists} == set(THERE)


def test_cdap_names_the_author_of_the_oldest_version(there: World) -> None:
    (found,) = asked(there, "reader", "application:there.First").values()
    assert found.author == BUILDER
    assert abs(found.authored - time.time() * 1000) < 600_000


@pytest.mark.parametrize("entity", NOT_THERE)
def test_what_is_not_there_is_gone(there: World, entity: str) -> None:
    assert asked(there, "reader", entity) == {parse_entity(entity): CdapAnswer(False)}


def test_every_type_is_asked_about_here() -> None:
    assert {parse_entity(entity).type for entity in NOT_THERE} == existence_queries().keys()


@pytest.mark.parametrize("entity", HIDDEN)
def test_what_the_account_may_not_get_is_not_proved_to_be_gone(there: World, entity: str) -> None:
    assert asked(there, "reader", entity) == {}


def test_an_account_that_sees_nothing_proves_nothing(there: World) -> None:
    assert asked(there, "blind", *THERE, *NOT_THERE) == {}


def test_an_artifact_whose_last_version_is_deleted_is_gone(there: World) -> None:
    build(there, "versions")
    artifact = "artifact:versions.shop-app"
    there.people(
        {
            "versions-reader": [
                f"READ {it}" for it in ("instance:", "namespace:default", "namespace:versions", artifact)
            ],
            "versions-owner": ["READ namespace:versions", f"ADMIN {artifact}"],
        }
    )
    assert asked(there, "versions-reader", artifact) == {parse_entity(artifact): CdapAnswer(True)}
    there.user("versions-owner").must("DELETE /v3/namespaces/versions/artifacts/shop-app/versions/1.0.0")
    assert asked(there, "versions-reader", artifact) == {parse_entity(artifact): CdapAnswer(False)}
