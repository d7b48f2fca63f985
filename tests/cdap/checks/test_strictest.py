"""Without a hint the strictest rows decide: proven for every set of privileges, every profile and every option."""

from collections.abc import Iterator
from itertools import chain, combinations, product

import pytest

from ranger_cdap.cdap.answer import Ask, compose
from ranger_cdap.cdap.checks.check_table import CheckCell, all_cells
from ranger_cdap.cdap.checks.checks import CheckTable
from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import Operation, load_profile, profile_names
from ranger_cdap.engine import Decision

Held = frozenset[tuple[str, EntityId]]

SAMPLES = {
    "instance": "instance:",
    "namespace": "namespace:ns1",
    "system_service": "system_service:appfabric",
    "artifact": "artifact:ns1.shop",
    "application": "application:ns1.Shop",
    "program": "program:ns1.Shop.workflow.W",
    "dataset": "dataset:ns1.kv",
    "secure_key": "secure_key:ns1.key1",
}

# A namespace that is only seen asks for less than any row by intention.
SEVERAL_ROWS = {key: cell for key, cell in all_cells().items() if len(cell.rows) > 1 and not cell.visibility_only}

OPTIONS = [
    Options(),
    Options(view_details=True),
    Options(inherit=True),
    Options(list_by_parent=True),
    Options(visible_only=True),
]


def holding(held: Held) -> Ask:
    """Ranger's decisions for a person who has exactly these privileges; nothing is said of anything else."""

    def ask(person: str, entity: EntityId, action: str) -> Decision:
        allowed = (action, entity) in held
        return Decision(allowed=allowed, determined=allowed, policy_id=-1, policy_version=-1)

    return ask


def every_set_of(privileges: set[tuple[str, EntityId]]) -> Iterator[Held]:
    ordered = sorted(privileges)
    return map(frozenset, chain.from_iterable(combinations(ordered, n) for n in range(len(ordered) + 1)))


@pytest.mark.parametrize(("key", "cell"), SEVERAL_ROWS.items(), ids=[" ".join(key[:2]) for key in SEVERAL_ROWS])
def test_who_passes_without_a_hint_may_do_all_that_the_check_can_stand_for(
    key: tuple[str, str, bool], cell: CheckCell
) -> None:
    kind, permission, _ = key
    entity = parse_entity(SAMPLES[kind])
    for profile, options in product(profile_names(), OPTIONS):
        table = CheckTable(load_profile(profile))
        strictest = [table.row(kind, permission, verb) for verb in cell.strictest]
        meant = [table.row(kind, permission, verb) for verb in cell.rows]
        for held in every_set_of(privileges_of([*strictest, *meant], entity, options)):
            allowed = {row.name for row in (*strictest, *meant) if allows(row, entity, held, options)}
            if allowed.issuperset(row.name for row in strictest):
                gained = [row.name for row in meant if row.name not in allowed]
                assert not gained, (profile, options, sorted(f"{action} {on}" for action, on in held))


def privileges_of(rows: list[Operation], entity: EntityId, options: Options) -> set[tuple[str, EntityId]]:
    return {
        (action, need.entity)
        for row in rows
        for alternative in plan(row, entity, "ann", options=options)
        for need in alternative
        for action in need.actions
        if isinstance(need.entity, EntityId)
    }


def allows(row: Operation, entity: EntityId, held: Held, options: Options) -> bool:
    return compose(row, entity, "ann", holding(held), options=options).allowed


def test_the_strictest_rows_and_those_of_containers_are_rows_of_their_check() -> None:
    for key, cell in all_cells().items():
        assert {*cell.strictest, *cell.container} <= set(cell.rows), key
        assert cell.strictest or cell.visibility_only, key
