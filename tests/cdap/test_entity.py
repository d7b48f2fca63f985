"""Entities: every type of the service definition, from CDAP's parts and from what people type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.cdap.entity import (
    PROGRAM_TYPES,
    EntityId,
    EntityType,
    ResolvedEntity,
    ResourceMapping,
    entity_id,
    entity_types,
    from_cdap,
    from_resource,
    inner_types,
    parse_entity,
    resolve_entity,
    to_resource,
)
from ranger_cdap.errors import InvalidEntity, UnknownEntityType
from tests.servicedef.definition_facts import hierarchies

RESOURCES = [
    ("instance:", {"instance": "cdap"}),
    ("namespace:ns1", {"instance": "cdap", "namespace": "ns1"}),
    ("principal:svc/host@EXAMPLE.COM", {"instance": "cdap", "principal": "svc/host@EXAMPLE.COM"}),
    ("system_service:appfabric", {"instance": "cdap", "system_service": "appfabric"}),
    ("artifact:ns1.cdap-data.pipeline", {"instance": "cdap", "namespace": "ns1", "artifact": "cdap-data.pipeline"}),
    ("application:ns1.Shop", {"instance": "cdap", "namespace": "ns1", "application": "Shop"}),
    (
        "program:ns1.Shop.workflow.Load",
        {"instance": "cdap", "namespace": "ns1", "application": "Shop", "program": "workflow.Load"},
    ),
    ("schedule:ns1.Shop.daily", {"instance": "cdap", "namespace": "ns1", "application": "Shop", "schedule": "daily"}),
    ("dataset:ns1.a.b.c", {"instance": "cdap", "namespace": "ns1", "dataset": "a.b.c"}),
    ("dataset_module:ns1.x.Y$Z", {"instance": "cdap", "namespace": "ns1", "dataset_module": "x.Y$Z"}),
    ("dataset_type:ns1.x.Y$Z", {"instance": "cdap", "namespace": "ns1", "dataset_type": "x.Y$Z"}),
    ("stream:ns1.clicks", {"instance": "cdap", "namespace": "ns1", "stream": "clicks"}),
    (
        "stream_view:ns1.clicks.daily",
        {"instance": "cdap", "namespace": "ns1", "stream": "clicks", "stream_view": "daily"},
    ),
    ("secure_key:ns1.db-password", {"instance": "cdap", "namespace": "ns1", "secure_key": "db-password"}),
    ("profile:ns1.big", {"instance": "cdap", "namespace": "ns1", "profile": "big"}),
    ("topic:ns1.events", {"instance": "cdap", "namespace": "ns1", "topic": "events"}),
    ("credential_profile:ns1.gcs", {"instance": "cdap", "namespace": "ns1", "credential_profile": "gcs"}),
    ("credential_identity:ns1.gcs", {"instance": "cdap", "namespace": "ns1", "credential_identity": "gcs"}),
]


@pytest.mark.parametrize(("text", "resource"), RESOURCES)
def test_an_entity_has_one_resource_and_one_text(text: str, resource: dict[str, str]) -> None:
    entity = parse_entity(text)

    assert to_resource(entity, "cdap") == resource
    assert from_resource(resource) == ("cdap", entity)
    assert str(entity) == text


def test_a_resource_of_one_entity_names_it_and_any_other_names_none() -> None:
    kv = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
    application = {"instance": "cdap", "namespace": "ns1", "application": "Shop"}
    assert from_resource({**application, "program": "*"}) == ("cdap", EntityId("application", ("ns1", "Shop")))
    others = [{}, {**kv, "dataset": "*"}, {**kv, "extra": "a"}, {"namespace": "ns1", "dataset": "kv"}, application | kv]
    assert [from_resource(other) for other in others] == [None] * len(others)


def test_every_type_of_the_definition_is_an_entity_type_and_the_other_way_round() -> None:
    assert {kind.path for kind in entity_types().values()} == hierarchies(servicedef.service_definition())


PROGRAM_NAME = rf"({'|'.join(sorted(PROGRAM_TYPES))})\.[$.a-zA-Z0-9_-]+"


@pytest.mark.parametrize("kind", entity_types().values(), ids=lambda kind: kind.name)
@given(data=st.data())
def test_every_entity_has_one_resource_and_one_text(kind: EntityType, data: st.DataObject) -> None:
    levels = zip(kind.path[1:], kind.patterns, strict=True)
    patterns = [PROGRAM_NAME if level == "program" else pattern for level, pattern in levels]
    entity = entity_id(kind.name, [data.draw(st.from_regex(pattern, fullmatch=True)) for pattern in patterns])
    resource = dict(zip(kind.path, ("cdap", *entity.parts), strict=True))

    assert to_resource(entity, "cdap") == resource
    assert from_resource(resource) == ("cdap", entity)
    assert parse_entity(str(entity)) == entity


FROM_CDAP = [
    ("INSTANCE", [""], "instance:"),
    ("INSTANCE", ["cdap"], "instance:"),
    ("APPLICATION", ["ns1", "Shop", "2ccbc951-e560-11f1"], "application:ns1.Shop"),
    ("APPLICATIONREFERENCE", ["ns1", "Shop"], "application:ns1.Shop"),
    ("PROGRAM", ["ns1", "Shop", "-SNAPSHOT", "Worker", "W"], "program:ns1.Shop.worker.W"),
    ("PROGRAMREFERENCE", ["ns1", "Shop", "worker", "W"], "program:ns1.Shop.worker.W"),
    ("ARTIFACT", ["ns1", "probeapp", "1.0.0"], "artifact:ns1.probeapp"),
    ("DATASET", ["ns1", "localkv.db737a5d-e562"], "dataset:ns1.localkv.db737a5d-e562"),
    ("SECUREKEY", ["ns1", "key1"], "secure_key:ns1.key1"),
    ("KERBEROSPRINCIPAL", ["svc/host@EXAMPLE.COM"], "principal:svc/host@EXAMPLE.COM"),
    ("system_service", ["appfabric"], "system_service:appfabric"),
]


@pytest.mark.parametrize(("cdap_type", "parts", "text"), FROM_CDAP)
def test_cdap_names_and_parts_become_our_entity_without_versions(cdap_type: str, parts: list[str], text: str) -> None:
    assert str(from_cdap(cdap_type, parts)) == text


PLACED = [
    ("DATASET", ["ns1", "kv"], "dataset:ns1.kv", ResourceMapping.ITSELF),
    (
        "PROGRAM_RUN",
        ["ns1", "Shop", "-SNAPSHOT", "worker", "W", "a5611464-e560"],
        "program:ns1.Shop.worker.W",
        ResourceMapping.ITSELF,
    ),
    ("PLUGIN", ["ns1", "shop", "1.0.0", "batchsink", "File"], "artifact:ns1.shop", ResourceMapping.ITSELF),
    ("SYSTEM_APP_ENTITY", ["ns1", "Shop", "connection", "c 1"], "application:ns1.Shop", ResourceMapping.WITHIN),
    ("OPERATION_RUN", ["ns1", "0c5e2ecb-e560"], "namespace:ns1", ResourceMapping.WITHIN),
    ("QUERY", ["0c5e2ecb-e560"], "instance:", ResourceMapping.WITHIN),
    ("SUPPORT_BUNDLE", ["bundle1"], "instance:", ResourceMapping.WITHIN),
    ("SPACESHIP", ["ns1", "x", "y"], "namespace:ns1", ResourceMapping.UNKNOWN),
    ("SPACESHIP", ["ns1"], "instance:", ResourceMapping.UNKNOWN),
    ("SPACESHIP", ["no-namespace", "x"], "instance:", ResourceMapping.UNKNOWN),
    ("SPACESHIP", [], "instance:", ResourceMapping.UNKNOWN),
]


@pytest.mark.parametrize(("cdap_type", "parts", "text", "standing"), PLACED)
def test_every_entity_of_cdap_is_decided_on_the_nearest_that_has_a_resource(
    cdap_type: str, parts: list[str], text: str, standing: ResourceMapping
) -> None:
    assert resolve_entity(cdap_type, parts) == ResolvedEntity(parse_entity(text), standing)


# What is made within an entity is no creation of that entity: only what stands for itself is one of ours.
@pytest.mark.parametrize("cdap_type", inner_types())
def test_what_has_no_resource_of_its_own_is_no_entity(cdap_type: str) -> None:
    with pytest.raises(UnknownEntityType):
        from_cdap(cdap_type, ["ns1", "Shop"])


REFUSED_OF_CDAP = [
    ("INSTANCE", ["a", "b"]),
    ("ARTIFACT", ["ns1", "shop", "1.0.0", "x"]),
    ("PROGRAM_RUN", ["ns1", "Shop", "-SNAPSHOT", "worker", "W"]),
    ("OPERATION_RUN", ["ns1", ""]),
    ("OPERATION_RUN", ["*", "x"]),
]


@pytest.mark.parametrize(("cdap_type", "parts"), REFUSED_OF_CDAP)
def test_parts_of_cdap_that_do_not_fit_a_known_type_are_refused(cdap_type: str, parts: list[str]) -> None:
    with pytest.raises(InvalidEntity):
        resolve_entity(cdap_type, parts)


REFUSED = [
    ("dataset", ["ns1", "*"]),
    ("dataset", ["ns1", ""]),
    ("dataset", ["ns1"]),
    ("dataset", ["ns1", "a", "b"]),
    ("dataset", ["ns1", "a,b"]),
    ("dataset", ["ns1", "{OWNER}"]),
    ("dataset", ["ns1", "a\\b"]),
    ("dataset", ["ns1", "a\n"]),
    ("dataset", ["ns1", "ä"]),
    ("namespace", ["my-ns"]),
    ("namespace", ["*"]),
    ("application", ["ns1", "a.b"]),
    ("secure_key", ["ns1", "Key"]),
    ("credential_profile", ["ns1", "1x"]),
    ("program", ["ns1", "app", "W"]),
    ("program", ["ns1", "app", "robot.W"]),
    ("instance", ["cdap"]),
]


@pytest.mark.parametrize(("kind", "parts"), REFUSED)
def test_parts_that_cdap_does_not_allow_are_refused(kind: str, parts: list[str]) -> None:
    with pytest.raises(InvalidEntity):
        entity_id(kind, parts)


@given(st.text(max_size=20))
def test_no_wildcard_macro_or_separator_ever_gets_into_a_resource(name: str) -> None:
    try:
        entity = entity_id("dataset", ["ns1", name])
    except InvalidEntity:
        return

    assert not set("*?{},\\/ \n\r\t") & set(to_resource(entity, "cdap")["dataset"])
    assert name


def test_an_unknown_type_names_the_nearest() -> None:
    with pytest.raises(UnknownEntityType, match="did you mean `dataset`"):
        parse_entity("datset:ns1.x")


def test_relations() -> None:
    program = entity_id("program", ["ns1", "app", "worker.W"])
    application = EntityId("application", ("ns1", "app"))

    assert program.parent == application
    assert program.is_within(application)
    assert program.is_within(EntityId("namespace", ("ns1",)))
    assert not application.is_within(program)
    assert not program.is_within(EntityId("application", ("ns2", "app")))
    assert EntityId("principal", ("p",)).namespace is None
    assert program.namespace == "ns1"
    assert EntityId("instance", ()).parent is None
