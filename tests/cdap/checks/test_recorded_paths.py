"""The recorded paths of CDAP: the package's data is what the recordings say, and names nothing of the sample."""

import re
import tomllib
from importlib.resources import files

import pytest

from ranger_cdap.cdap.checks.check_table import known_permissions
from ranger_cdap.cdap.checks.recorded_paths import RecordedPath, recorded_paths
from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import entity_type, parse_entity
from ranger_cdap.cdap.profile import SYNONYMS, load_profile, profile_names
from tests.cdap.checks.derive_paths import FIXED, paths, taking_part, written
from tests.cdap.checks.test_replay import OPERATIONS, RECORDED, is_for_a_type_of_cdap

TEXT = files("ranger_cdap.cdap.checks").joinpath("recorded_paths.toml").read_text(encoding="utf-8")
RECORDED_OPERATIONS = list(dict.fromkeys(path["operation"] for path in tomllib.loads(TEXT)["path"]))
PATHS = [path for operation in RECORDED_OPERATIONS for path in recorded_paths(operation)]


def test_the_data_is_what_the_recordings_say() -> None:
    assert written(paths()) == TEXT, "the command at the head of the file makes it"
    assert sorted(PATHS, key=str) == sorted(paths(), key=str)


def test_every_recorded_operation_has_a_path_or_a_reason_why_not() -> None:
    kept, without_row = {path.recorded for path in PATHS}, {*OPERATIONS.seen, *OPERATIONS.unchecked}
    repeated = set(RECORDED) - kept - without_row

    assert not kept & without_row
    for name in repeated:
        ((row, _, _),) = taking_part(name)
        assert any(asked_in(path.recorded) == asked_in(name) for path in recorded_paths(row)), name


def asked_in(recorded: str) -> set[tuple[object, ...]]:
    return {(call.permissions, call.child, call.hint, bool(call.visible)) for call in RECORDED[recorded].calls}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.recorded)
def test_a_path_names_only_parts_of_an_operation(path: RecordedPath) -> None:
    above = entity_type(path.operation.partition(".")[0]).path
    for check in path.checks:
        assert check.on in {"entity", *above, *ROLES, *map(str, FIXED)}
        assert set(check.permissions) <= known_permissions()
    ((_, entity, roles),) = taking_part(path.recorded)
    samples = {part for one in (entity, *(e for several in roles.values() for e in several)) for part in one.parts}
    names = {word for part in samples - {"system"} for word in (part, part.split(".")[-1])}
    assert not {check.on for check in path.checks} & names
    assert not re.search(r"\bns1\b|\bns2\b|nsimp|ProbeApp|probeapp", str(path))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.recorded)
def test_no_recorded_check_is_lost_except_by_a_rule(path: RecordedPath) -> None:
    calls = [call for call in RECORDED[path.recorded].calls if not is_for_a_type_of_cdap(call)]
    asked = {(call.permissions, call.child, call.hint) for call in calls if not call.visible}
    assert {(c.permissions, c.child, c.hint) for c in path.checks if not c.visible} == asked
    if any(call.visible for call in calls):
        assert any(check.visible for check in path.checks)


def test_an_operation_is_found_by_its_other_names() -> None:
    for name, row in SYNONYMS.items():
        assert recorded_paths(name) == recorded_paths(row)
    assert recorded_paths("namespace.enable_wrangler") == ()
    for profile in map(load_profile, profile_names()):
        assert {profile.operation(name).name for name in RECORDED_OPERATIONS} == set(RECORDED_OPERATIONS)


def test_the_fixed_entities_are_not_of_the_sample() -> None:
    assert parse_entity("namespace:system") in FIXED
    assert len(FIXED) == 1
