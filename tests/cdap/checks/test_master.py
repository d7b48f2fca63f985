"""The master user in user namespaces: what each setting of `master.create` lets it create, and what a preview does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.checks.master import (
    CREATE,
    MOST_PREVIEWS,
    PREVIEW,
    REMEMBERED_FOR,
    MasterCreate,
    MasterDecision,
    Previews,
    decide_create,
)
from ranger_cdap.cdap.entity import resolve_entity

RANDOM = "d812fc2c-e560-11f1-ab25-02fc00000001"
START = "DefaultNamespaceAdmin.create DefaultPreviewRunner.startPreview PreviewRunnerService.run"
NOON = 1_800_000_000_000
NONE = Previews()


def create(kind: str, *parts: str, child: str | None = None, hint: str | None = None) -> CdapCheck:
    return CdapCheck(kind, parts, (CREATE,), child, hint)


def previewed(name: str = RANDOM, *, user: str = "alice", at: int = NOON, before: Previews = NONE) -> Previews:
    check = CdapCheck("APPLICATION", ("ns1", name, "-SNAPSHOT"), (PREVIEW,))
    return before.remember(check, resolve_entity(check.entity_type, check.id_parts), user, "root", at)


def decided(mode: str, check: CdapCheck, previews: Previews, now: int) -> MasterDecision:
    entity = resolve_entity(check.entity_type, check.id_parts).entity
    return decide_create(MasterCreate(mode), check, entity, previews, now)


def allowed(mode: str, check: CdapCheck, previews: Previews, now: int = NOON) -> bool | None:
    return decided(mode, check, previews, now).allowed


PREVIEWED = create("APPLICATION", "ns1", RANDOM, "-SNAPSHOT")

# what the master creates, after alice was allowed the preview of the application RANDOM -> by deny, preview, allow
# (None: the policies decide)
CASES = [
    (PREVIEWED, False, True, True),
    (create("APPLICATION", "ns1", RANDOM, "9fe879b1-e560"), False, True, True),
    (create("APPLICATION", "ns1", "9fe879b1-e560-11f1-8232-02fc00000001", "-SNAPSHOT"), False, False, True),
    (create("APPLICATION", "ns1", "Shop", "-SNAPSHOT"), False, False, True),
    (create("APPLICATION", "ns2", RANDOM, "-SNAPSHOT"), False, False, True),
    (create("NAMESPACE", "ns1", child="APPLICATION"), False, False, True),
    (create("NAMESPACE", "ns1", child="ARTIFACT"), False, False, True),
    (create("ARTIFACT", "ns1", RANDOM, "1.0.0"), False, False, True),
    # Programs that impersonate nobody run as the master, which creates their datasets (document 004).
    (create("DATASET", "ns1", RANDOM), None, None, True),
    (create("NAMESPACE", "ns1", child="DATASET"), False, False, True),
    (create("DATASET_MODULE", "ns1", "shop.Kind"), False, False, True),
    (create("DATASET_TYPE", "ns1", "shop.Kind"), False, False, True),
    (create("SPACESHIP", "ns1", RANDOM), False, False, True),
    # A hint of a preview helps the namespace only.
    (create("NAMESPACE", "ns1", hint=START), None, True, True),
    (create("NAMESPACE", "ns1", hint="DefaultNamespaceAdmin.create NamespaceHttpHandler.create"), None, None, True),
    (create("NAMESPACE", "default"), None, None, True),
    (create("DATASET_MODULE", "ns1", "shop.Kind", hint=START), False, False, True),
    # What is not a creation in a user namespace is no matter of the setting.
    (create("ARTIFACT", "system", "core-plugins", "1.0.0"), None, None, None),
    (create("NAMESPACE", "system", child="ARTIFACT"), None, None, None),
    (create("NAMESPACE", "system"), None, None, None),
    (create("KERBEROSPRINCIPAL", "svc"), None, None, None),
    (CdapCheck("DATASET", ("ns1", "kv"), ("STANDARD.GET",)), None, None, None),
    (CdapCheck("DATASET", ("ns1", "kv"), ("STANDARD.DELETE",)), None, None, None),
    (CdapCheck("DATASET", ("ns1", "kv"), ()), None, None, None),
    # Nothing comes along with a creation.
    (CdapCheck("APPLICATION", ("ns1", RANDOM, "1"), (CREATE, "STANDARD.GET")), False, False, False),
    (CdapCheck("DATASET", ("ns1", RANDOM), (CREATE, "STANDARD.GET")), False, False, False),
]


@pytest.mark.parametrize(("check", "by_deny", "by_preview", "by_allow"), CASES)
def test_what_the_master_may_create_by_each_setting(
    check: CdapCheck, by_deny: bool | None, by_preview: bool | None, by_allow: bool | None
) -> None:
    answers = [allowed(mode, check, previewed()) for mode in ("deny", "preview", "allow")]

    assert answers == [by_deny, by_preview, by_allow]


def test_a_preview_creates_its_application_once() -> None:
    first = decided("preview", PREVIEWED, previewed(), NOON + 1)
    asked_again = previewed(at=NOON + 2, before=first.previews)

    assert first.allowed
    assert allowed("preview", PREVIEWED, first.previews, NOON + 1) is False
    assert allowed("preview", PREVIEWED, asked_again, NOON + 2) is False


@pytest.mark.parametrize(
    ("after", "held"),
    [(-1, False), (0, True), (REMEMBERED_FOR - 1, True), (REMEMBERED_FOR, False)],
)
def test_a_preview_is_remembered_for_an_hour(after: int, held: bool) -> None:
    assert allowed("preview", PREVIEWED, previewed(), NOON + after) is held


def test_a_preview_of_the_master_itself_allows_nothing() -> None:
    assert allowed("preview", PREVIEWED, previewed(user="root")) is False


@pytest.mark.parametrize(
    "check",
    [
        CdapCheck("APPLICATION", ("ns1", RANDOM, "-SNAPSHOT"), ("STANDARD.GET",)),
        CdapCheck("SYSTEM_APP_ENTITY", ("ns1", RANDOM, "x", "y"), (PREVIEW,)),
        CdapCheck("NAMESPACE", ("ns1",), (PREVIEW,), "APPLICATION"),
        CdapCheck("DATASET", ("ns1", RANDOM), (PREVIEW,)),
    ],
)
def test_only_a_preview_of_an_application_is_remembered(check: CdapCheck) -> None:
    assert NONE.remember(check, resolve_entity(check.entity_type, check.id_parts), "alice", "root", NOON) == NONE


def test_memory_is_bounded_and_what_does_not_fit_is_denied() -> None:
    full = previewed()
    for number in range(MOST_PREVIEWS):
        full = Previews({**full.by_application, **previewed(f"app{number}").by_application})
    over = previewed("late", before=full)

    assert len(over.by_application) <= len(full.by_application)
    assert allowed("preview", create("APPLICATION", "ns1", "late", "1"), over) is False
    later = previewed("late", at=NOON + REMEMBERED_FOR, before=over)
    assert allowed("preview", create("APPLICATION", "ns1", "late", "1"), later, NOON + REMEMBERED_FOR) is True
    assert len(later.by_application) == 1


NAMES = st.sampled_from([RANDOM, "Shop", "a1eab252-e560-11f1-bfd0-02fc00000001"])
EVENTS = st.lists(st.tuples(st.booleans(), NAMES, st.integers(0, REMEMBERED_FOR // 2)), max_size=12)


@given(EVENTS)
def test_each_creation_was_preceded_by_a_preview_of_its_own_within_the_hour(
    events: list[tuple[bool, str, int]],
) -> None:
    previews, now = Previews(), NOON
    asked: dict[str, int] = {}
    for is_preview, name, pause in events:
        now += pause
        if is_preview:
            previews = previewed(name, at=now, before=previews)
            asked[name] = now
            continue
        decision = decided("preview", create("APPLICATION", "ns1", name, "1"), previews, now)
        previews = decision.previews
        if decision.allowed:
            assert now - asked.pop(name) < REMEMBERED_FOR
