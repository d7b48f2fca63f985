"""Laws of composed answers, over every row of every profile, any situation and any privileges held."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.answer import Ask, compose
from ranger_cdap.cdap.context import ROLES, Context
from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import ACTIONS, ANY, VISIBLE, Operation, load_profile, profile_names
from ranger_cdap.engine import Decision, NamedValues

ENTITIES = {
    entity.type: entity
    for entity in map(
        parse_entity,
        (
            "namespace:ns1",
            "artifact:ns1.lib",
            "application:ns1.Shop",
            "program:ns1.Shop.spark.S",
            "dataset:ns1.kv",
            "dataset_module:ns1.M",
            "dataset_type:ns1.T",
            "stream:ns1.s",
            "stream_view:ns1.s.v",
            "secure_key:ns1.k",
            "principal:svc/host@EXAMPLE.COM",
            "system_service:appfabric",
        ),
    )
}
ROWS = [row for name in profile_names() for row in load_profile(name).rows.values() if row.entity in ENTITIES]
PEOPLE = ("ann", "svc", "cdap")
Privilege = tuple[str, EntityId | EntityPattern, str]
NAMED = {
    level: NamedValues(frozenset({"a", "b"}), False)
    for level in ("dataset", "dataset_module", "dataset_type", "artifact")
}
"""What the privileges name beside patterns."""

entity_names = st.sampled_from(["ns1.a", "ns1.b", "ns1.a*"])
contexts = st.builds(
    lambda related, impersonated: Context(related, impersonated),
    st.dictionaries(
        st.sampled_from(sorted(set(ROLES) - {"jar", "principal", "programs"})),
        st.just(None),
    ).flatmap(
        lambda roles: st.fixed_dictionaries(
            {
                role: st.lists(entity_names, unique=True, max_size=2).map(
                    lambda texts, role=role: tuple(parse_pattern(f"{ROLES[role]}:{text}") for text in texts)
                )
                for role in roles
            }
        )
    ),
    st.none() | st.just("svc"),
)
options = st.builds(Options, *[st.booleans()] * 4)
rows = st.sampled_from(ROWS)


def universe(row: Operation, context: Context) -> list[Privilege]:
    """Privileges that could matter to the row, and others."""
    entity = ENTITIES[row.entity]
    entities: set[EntityId | EntityPattern] = {entity, parse_entity("dataset:ns1.other")}
    for alternative in plan(row, entity, "ann", context):
        entities |= {need.entity for need in alternative}
    above: EntityId | None = entity
    while above is not None:
        entities.add(above)
        above = above.parent
    return [
        (person, one, action)
        for person in PEOPLE
        for one in sorted(entities, key=str)
        for action in (*ACTIONS, ANY, VISIBLE)
    ]


@st.composite
def questions(draw: st.DrawFn) -> tuple[Operation, Context, frozenset[Privilege]]:
    row, context = draw(rows), draw(contexts)
    held = draw(st.frozensets(st.sampled_from(universe(row, context)), max_size=30))
    return row, context, held


def holding(held: frozenset[Privilege]) -> Ask:
    """Ranger's decisions where exactly these privileges are held; holding a pattern holds all that it matches."""
    given = {
        (person, one, action)
        for person, entity, action in held
        for one in ((entity.representatives(NAMED) or ()) if isinstance(entity, EntityPattern) else (entity,))
    }

    def ask(person: str, entity: EntityId, action: str) -> Decision:
        allowed = (person, entity, action) in given
        return Decision(allowed=allowed, determined=True, policy_id=7 if allowed else -1)

    return ask


def names(person: str, pattern: EntityPattern) -> Mapping[str, NamedValues]:
    return NAMED


def allowed(row: Operation, context: Context, held: frozenset[Privilege], how: Options = Options()) -> bool:  # noqa: B008
    return compose(row, ENTITIES[row.entity], "ann", holding(held), context, how, names).allowed


@given(questions(), options, st.data())
def test_one_more_privilege_never_denies(
    question: tuple[Operation, Context, frozenset[Privilege]], how: Options, data: st.DataObject
) -> None:
    row, context, held = question
    more = data.draw(st.sampled_from(universe(row, context)))

    assert allowed(row, context, held | {more}, how) >= allowed(row, context, held, how)


@given(questions())
def test_without_options_only_the_privileges_the_row_names_count(
    question: tuple[Operation, Context, frozenset[Privilege]],
) -> None:
    row, context, held = question
    needs = [need for alternative in plan(row, ENTITIES[row.entity], "ann", context) for need in alternative]
    named = {(need.person, need.entity, action) for need in needs for action in need.actions}

    assert allowed(row, context, held) is allowed(row, context, held & named)


@given(questions())
def test_holding_all_that_a_plan_names_allows_and_what_is_missing_is_in_the_plan(
    question: tuple[Operation, Context, frozenset[Privilege]],
) -> None:
    row, context, held = question
    for alternative in plan(row, ENTITIES[row.entity], "ann", context):
        assert allowed(row, context, held | {(need.person, need.entity, need.actions[-1]) for need in alternative})

    answer = compose(row, ENTITIES[row.entity], "ann", holding(held), context, names=names)
    lacking = frozenset((missing.person, missing.entity, missing.actions[0]) for missing in answer.missing)
    assert not (lacking & held)
    if answer.missing:
        assert allowed(row, context, held | lacking)


@given(questions())
def test_who_holds_nothing_is_denied_whatever_the_options(
    question: tuple[Operation, Context, frozenset[Privilege]],
) -> None:
    row, context, _ = question
    for bits in range(16):
        how = Options(*(bool(bits & 1 << i) for i in range(4)))
        assert not allowed(row, context, frozenset(), how)


@given(questions())
def test_options_that_widen_deny_nothing_and_the_one_that_narrows_allows_nothing(
    question: tuple[Operation, Context, frozenset[Privilege]],
) -> None:
    row, context, held = question
    before = allowed(row, context, held)

    assert allowed(row, context, held, Options(view_details=True)) >= before
    assert allowed(row, context, held, Options(inherit=True)) >= before
    assert allowed(row, context, held, Options(visible_only=True)) <= before
