"""What is enforced: operations, entity types, and what becomes of the rest."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode, enforcement
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.errors import ConfigError, InvalidInput

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


def test_a_silent_pass_can_not_be_said() -> None:
    assert {mode.value for mode in UnenforcedMode} == {"report", "deny"}
    with pytest.raises(ConfigError):
        enforcement(PROFILE, (), None, None)


def test_what_is_enforced_says_itself() -> None:
    assert str(Enforcement()) == "everything is enforced"
    limited = enforcement(PROFILE, ("dataset.*", "dataset.get"), None, REPORT)
    assert str(limited) == "enforced operations: dataset.*, dataset.get; all else: report"
    assert str(enforcement(PROFILE, (), None, REPORT)) == "enforced operations: none; all else: report"
