"""What is enforced: operations, entity types, and what becomes of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.checks.check_table import all_cells, known_permissions
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode, enforcement, operation_names
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.profile import SYNONYMS, load_profile, profile_names
from ranger_cdap.errors import ConfigError, InvalidInput, suggestion

PROFILE = load_profile("default")
REPORT, DENY = UnenforcedMode.REPORT, UnenforcedMode.DENY

CASES = [
    # operations, entity types, the question, enforced?
    (None, None, "dataset.get", "dataset", True),
    (("dataset.get",), None, "dataset.get", "dataset", True),
    (("dataset.get",), None, "dataset.drop", "dataset", False),
    (("dataset.*",), None, "dataset.drop", "dataset", True),
    (("dataset.*",), None, "dataset_type.get", "dataset_type", False),
    (None, ("namespace",), "namespace.create", "namespace", True),
    (None, ("namespace",), "dataset.get", "dataset", False),
    (("namespace.create", "dataset.get"), ("namespace",), "namespace.create", "namespace", True),
    (("namespace.create", "dataset.get"), ("namespace",), "dataset.get", "dataset", False),
    (("namespace.create", "dataset.get"), ("namespace",), "namespace.get", "namespace", False),
    ((), None, "namespace.get", "namespace", False),
    (None, (), "namespace.get", "namespace", False),
    # CDAP asks for listing datasets on the namespace.
    (("dataset.list",), None, "dataset.list", "namespace", True),
    (None, ("dataset",), "dataset.list", "namespace", True),
    (None, ("namespace",), "dataset.list", "namespace", True),
    (None, ("artifact",), "dataset.list", "namespace", False),
    # Synonyms, and an operation that only CDAP's checks know.
    (("application.create",), None, "application.deploy", "application", True),
    (("application.deploy",), None, "application.create", "application", True),
    (("instance.tether",), None, "instance.tether", "instance", True),
    (("dataset.get",), None, "instance.tether", "instance", False),
]


@pytest.mark.parametrize(("operations", "types", "operation", "kind", "covered"), CASES)
def test_an_operation_is_enforced_if_both_lists_have_it(
    operations: tuple[str, ...] | None, types: tuple[str, ...] | None, operation: str, kind: str, covered: bool
) -> None:
    assert enforcement(PROFILE, operations, types, REPORT).is_enforced(operation, kind) is covered


@pytest.mark.parametrize(
    ("operations", "types", "outside", "said"),
    [
        (("dataset.gett",), None, DENY, "did you mean `dataset.get`?"),
        (("nothing.*",), None, DENY, "`nothing`"),
        (None, ("datasets",), DENY, "`datasets`"),
        (("dataset.get",), None, None, "`enforce.outside` is not set"),
        (None, (), None, "`enforce.outside` is not set"),
    ],
)
def test_what_is_enforced_is_never_a_guess(
    operations: tuple[str, ...] | None, types: tuple[str, ...] | None, outside: UnenforcedMode | None, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said.replace("?", r"\?")):
        enforcement(PROFILE, operations, types, outside)


# Entities without a resource of their own, and one of a type that nobody knows, with the number of their parts.
WITHIN = [("SYSTEM_APP_ENTITY", 4), ("OPERATION_RUN", 2), ("QUERY", 1), ("SUPPORT_BUNDLE", 1), ("SPACESHIP", 2)]


def checks_of(kind: str) -> Iterator[CdapCheck]:
    """Every permission on an entity of a type, or for a child of it, with each hint that its cells know and without."""
    path = entity_type(kind).path
    parts = tuple("workflow.W" if level == "program" else "x" for level in path[1:]) or ("",)
    children = [row.name for row in entity_types().values() if row.parent == kind]
    for child in (None, *children):
        cells = [cell for (section, _, _), cell in all_cells().items() if section == (child or kind)]
        rows = [methods for cell in cells for methods in (*cell.rows.values(), *cell.steps.values())]
        hints = {None, "Nobody.knows", *(m if "." in m else f"{m}.any" for methods in rows for m in methods)}
        cdap_child = entity_type(child).cdap_names[0] if child else None
        for permission, hint in product(["STANDARD.FLY", *known_permissions()], hints):
            yield CdapCheck(entity_type(kind).cdap_names[0], parts, (permission,), cdap_child, hint)
    for permission, unknown in product(["STANDARD.FLY", *known_permissions()], ["SPACESHIP", "OPERATION_RUN"]):
        yield CdapCheck(entity_type(kind).cdap_names[0], parts, (permission,), unknown)
    for permission in known_permissions():
        yield CdapCheck(entity_type(kind).cdap_names[0], parts, (permission,), from_container=True)
    yield CdapCheck(entity_type(kind).cdap_names[0], parts, ())


CHECKS = [check for kind in entity_types() for check in checks_of(kind)]
CHECKS += [CdapCheck(kind, ("x",) * n, (one,)) for kind, n in WITHIN for one in ("STANDARD.FLY", *known_permissions())]


@pytest.mark.parametrize("name", profile_names())
def test_every_operation_of_a_check_can_be_named_and_means_one_row(name: str) -> None:
    profile = load_profile(name)
    table = CheckTable(profile)
    rows: dict[str, set[object]] = {}
    for check in CHECKS:
        for each in table.resolve(check).operations:
            if not check.child_type:
                rows.setdefault(each.operation.name, set()).add(each.operation.alternatives)
            rows.setdefault(each.operation.name, set())
    named = enforcement(profile, tuple(rows), None, REPORT)

    assert {"instance.tether", "namespace.see", "application.inner_use", "dataset.any_privilege"} <= set(rows)
    assert [one for one in rows if not named.is_enforced(one, one.partition(".")[0])] == []
    assert {one: found for one, found in rows.items() if len(found) > 1} == {}


@pytest.mark.parametrize(("synonym", "name"), SYNONYMS.items())
@pytest.mark.parametrize("profile", profile_names())
def test_synonyms_are_one_operation(profile: str, synonym: str, name: str) -> None:
    table = load_profile(profile)
    kind = name.partition(".")[0]

    assert name in table.rows or kind == "stream_view"
    assert table.operation(synonym) == table.operation(name)
    for listed, asked in product((synonym, name), repeat=2):
        assert enforcement(table, (listed,), None, REPORT).is_enforced(asked, kind)


@pytest.mark.parametrize(
    "nonsense", ["datset.create", "instance.creat", "entity.see", "inner.get", "create", ".create"]
)
def test_a_name_that_is_no_operation_is_refused(nonsense: str) -> None:
    with pytest.raises(ConfigError, match="not an operation of profile `default`"):
        enforcement(PROFILE, (nonsense,), None, DENY)


@given(name=st.sampled_from(sorted(operation_names(PROFILE))), known=st.sets(st.sampled_from(["a.get", "dataset.get"])))
def test_a_suggestion_is_never_the_name_itself(name: str, known: set[str]) -> None:
    assert f"`{name}`" not in suggestion(name, {name, *known}, list_all=True)


def test_a_silent_pass_can_not_be_said() -> None:
    assert {mode.value for mode in UnenforcedMode} == {"report", "deny"}
    with pytest.raises(ConfigError):
        enforcement(PROFILE, (), None, None)


def test_what_is_enforced_says_itself() -> None:
    assert str(Enforcement()) == "everything is enforced"
    limited = enforcement(PROFILE, ("dataset.*", "dataset.get"), None, REPORT)
    assert str(limited) == "enforced operations: dataset.*, dataset.get; all else: report"
    assert str(enforcement(PROFILE, (), None, REPORT)) == "enforced operations: none; all else: report"
