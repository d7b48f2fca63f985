"""Who needs what: the conditions of document 004, one by one, in its profile and in the default one."""

from dataclasses import fields, replace
from itertools import product

import pytest

from ranger_cdap.cdap.context import Context, artifact_of_jar
from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type, parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.cdap.plan import RequiredPrivilege, plan
from ranger_cdap.cdap.profile import Operation, load_profile, profile_names
from ranger_cdap.errors import InvalidInput, RangerCdapError

APP = "application:ns1.Shop"
ANY_OF_FOUR = "READ|WRITE|ADMIN|EXECUTE"
PRINCIPAL = "principal:svc/host@EXAMPLE.COM"


def involving(master: str = "cdap", **related: str) -> Context:
    return Context({role: tuple(map(parse_pattern, text.split())) for role, text in related.items()}, master=master)


def told(need: RequiredPrivilege) -> str:
    return f"{need.capacity} {need.person}: {'|'.join(need.actions)} {need.entity}"


# Requirement, operation, entity, what is involved, who needs what (document 004; everything of one alternative).
DOCUMENT_004 = [
    (
        "S004-DEPLOY-0 S004-DEPLOY-1",
        "application.deploy",
        APP,
        {"jar": "artifact:ns1.shop"},
        [f"requesting ann: ADMIN {APP}", "requesting ann: ADMIN artifact:ns1.shop"],
    ),
    (
        "S004-DEPLOY-2",
        "application.deploy",
        APP,
        {"artifact": "artifact:system.base"},
        [f"requesting ann: ADMIN {APP}", f"requesting ann: {ANY_OF_FOUR} artifact:system.base"],
    ),
    (
        "S004-DEPLOY-N1",
        "application.deploy",
        APP,
        {"jar": "artifact:ns1.shop", "datasets": "dataset:ns1.a dataset:ns1.b"},
        [
            f"requesting ann: ADMIN {APP}",
            "requesting ann: ADMIN artifact:ns1.shop",
            "requesting ann: ADMIN dataset:ns1.a",
            "requesting ann: ADMIN dataset:ns1.b",
        ],
    ),
    (
        "S004-DEPLOY-N2 S004-DEPLOY-N3",
        "application.deploy",
        APP,
        {
            "jar": "artifact:ns1.shop",
            "datasets": "dataset:ns1.a",
            "modules": "dataset_module:ns1.com.shop.Mine",
            "types": "dataset_type:ns1.com.shop.Mine",
        },
        [
            f"requesting ann: ADMIN {APP}",
            "requesting ann: ADMIN artifact:ns1.shop",
            "requesting ann: ADMIN dataset:ns1.a",
            "requesting ann: ADMIN dataset_module:ns1.com.shop.Mine",
            "requesting ann: ADMIN dataset_type:ns1.com.shop.Mine",
        ],
    ),
    (
        "S004-DEPLOY-I0",
        "application.deploy",
        APP,
        {"jar": "artifact:ns1.shop", "principal": PRINCIPAL},
        [
            f"requesting ann: ADMIN {APP}",
            "requesting ann: ADMIN artifact:ns1.shop",
            f"requesting ann: ADMIN {PRINCIPAL}",
        ],
    ),
    (
        "S004-DEPLOY-I1 S004-DEPLOY-I2 S004-DEPLOY-I3",
        "application.deploy",
        APP,
        {
            "jar": "artifact:ns1.shop",
            "principal": PRINCIPAL,
            "datasets": "dataset:ns1.a",
            "modules": "dataset_module:ns1.com.shop.Mine",
            "types": "dataset_type:ns1.com.shop.Mine",
        },
        [
            f"requesting ann: ADMIN {APP}",
            "requesting ann: ADMIN artifact:ns1.shop",
            f"requesting ann: ADMIN {PRINCIPAL}",
            "impersonated svc: ADMIN dataset:ns1.a",
            "impersonated svc: ADMIN dataset_module:ns1.com.shop.Mine",
            "impersonated svc: ADMIN dataset_type:ns1.com.shop.Mine",
        ],
    ),
    (
        "S004-EXEC-0 S004-EXEC-R1 S004-EXEC-E1 S004-EXEC-E2 S004-EXEC-E3",
        "program.start",
        "program:ns1.Shop.spark.S",
        {"read_datasets": "dataset:ns1.r", "written_datasets": "dataset:ns1.w", "created_datasets": "dataset:ns1.c"},
        [
            "requesting ann: EXECUTE program:ns1.Shop.spark.S",
            "master cdap: READ dataset:ns1.r",
            "master cdap: WRITE dataset:ns1.w",
            "master cdap: ADMIN dataset:ns1.c",
        ],
    ),
    (
        "S004-EXEC-0, impersonated",
        "program.start",
        "program:ns1.Shop.spark.S",
        {"read_datasets": "dataset:ns1.r", "principal": PRINCIPAL},
        ["requesting ann: EXECUTE program:ns1.Shop.spark.S", "impersonated svc: READ dataset:ns1.r"],
    ),
    (
        "S004-EXEC-E4",
        "program.start",
        "program:ns1.Shop.workflow.W",
        {"local_datasets": "dataset:ns1.local*"},
        [
            "requesting ann: EXECUTE program:ns1.Shop.workflow.W",
            "master cdap: ADMIN dataset:ns1.local*",
            "master cdap: READ dataset:ns1.local*",
            "master cdap: WRITE dataset:ns1.local*",
        ],
    ),
    (
        "S004-EXEC-R2 S004-EXEC-E5",
        "application.start_pipeline",
        APP,
        {"external_datasets": "dataset:ns1.outside"},
        [
            "requesting ann: EXECUTE program:ns1.Shop.*",
            "master cdap: ADMIN dataset:ns1.outside",
            "master cdap: READ dataset:ns1.outside",
            "master cdap: WRITE dataset:ns1.outside",
        ],
    ),
    (
        "S004-WR-1 S004-WR-N1 S004-WR-N2",
        "namespace.enable_wrangler",
        "namespace:ns1",
        {},
        [
            "requesting ann: EXECUTE program:ns1.dataprep.service.service",
            "requesting ann: ADMIN dataset:ns1.workspace",
            "requesting ann: ADMIN dataset:ns1.dataprep",
            "requesting ann: ADMIN dataset:ns1.dataprepfs",
            "requesting ann: ADMIN dataset_type:ns1.*WorkspaceDataset",
            "requesting ann: ADMIN dataset_module:ns1.*WorkspaceDataset",
            "master cdap: READ dataset:ns1.workspace",
            "master cdap: READ dataset:ns1.dataprep",
            "master cdap: READ dataset:ns1.dataprepfs",
            "master cdap: WRITE dataset:ns1.workspace",
            "master cdap: WRITE dataset:ns1.dataprep",
            "master cdap: WRITE dataset:ns1.dataprepfs",
        ],
    ),
    (
        "S004-WR-I1 S004-WR-I2",
        "namespace.enable_wrangler",
        "namespace:ns1",
        {"principal": PRINCIPAL},
        [
            "requesting ann: EXECUTE program:ns1.dataprep.service.service",
            "impersonated svc: ADMIN dataset:ns1.workspace",
            "impersonated svc: ADMIN dataset:ns1.dataprep",
            "impersonated svc: ADMIN dataset:ns1.dataprepfs",
            "impersonated svc: ADMIN dataset_type:ns1.*WorkspaceDataset",
            "impersonated svc: ADMIN dataset_module:ns1.*WorkspaceDataset",
            "impersonated svc: READ dataset:ns1.workspace",
            "impersonated svc: READ dataset:ns1.dataprep",
            "impersonated svc: READ dataset:ns1.dataprepfs",
            "impersonated svc: WRITE dataset:ns1.workspace",
            "impersonated svc: WRITE dataset:ns1.dataprep",
            "impersonated svc: WRITE dataset:ns1.dataprepfs",
        ],
    ),
]


@pytest.mark.parametrize(
    ("operation", "entity", "involved", "wanted"), [pytest.param(*case[1:], id=case[0]) for case in DOCUMENT_004]
)
def test_document_004_names_everybody_and_everything(
    operation: str, entity: str, involved: dict[str, str], wanted: list[str]
) -> None:
    row = load_profile("004").operation(operation)

    (alternative,) = plan(row, parse_entity(entity), "ann", involving(**involved))

    assert list(map(told, alternative)) == wanted


def test_the_default_profile_offers_whole_alternatives_of_both_documents() -> None:
    row = load_profile("default").operation("application.deploy")
    context = involving(artifact="artifact:ns1.shop", datasets="dataset:ns1.a", principal=PRINCIPAL)

    first, second, third = plan(row, parse_entity(APP), "ann", context)

    requesting = [
        "requesting ann: WRITE namespace:ns1",
        "requesting ann: READ artifact:ns1.shop",
        f"requesting ann: ADMIN {PRINCIPAL}",
    ]
    assert list(map(told, first)) == [*requesting, "impersonated svc: WRITE namespace:ns1"]
    assert list(map(told, second)) == [*requesting, "impersonated svc: ADMIN dataset:ns1.a"]
    assert list(map(told, third)) == [
        f"requesting ann: ADMIN {APP}",
        f"requesting ann: {ANY_OF_FOUR} artifact:ns1.shop",
        f"requesting ann: ADMIN {PRINCIPAL}",
        "impersonated svc: ADMIN dataset:ns1.a",
    ]


# A jar's file name, the artifact that CDAP 6.11.1 makes of it; None: CDAP refuses the jar.
JARS = [
    ("shop-1.0.0.jar", "shop"),
    ("shop-1.jar", "shop"),
    ("my-shop-1.0.0-SNAPSHOT.jar", "my-shop"),
    ("my_shop.v2-1.0.0.final-3.jar", "my_shop.v2"),
    ("shop-2-1.0.jar", "shop"),
    ("shop-2x-1.0.jar", "shop-2x"),
    ("shop-1.2.3.4.jar", "shop"),
    ("shop.jar", None),
    ("shop-1.0.0", None),
    ("shop-x.jar", None),
    ("shop-1.0-.jar", None),
    ("shop-1.0_beta.jar", None),
    ("shop-1.0-a_b.jar", None),
    ("-1.0.jar", None),
    ("sh*p-1.0.jar", None),
    ("shop-\u0661.jar", None),
    ("shop-1.0.jar\n", None),
]


@pytest.mark.parametrize(("file_name", "artifact"), JARS)
def test_a_jar_becomes_the_artifact_before_its_version(file_name: str, artifact: str | None) -> None:
    if artifact is None:
        with pytest.raises(InvalidInput):
            artifact_of_jar("ns1", file_name)
    else:
        assert artifact_of_jar("ns1", file_name) == EntityId("artifact", ("ns1", artifact))


@pytest.mark.parametrize("named", [{"modules": "dataset_module:ns1.c.Mine"}, {"types": "dataset_type:ns1.c.Mine"}])
def test_a_module_and_a_type_of_one_class_are_a_pair(named: dict[str, str]) -> None:
    row = load_profile("004").operation("application.deploy")

    (alternative,) = plan(row, parse_entity(APP), "ann", involving(artifact="artifact:ns1.shop", **named))

    assert list(map(told, alternative))[2:] == [
        "requesting ann: ADMIN dataset_module:ns1.c.Mine",
        "requesting ann: ADMIN dataset_type:ns1.c.Mine",
    ]


def test_whoever_is_named_as_impersonated_needs_what_the_impersonated_user_needs() -> None:
    row = load_profile("004").operation("program.start")
    context = Context(
        {"read_datasets": (parse_entity("dataset:ns1.r"),), "principal": (parse_entity(PRINCIPAL),)},
        impersonated="mapped",
    )

    (alternative,) = plan(row, parse_entity("program:ns1.Shop.spark.S"), "ann", context)

    assert told(alternative[1]) == "impersonated mapped: READ dataset:ns1.r"


def test_impersonation_without_a_principal_can_not_be_allowed() -> None:
    row = load_profile("004").operation("application.deploy")
    context = Context({"jar": (parse_entity("artifact:ns1.shop"),)}, impersonated="svc")

    assert plan(row, parse_entity(APP), "ann", context) == ()


@pytest.mark.parametrize(
    ("operation", "entity", "person", "message"),
    [
        ("dataset.get", EntityId("dataset", ("ns1",)), "ann", "needs 2 parts"),
        ("dataset.get", EntityId("dataset", ("ns1", "a", "b")), "ann", ", not 3$"),
        ("dataset.get", EntityId("dataset", ("ns1", "")), "ann", "`` is not a name that CDAP allows for a dataset"),
        ("dataset.get", EntityId("dataset", ("", "a")), "ann", "`` is not a name that CDAP allows for a namespace"),
        ("dataset.get", EntityId("dataset", ("ns1", "*")), "ann", "`\\*` is not a name"),
        ("dataset.get", EntityId("dataset", ("ns1", "a?")), "ann", "`a\\?` is not a name"),
        ("dataset.get", EntityId("planet", ("ns1", "a")), "ann", "no entity type `planet`"),
        ("dataset.get", parse_entity("stream:ns1.a"), "ann", "applies to a dataset, not to `stream:ns1.a`"),
        ("dataset.get", parse_entity("namespace:ns1"), "ann", "applies to a dataset, not to `namespace:ns1`"),
        ("namespace.enable_wrangler", parse_entity("instance:"), "ann", "applies to a namespace"),
        ("dataset.get", parse_entity("dataset:ns1.a"), "", "the requesting user has no name"),
    ],
)
def test_a_bad_question_is_told_in_one_sentence(operation: str, entity: EntityId, person: str, message: str) -> None:
    row = load_profile("default").operation(operation)

    with pytest.raises(InvalidInput, match=message):
        plan(row, entity, person)


@pytest.mark.parametrize(
    ("related", "message"),
    [
        ({"artefact": ["artifact:ns1.a"]}, "did you mean `artifact`"),
        ({"zzz": []}, "known are artifact, jar"),
        ({"artifact": ["dataset:ns1.a"]}, "`artifact` must be of type artifact, not `dataset:ns1.a`"),
        ({"artifact": ["artifact:ns1.a"], "jar": ["artifact:ns1.b"]}, "not from both"),
        ({"principal": ["principal:a", "principal:b"]}, "one principal"),
        ({"principal": ["principal:svc*"]}, "one principal"),
        ({"principal": ["principal:/host@EXAMPLE.COM"]}, "the impersonated user has no name"),
    ],
)
def test_a_bad_context_is_told_in_one_sentence(related: dict[str, list[str]], message: str) -> None:
    entities = {role: tuple(map(parse_pattern, texts)) for role, texts in related.items()}

    with pytest.raises(InvalidInput, match=message):
        Context(entities)


@pytest.mark.parametrize("people", [{"impersonated": ""}, {"master": ""}])
def test_people_of_a_context_have_names(people: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="has no name"):
        Context(**people)  # type: ignore[arg-type]


def test_an_entity_of_a_context_is_checked_like_any_other() -> None:
    with pytest.raises(RangerCdapError, match="`x\\?y` is not a name"):
        Context({"artifact": (EntityId("artifact", ("ns1", "x?y")),)})


def test_a_list_by_the_parent_may_be_asked_of_the_parent() -> None:
    row = load_profile("000").operation("dataset.list")

    of_parent = plan(row, parse_entity("namespace:ns1"), "ann")

    assert [[told(need) for need in alternative] for alternative in of_parent] == [
        ["requesting ann: READ namespace:ns1"]
    ]
    assert of_parent == plan(row, parse_entity("dataset:ns1.any"), "ann")


EVERY_OPTIONS = [Options(*chosen) for chosen in product([False, True], repeat=len(fields(Options)))]
CONTEXTS = [
    Context(),
    Context(impersonated="bob"),
    Context({"keys": (parse_entity("secure_key:ns1.k"),), "principal": (parse_entity(PRINCIPAL),)}, master="root"),
]


@pytest.mark.parametrize("name", profile_names())
def test_a_direct_row_needs_what_the_general_way_finds(name: str) -> None:
    """Most rows depend on nothing but their entity, and take a shorter way."""
    profile = load_profile(name)
    rows = [*profile.rows.values(), *(profile.operation(f"dataset.{verb}") for verb in profile.core)]
    direct = [row for row in rows if row.direct is not None]
    assert len(direct) > len(rows) / 2

    for unchanged, options, context in product(direct, EVERY_OPTIONS, CONTEXTS):
        row = options.applied_to(unchanged)
        general = replace(row)
        object.__setattr__(general, "direct", None)
        path = entity_type(row.entity).path
        for kind in path:
            parts = [*("x" for _ in path[1 : path.index(kind)]), *(["worker.x"] if kind == "program" else ["x"])]
            entity = entity_id(kind, parts[: path.index(kind)])
            assert needed(row, entity, context) == needed(general, entity, context)


def needed(row: Operation, entity: EntityId, context: Context) -> object:
    try:
        return plan(row, entity, "ann", context)
    except InvalidInput as e:
        return str(e)
