"""CDAP's permission checks: what each of them asks for, strictly where nothing tells, and never nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.answer import compose
from ranger_cdap.cdap.checks.check_table import actions, all_cells, known_permissions
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckedOperation, CheckTable, Resolved, Unknown
from ranger_cdap.cdap.entity import EntityId, ResourceMapping, parse_entity, resolve_entity
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.engine import Decision
from ranger_cdap.errors import InvalidInput

DEFAULT = CheckTable(load_profile("default"))

PARTS = {
    "INSTANCE": ("",),
    "KERBEROSPRINCIPAL": ("svc/host@EXAMPLE.COM",),
    "NAMESPACE": ("ns1",),
    "APPLICATIONREFERENCE": ("ns1", "Shop"),
    "APPLICATION": ("ns1", "Shop", "9fe879b1-e560-11f1"),
    "PROGRAMREFERENCE": ("ns1", "Shop", "workflow", "W"),
    "PROGRAM": ("ns1", "Shop", "-SNAPSHOT", "workflow", "W"),
    "PROGRAM_RUN": ("ns1", "Shop", "-SNAPSHOT", "workflow", "W", "aeeb66c5-e560-11f1"),
    "DATASET_TYPE": ("ns1", "shop.Shop$Kind"),
    "DATASET_MODULE": ("ns1", "shop.Shop$Kind"),
    "SCHEDULE": ("ns1", "Shop", "daily"),
    "ARTIFACT": ("ns1", "shop", "1.0.0"),
    "PLUGIN": ("ns1", "shop", "1.0.0", "batchsink", "File"),
    "DATASET": ("ns1", "kv"),
    "STREAM": ("ns1", "clicks"),
    "STREAM_VIEW": ("ns1", "clicks", "daily"),
    "SECUREKEY": ("ns1", "key1"),
    "TOPIC": ("ns1", "events"),
    "PROFILE": ("ns1", "big"),
    "QUERY": ("0c5e2ecb-e560-11f1",),
    "SUPPORT_BUNDLE": ("bundle1",),
    "SYSTEM_SERVICE": ("appfabric",),
    "SYSTEM_APP_ENTITY": ("ns1", "Shop", "connection", "c1"),
    "CREDENTIAL_PROFILE": ("ns1", "gcs"),
    "CREDENTIAL_IDENTITY": ("ns1", "gcs"),
    "OPERATION_RUN": ("ns1", "0c5e2ecb-e560-11f1"),
}


def check(
    entity_type: str, *permissions: str, child: str | None = None, hint: str | None = None, container: bool = False
) -> CdapCheck:
    return CdapCheck(entity_type, PARTS[entity_type], permissions, child, hint, container)


def asked(resolved: Resolved) -> list[str]:
    """What is asked, and what it takes: `dataset.get on dataset:ns1.kv: READ entity + READ namespace`."""
    return [f"{question}: {needed(question)}" for question in resolved.operations]


def needed(question: CheckedOperation) -> str:
    alternatives = question.operation.alternatives
    return " or ".join(" + ".join(map(str, alternative)) for alternative in alternatives)


# entity type, permissions, child type, hint -> what is asked of the default profile
ONE_ROW = [
    ("NAMESPACE", "STANDARD.CREATE", None, None, "namespace.create on namespace:ns1: WRITE instance or ADMIN entity"),
    ("ARTIFACT", "STANDARD.CREATE", None, None, "artifact.add on artifact:ns1.shop: WRITE namespace or ADMIN entity"),
    # What an application is made from and makes is asked about in checks of their own.
    (
        "APPLICATION",
        "STANDARD.CREATE",
        None,
        None,
        "application.deploy on application:ns1.Shop: WRITE namespace or ADMIN entity",
    ),
    ("DATASET", "STANDARD.CREATE", None, None, "dataset.create on dataset:ns1.kv: WRITE namespace or ADMIN entity"),
    ("PROFILE", "STANDARD.CREATE", None, None, "profile.create on profile:ns1.big: WRITE parent or ADMIN entity"),
    # System artifacts are added and refreshed by a check on the namespace.
    (
        "NAMESPACE",
        "STANDARD.CREATE",
        "ARTIFACT",
        "AuthorizationArtifactRepository.addSystemArtifacts",
        "artifact.refresh on namespace:ns1: WRITE instance",
    ),
    (
        "NAMESPACE",
        "STANDARD.CREATE",
        "ARTIFACT",
        "ArtifactHttpHandler.addArtifact",
        "artifact.add on namespace:ns1: WRITE namespace",
    ),
    # A secure key is made by UPDATE, a schedule by EXECUTE on its application.
    (
        "SECUREKEY",
        "STANDARD.UPDATE",
        None,
        "DefaultSecureStoreService.put SecureStoreHandler.create",
        "secure_key.create on secure_key:ns1.key1: WRITE parent or ADMIN entity",
    ),
    (
        "APPLICATION",
        "APPLICATION.EXECUTE",
        None,
        "ProgramScheduleService.add",
        "application.schedule on application:ns1.Shop: EXECUTE entity + READ namespace",
    ),
    # A namespace is seen with any privilege on it or below, unless the call is about the namespace itself.
    ("NAMESPACE", "STANDARD.GET", None, None, "namespace.see on namespace:ns1: VISIBLE entity"),
    ("NAMESPACE", "STANDARD.GET", None, "Nobody.knows", "namespace.see on namespace:ns1: VISIBLE entity"),
    (
        "NAMESPACE",
        "STANDARD.GET",
        None,
        "DefaultNamespaceAdmin.get DefaultNamespaceAdmin.exists DatasetInstanceService.ensureNamespaceExists",
        "namespace.see on namespace:ns1: VISIBLE entity",
    ),
    (
        "NAMESPACE",
        "STANDARD.GET",
        None,
        "DefaultNamespaceAdmin.get NamespaceHttpHandler.getNamespace",
        "namespace.get on namespace:ns1: READ entity",
    ),
    (
        "NAMESPACE",
        "STANDARD.GET",
        None,
        "PreferencesHttpHandler.getNamespacePrefs",
        "namespace.get_preference on namespace:ns1: READ entity",
    ),
    # Nearest first; packages and inner classes do not matter.
    (
        "PROGRAM",
        "STANDARD.GET",
        None,
        "io.cdap.ProgramLifecycleService.ensureProgramExists ProgramRuntimeHttpHandler.getWorkerInstances",
        "program.get_instances on program:ns1.Shop.workflow.W: READ entity",
    ),
    (
        "APPLICATION",
        "STANDARD.UPDATE",
        None,
        "MetadataHttpHandler$1.enforce",
        "application.add_metadata on application:ns1.Shop: ADMIN entity",
    ),
    # What CDAP asks on the way of an operation, and shows nothing of, takes seeing the namespace.
    (
        "ARTIFACT",
        "STANDARD.GET",
        None,
        "AuthorizationArtifactRepository.getArtifact ProgramLifecycleService.checkCapability",
        "artifact.incidental on artifact:ns1.shop: VISIBLE namespace",
    ),
    (
        "ARTIFACT",
        "STANDARD.GET",
        None,
        "AuthorizationArtifactRepository.getArtifact ArtifactHttpHandler.getArtifactInfo",
        "artifact.get on artifact:ns1.shop: READ entity",
    ),
    (
        "NAMESPACE",
        "STANDARD.LIST",
        "DATASET",
        "ApplicationLifecycleService.enforceApplicationDetailAccess AppLifecycleHttpHandler.getAppInfo",
        "namespace.incidental on namespace:ns1: VISIBLE namespace",
    ),
    (
        "NAMESPACE",
        "STANDARD.LIST",
        "DATASET",
        "DatasetInstanceService.list DatasetInstanceHandler.list",
        "dataset.list on namespace:ns1: READ|WRITE|ADMIN entity",
    ),
    # A step of a larger operation asks for what the operation asks for.
    (
        "PROGRAM",
        "STANDARD.GET",
        None,
        "ProgramLifecycleService.getExistingAppProgramStatus ProgramLifecycleService.run",
        "program.start on program:ns1.Shop.workflow.W: EXECUTE entity + READ namespace",
    ),
    (
        "PROGRAMREFERENCE",
        "STANDARD.GET",
        None,
        "ProgramLifecycleService.getProgramTotalRunCount",
        "program.get_history",
    ),
    ("PROGRAM_RUN", "STANDARD.GET", None, "DirectRuntimeRequestValidator.getProgramRunStatus", "program.get_history"),
    # Lists are asked of the parent. CDAP filters applications itself, so that seeing the namespace is enough.
    ("NAMESPACE", "STANDARD.LIST", "APPLICATION", None, "application.list on namespace:ns1: VISIBLE entity"),
    ("NAMESPACE", "STANDARD.LIST", "DATASET", None, "dataset.list on namespace:ns1: READ|WRITE|ADMIN entity"),
    (
        "NAMESPACE",
        "STANDARD.LIST",
        "OPERATION_RUN",
        None,
        "namespace.inner_list on namespace:ns1: READ|WRITE|ADMIN entity",
    ),
    ("INSTANCE", "STANDARD.LIST", "SYSTEM_SERVICE", None, "system_service.list on instance:: READ|WRITE|ADMIN entity"),
    # The monitor, and what no document speaks of.
    ("SYSTEM_SERVICE", "APPLICATION.EXECUTE", None, None, "system_service.restart on system_service:appfabric"),
    ("INSTANCE", "STANDARD.GET", None, "ConfigHandler.configCDAP", "instance.get on instance:: READ entity"),
    ("INSTANCE", "INSTANCE.TETHER", None, None, "instance.tether on instance:: ADMIN entity"),
    (
        "KERBEROSPRINCIPAL",
        "ACCESS.SET_OWNER",
        None,
        None,
        "principal.set_owner on principal:svc/host@EXAMPLE.COM: ADMIN",
    ),
    ("KERBEROSPRINCIPAL", "ACCESS.IMPERSONATE", None, None, "principal.impersonate on principal:svc/host@EXAMPLE.COM"),
    (
        "NAMESPACE",
        "NAMESPACE.WRITE_REPOSITORY",
        None,
        None,
        "namespace.write_repository on namespace:ns1: WRITE entity",
    ),
    ("CREDENTIAL_PROFILE", "STANDARD.USE", None, None, "credential_profile.use on credential_profile:ns1.gcs: READ"),
    # What has no resource of its own is decided on its nearest parent.
    ("SYSTEM_APP_ENTITY", "STANDARD.USE", None, None, "application.inner_use on application:ns1.Shop: READ entity"),
    (
        "SYSTEM_APP_ENTITY",
        "STANDARD.CREATE",
        None,
        None,
        "application.inner_create on application:ns1.Shop: WRITE entity",
    ),
    ("OPERATION_RUN", "STANDARD.GET", None, None, "namespace.inner_get on namespace:ns1: READ entity"),
    ("SUPPORT_BUNDLE", "STANDARD.CREATE", None, None, "instance.inner_create on instance:: WRITE entity"),
    ("QUERY", "STANDARD.DELETE", None, None, "instance.inner_delete on instance:: ADMIN entity"),
    ("DATASET", "ACTION.READ", None, None, "dataset.action_read on dataset:ns1.kv: READ entity"),
    # The calling method selects nothing: CDAP before 6.5 names the privilege itself.
    (
        "APPLICATION",
        "ACTION.EXECUTE",
        None,
        "PreviewHttpHandler.start",
        "application.action_execute on application:ns1.Shop: EXECUTE entity",
    ),
    ("OPERATION_RUN", "ACTION.READ", None, None, "namespace.other on namespace:ns1: ADMIN entity"),
]


@pytest.mark.parametrize(("kind", "permission", "child", "hint", "row"), ONE_ROW)
def test_a_check_asks_for_the_row_it_stands_for(
    kind: str, permission: str, child: str | None, hint: str | None, row: str
) -> None:
    resolved = DEFAULT.resolve(check(kind, permission, child=child, hint=hint))

    (question,) = asked(resolved)
    assert question.startswith(row)
    assert not resolved.unknown


def test_a_hint_picks_the_row_and_without_one_all_must_hold_that_could_be_meant() -> None:
    def rows(hint: str | None = None, *, container: bool = False) -> list[str]:
        resolved = DEFAULT.resolve(check("DATASET", "STANDARD.UPDATE", hint=hint, container=container))
        return [question.operation.name for question in resolved.operations]

    assert rows("DatasetInstanceService.update DatasetInstanceHandler.update") == ["dataset.update"]
    assert rows("DefaultDatasetRuntimeContext.onMethodEntry KeyValueTable.write") == ["dataset.write"]
    assert rows() == ["dataset.update", "dataset.write"]
    assert rows("Nobody.knows") == ["dataset.update", "dataset.write"]


def test_a_program_that_runs_asks_for_its_data() -> None:
    def rows(permission: str, hint: str | None = None) -> list[str]:
        resolved = DEFAULT.resolve(check("DATASET", permission, hint=hint, container=True))
        assert not resolved.unknown
        return [question.operation.name for question in resolved.operations]

    assert rows("STANDARD.GET") == ["dataset.read"]
    assert rows("STANDARD.UPDATE", "RemotePrivilegesHandler.enforce") == ["dataset.write"]
    assert rows("STANDARD.UPDATE", "DatasetInstanceService.update") == ["dataset.update"]
    assert rows("STANDARD.CREATE") == ["dataset.create"]


def test_a_plugin_is_decided_as_its_artifact() -> None:
    assert asked(DEFAULT.resolve(check("PLUGIN", "STANDARD.GET"))) == [
        "artifact.get on artifact:ns1.shop: READ entity",
        "artifact.read_metadata on artifact:ns1.shop: READ entity",
    ]


def test_several_permissions_must_all_hold_and_none_is_any_privilege() -> None:
    reads_and_writes = check(
        "DATASET", "STANDARD.GET", "STANDARD.UPDATE", hint="DefaultDatasetRuntimeContext.onMethodEntry"
    )

    assert asked(DEFAULT.resolve(reads_and_writes)) == [
        "dataset.read on dataset:ns1.kv: READ entity",
        "dataset.write on dataset:ns1.kv: WRITE entity",
    ]
    assert asked(DEFAULT.resolve(check("DATASET"))) == ["dataset.any_privilege on dataset:ns1.kv: ANY entity"]
    assert asked(DEFAULT.resolve(check("OPERATION_RUN"))) == ["namespace.inner_get on namespace:ns1: READ entity"]


@pytest.mark.parametrize("profile", profile_names())
@pytest.mark.parametrize(
    "kind", [kind for kind in PARTS if resolve_entity(kind, PARTS[kind]).mapping is ResourceMapping.ITSELF]
)
def test_an_action_of_cdap_before_6_5_is_that_privilege_on_the_entity_itself(profile: str, kind: str) -> None:
    """Whatever the profile, the hint and the container."""
    table = CheckTable(load_profile(profile))
    entity = resolve_entity(kind, PARTS[kind]).entity
    for action in actions():
        for hint, container in ((None, False), ("Nobody.knows", True), *((method, False) for method in METHODS)):
            resolved = table.resolve(check(kind, action, hint=hint, container=container))
            (question,) = resolved.operations
            ((need,),) = plan(question.operation, question.entity, "ann")
            assert (need.entity, need.actions) == (entity, (action.partition(".")[2],))
            assert not resolved.unknown


def test_an_action_on_what_an_entity_contains_is_unknown_and_takes_admin() -> None:
    for action in actions():
        resolved = DEFAULT.resolve(check("NAMESPACE", action, child="DATASET"))
        assert asked(resolved) == ["namespace.other on namespace:ns1: ADMIN entity"]
        assert resolved.unknown == {Unknown.PERMISSION}


def test_a_preview_asks_for_a_deployment_and_a_run() -> None:
    preview = check("APPLICATION", "APPLICATION.PREVIEW", hint="DefaultPreviewManager.start PreviewHttpHandler.start")
    resolved = DEFAULT.resolve(preview)

    assert asked(resolved) == [
        "application.deploy on application:ns1.Shop: WRITE namespace or ADMIN entity",
        "application.run_preview on application:ns1.Shop: EXECUTE namespace + READ namespace",
    ]
    assert not resolved.unknown


# entity -> what one needs to see it
VISIBLE = [
    ("OPERATION_RUN", "namespace.inner_get on namespace:ns1: READ entity"),
    ("SUPPORT_BUNDLE", "instance.inner_get on instance:: READ entity"),
]


@pytest.mark.parametrize(("kind", "needs"), VISIBLE)
def test_what_has_no_resource_of_its_own_is_not_seen_by_any_privilege_around_it(kind: str, needs: str) -> None:
    assert asked(DEFAULT.resolve(CdapCheck(kind, PARTS[kind], ()))) == [needs]


def test_an_entity_of_unknown_type_is_seen_by_who_administers_the_nearest_parent() -> None:
    resolved = DEFAULT.resolve(CdapCheck("SPACESHIP", ("ns1", "x"), ()))

    assert [(needed(question), str(question.entity)) for question in resolved.operations] == [
        ("ADMIN entity", "namespace:ns1")
    ]
    assert resolved.unknown == {Unknown.ENTITY_TYPE}


# check -> the entity whose ADMIN decides, and what is counted
UNKNOWN = [
    (check("DATASET", "STANDARD.FLY"), "dataset:ns1.kv", {Unknown.PERMISSION}),
    (check("DATASET", "DATASET.GET"), "dataset:ns1.kv", {Unknown.PERMISSION}),
    (check("DATASET", "APPLICATION.EXECUTE"), "dataset:ns1.kv", {Unknown.PERMISSION}),
    (check("NAMESPACE", "STANDARD.FLY", child="DATASET"), "namespace:ns1", {Unknown.PERMISSION}),
    (check("NAMESPACE", "STANDARD.GET", child="DATASET"), "namespace:ns1", {Unknown.PERMISSION}),
    (check("SUPPORT_BUNDLE", "STANDARD.FLY"), "instance:", {Unknown.PERMISSION}),
    (check("NAMESPACE", "STANDARD.LIST", child="SPACESHIP"), "namespace:ns1", {Unknown.ENTITY_TYPE}),
    (CdapCheck("SPACESHIP", ("ns1", "x"), ("STANDARD.GET",)), "namespace:ns1", {Unknown.ENTITY_TYPE}),
    (CdapCheck("SPACESHIP", ("ns1", "x", "y"), ()), "namespace:ns1", {Unknown.ENTITY_TYPE}),
    (CdapCheck("SPACESHIP", ("ns1", "x"), ("STANDARD.LIST",), "DATASET"), "namespace:ns1", {Unknown.ENTITY_TYPE}),
    # Alone, a first part may be anything: whoever has a namespace of that name gains nothing.
    (CdapCheck("SPACESHIP", ("ns1",), ("STANDARD.GET",)), "instance:", {Unknown.ENTITY_TYPE}),
    (CdapCheck("SPACESHIP", ("n*", "x"), ("STANDARD.GET",)), "instance:", {Unknown.ENTITY_TYPE}),
    (CdapCheck("", (), ("A.B",)), "instance:", {Unknown.ENTITY_TYPE, Unknown.PERMISSION}),
]


@pytest.mark.parametrize(("unknown", "entity", "counted"), UNKNOWN)
def test_what_the_table_does_not_know_needs_admin_and_is_counted(
    unknown: CdapCheck, entity: str, counted: set[Unknown]
) -> None:
    resolved = DEFAULT.resolve(unknown)

    assert [(needed(question), str(question.entity)) for question in resolved.operations] == [("ADMIN entity", entity)]
    assert resolved.unknown == counted


def test_a_hint_nobody_knows_is_counted_where_there_was_something_to_tell() -> None:
    assert DEFAULT.resolve(check("PROGRAM", "STANDARD.UPDATE", hint="Nobody.knows")).unknown == {Unknown.HINT}
    assert not DEFAULT.resolve(check("PROGRAM", "STANDARD.UPDATE")).unknown
    assert not DEFAULT.resolve(check("DATASET", "STANDARD.CREATE", hint="Nobody.knows")).unknown


REFUSED = [
    check("DATASET", ""),
    check("DATASET", "GET"),
    check("DATASET", "standard.get"),
    check("DATASET", "STANDARD.GET", "READ"),
    check("DATASET", "STANDARD.GET\n"),
    CdapCheck("DATASET", ("ns1",), ("STANDARD.GET",)),
    CdapCheck("DATASET", ("ns1", "*"), ("STANDARD.GET",)),
    CdapCheck("DATASET", ("ns1", ""), ("STANDARD.GET",)),
    CdapCheck("INSTANCE", ("a", "b"), ("STANDARD.GET",)),
    CdapCheck("PROGRAM_RUN", ("ns1", "Shop", "-SNAPSHOT", "workflow", "W"), ("STANDARD.GET",)),
    CdapCheck("OPERATION_RUN", ("ns1", ""), ("STANDARD.GET",)),
    check("INSTANCE", "STANDARD.LIST", child="DATASET"),
    check("DATASET", "STANDARD.LIST", child="DATASET"),
]


@pytest.mark.parametrize("refused", REFUSED)
def test_what_is_no_check_is_refused(refused: CdapCheck) -> None:
    with pytest.raises(InvalidInput):
        DEFAULT.resolve(refused)


@pytest.mark.parametrize("profile", profile_names())
def test_every_permission_on_every_type_can_be_put_to_the_policies(profile: str) -> None:
    table = CheckTable(load_profile(profile))
    for kind in PARTS:
        for permission in known_permissions():
            resolved = table.resolve(check(kind, permission))
            assert resolved.operations, (kind, permission)
            assert all(plan(question.operation, question.entity, "ann") for question in resolved.operations)


CHILDREN = [
    *(("INSTANCE", child) for child in ("NAMESPACE", "KERBEROSPRINCIPAL", "SYSTEM_SERVICE", "SUPPORT_BUNDLE")),
    *(("NAMESPACE", child) for child in ("ARTIFACT", "APPLICATION", "DATASET", "DATASET_MODULE", "DATASET_TYPE")),
    *(("NAMESPACE", child) for child in ("SECUREKEY", "PROFILE", "TOPIC", "CREDENTIAL_PROFILE", "OPERATION_RUN")),
    *(("APPLICATION", child) for child in ("PROGRAM", "SCHEDULE", "SYSTEM_APP_ENTITY")),
]


@pytest.mark.parametrize("profile", profile_names())
def test_listing_and_creating_children_asks_of_what_lies_above_them(profile: str) -> None:
    table = CheckTable(load_profile(profile))
    for parent, child in CHILDREN:
        for permission in ("STANDARD.LIST", "STANDARD.CREATE"):
            for question in table.resolve(check(parent, permission, child=child)).operations:
                needs = [need for needs in plan(question.operation, question.entity, "ann") for need in needs]
                assert needs
                assert all(question.entity.is_within(parse_entity(str(need.entity))) for need in needs)


def nobody_may(person: str, entity: EntityId, action: str) -> Decision:
    return Decision(allowed=False, determined=False, policy_id=-1, policy_version=-1)


TEXT = st.one_of(st.text(max_size=12), st.sampled_from([*PARTS, "ns1", "*", "", "-SNAPSHOT", "workflow"]))
PERMISSION = st.one_of(st.text(max_size=12), st.sampled_from(sorted(known_permissions())), st.just("STANDARD.FLY"))
METHODS = sorted({m for cell in all_cells().values() for methods in cell.rows.values() for m in methods})


@given(
    kind=TEXT,
    parts=st.lists(TEXT, max_size=7),
    permissions=st.lists(PERMISSION, max_size=4),
    child=st.none() | TEXT,
    hint=st.none() | st.text(max_size=40) | st.lists(st.sampled_from(METHODS), max_size=4).map(" ".join),
    container=st.booleans(),
    profile=st.sampled_from(profile_names()),
)
def test_no_text_breaks_a_check_or_leaves_nothing_to_ask(
    kind: str,
    parts: list[str],
    permissions: list[str],
    child: str | None,
    hint: str | None,
    container: bool,
    profile: str,
) -> None:
    asks = CdapCheck(kind, tuple(parts), tuple(permissions), child, hint, container)
    try:
        resolved = CheckTable(load_profile(profile)).resolve(asks)
    except InvalidInput:
        return

    assert resolved.operations
    for question in resolved.operations:
        assert not compose(question.operation, question.entity, "ann", nobody_may).allowed
