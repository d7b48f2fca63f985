"""Privileges that CDAP asks for beside those of the profile: exactly enough for every recorded call, by the engine."""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product

import pytest

from ranger_cdap.cdap.additional_privileges import AdditionalPrivilege, additional_privileges, cheapest, weakest
from ranger_cdap.cdap.answer import compose, visibility
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.checks.recorded_paths import RecordedPath, recorded_paths
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, entity_type, parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.plan import RequiredPrivilege, plan
from ranger_cdap.cdap.profile import ACTIONS, ANY, VISIBLE
from tests.cdap.checks.derive_paths import all_roles, taking_part
from tests.cdap.checks.test_recorded_paths import PATHS
from tests.cdap.checks.test_replay import (
    CHECKS,
    COMMON_OPTIONS,
    PROFILES,
    RECORDED,
    Held,
    Ranger,
    Replayed,
    denied,
    label,
    privilege,
    row_of,
)


@cache
def asked(recorded: str) -> tuple[EntityId, Context]:
    """The entity of a recorded operation, and its context, with the people of the recording."""
    ((row, entity, roles),) = taking_part(recorded)
    runs = any(check.by == "executing" for path in PATHS if path.recorded == recorded for check in path.checks)
    related = all_roles(recorded, row, entity, roles)
    return entity, Context(related, impersonated="alice" if runs else None, master="alice")


def given(needs: Iterable[RequiredPrivilege | AdditionalPrivilege]) -> Iterator[Held]:
    """Every set of privileges by which these are held."""
    needs = list(needs)
    for actions in product(*(ACTIONS if n.actions in ((VISIBLE,), (ANY,)) else n.actions for n in needs)):
        yield frozenset((need.person, action, need.entity) for need, action in zip(needs, actions, strict=True))


def least(needs: Iterable[RequiredPrivilege | AdditionalPrivilege]) -> Held:
    return frozenset((need.person, weakest(need.actions), need.entity) for need in needs)


def about(entity: EntityId, context: Context) -> set[EntityId | EntityPattern]:
    return {entity, *context.related.get("artifact", ())}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.recorded)
def test_with_the_additional_privileges_every_recorded_call_passes(profile: str, path: RecordedPath) -> None:
    entity, context = asked(path.recorded)
    row, calls = row_of(path.operation, profile), RECORDED[path.recorded].calls
    found = additional_privileges(PROFILES[profile], row, entity, "alice", context, paths=[path])
    alternatives = plan(row, entity, "alice", context)

    assert found.recorded == (path.recorded,)
    assert len(found.alternatives) == len(alternatives) > 0
    for needs, more in zip(alternatives, found.alternatives, strict=True):
        for held in given([*needs, *more]):
            assert denied(held, calls, about=about(entity, context), profile=profile) == []
        own, added = least(needs), least(more)
        for one in added - own:
            assert denied((own | added) - {one}, calls, about=about(entity, context), profile=profile), one


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.recorded)
def test_all_paths_of_an_operation_together_take_no_more_than_they_need(profile: str, path: RecordedPath) -> None:
    entity, context = asked(path.recorded)
    row = row_of(path.operation, profile)
    found = additional_privileges(PROFILES[profile], row, entity, "alice", context)
    fitting = [p for p in recorded_paths(row.name) if p.fits(context.related, impersonated=bool(context.effective))]

    assert path in fitting
    assert found.recorded == tuple(each.recorded for each in fitting)
    for needs, more in zip(plan(row, entity, "alice", context), found.alternatives, strict=True):
        held = least([*needs, *more])
        assert denied(held, RECORDED[path.recorded].calls, about=about(entity, context), profile=profile) == []
        assert failing(held, fitting, entity, context, profile) == set()
        for one in more:
            without = held - (least([one]) - least(needs))
            expected = {(each.check, each.entity) for each in one.asked}
            assert failing(without, fitting, entity, context, profile) == expected or without == held
            assert one.asked
            assert set(one.recorded) <= set(found.recorded)


def failing(
    held: Held,
    paths: Iterable[RecordedPath],
    entity: EntityId,
    context: Context,
    profile: str,
    options: Options = Options(),  # noqa: B008 a frozen value
) -> set[tuple[object, object]]:
    """The checks of the paths that are denied, on the entities of this operation, by the engine."""
    ranger, table, found = Ranger(held, profile), CHECKS[profile], set()
    for check in (check for path in paths for check in path.checks):
        on: Iterable[EntityId | EntityPattern] = context.related.get(check.on, ())
        if check.on == "entity" or ":" in check.on:
            on = [entity if check.on == "entity" else parse_entity(check.on)]
        elif above := entity.ancestor(check.on):
            on = [above]
        person = {"requesting": "alice", "executing": context.effective or context.master}.get(check.by, "svc")
        for target in on:
            one = EntityId(target.type, tuple(part.replace("*", "") for part in target.parts))
            name = entity_type(one.type).cdap_names[0]
            asks = CdapCheck(name, one.parts or ("",), check.permissions, check.child, check.hint)
            rows = [(each.operation, each.entity) for each in ([] if check.visible else table.resolve(asks).operations)]
            passed = [compose(row, at, person, ranger.ask, options=options).allowed for row, at in rows]
            if check.visible:
                listed = options.applied_to(table.list_row(one.type))
                passed = [visibility(listed, one, person, ranger.ask).visible]
            if not all(passed):
                found.add((check, target))
    return found


OPTIONS = [Options(*given) for given in product((False, True), repeat=4)]


# With `visible_only`, CDAP's checks of lists cannot be decided in 000: its rows are of the parent, the option adds the
# entity.
WITH_OPTIONS = [
    (profile, options)
    for profile, options in product(["default", "000", "003", "cdap-6"], OPTIONS)
    if not (profile == "000" and options.visible_only)
]


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "options"), WITH_OPTIONS, ids=str)
def test_it_is_enough_and_no_more_with_every_option(profile: str, options: Options) -> None:
    for path in PATHS:
        entity, context = asked(path.recorded)
        row = row_of(path.operation, profile)
        found = additional_privileges(PROFILES[profile], row, entity, "alice", context, options, paths=[path])
        for needs, more in zip(plan(row, entity, "alice", context, options), found.alternatives, strict=True):
            held = least([*needs, *more])
            assert failing(held, [path], entity, context, profile, options) == set()
            for one in more:
                # With `inherit`, READ on a namespace is enough where READ, WRITE or ADMIN on it is needed as well.
                rest = [*needs, *(other for other in more if other is not one)]
                ways = (way for way in given(rest) if options.inherit or way == least(rest))
                assert least([one]) <= least(needs) or any(
                    failing(way, [path], entity, context, profile, options) for way in ways
                )


# What two people wrote down of each recording, against what is worked out.
WRITTEN_DOWN = [(profile, one) for profile, one in COMMON_OPTIONS if not one.by_parent]


@pytest.mark.parametrize(("profile", "replayed"), WRITTEN_DOWN, ids=[label(*one) for one in WRITTEN_DOWN])
def test_it_is_what_the_file_of_the_recordings_says_cdap_asks_besides(profile: str, replayed: Replayed) -> None:
    names = replayed.calls_of or (replayed.recorded,)
    paths = [path for path in PATHS if path.recorded in names]
    if not paths:
        return  # the checks of an earlier recording
    entity, context = asked(paths[-1].recorded)
    row = row_of(replayed.row, profile)
    found = additional_privileges(PROFILES[profile], row, entity, "alice", context, paths=paths)
    number = replayed.alternative or 0
    more, needs = found.alternatives[number], plan(row, entity, "alice", context)[number]
    also = {(person, on): action for person, action, on in set(map(privilege, replayed.also)) - least(needs)}

    assert {(one.person, one.entity) for one in more} == set(also)
    for one in more:
        assert also[one.person, one.entity] in (one.actions if one.actions != (ANY,) else ACTIONS)


def additional(operation: str, entity: str, context: Context = Context(), profile: str = "default") -> list[str]:  # noqa: B008
    row = row_of(operation, profile)
    found = additional_privileges(PROFILES[profile], row, parse_entity(entity), "alice", context)
    return [f"{'|'.join(one.actions)} {one.entity} by {one.person}" for one in found.alternatives[0]]


def test_an_operation_that_was_not_recorded_has_nothing_additional_and_says_so() -> None:
    row = row_of("namespace.enable_wrangler", "default")
    found = additional_privileges(PROFILES["default"], row, parse_entity("namespace:ns1"), "alice")
    assert (found.recorded, found.alternatives, found.depends_on, found.unnamed) == ((), ((),), (), ())


def test_checks_of_entities_that_take_no_part_are_left_out() -> None:
    programs = {"programs": (parse_entity("program:ns1.app.workflow.W"), parse_entity("program:ns1.app.workflow.V"))}
    assert additional("application.schedule", "application:ns1.app") == []
    assert additional("application.schedule", "application:ns1.app", Context(programs)) == [
        "READ program:ns1.app.workflow.W by alice",
        "READ application:ns1.app by alice",
        "READ program:ns1.app.workflow.V by alice",
    ]


@pytest.mark.parametrize("pattern", ["program:ns1.app.*", "program:ns1.*.worker.*", "program:ns1.app.workflow.W*"])
def test_a_pattern_stays_one(pattern: str) -> None:
    found = additional("application.schedule", "application:ns1.app", Context({"programs": (parse_pattern(pattern),)}))
    assert f"READ {pattern} by alice" in found


def test_a_wider_pattern_that_is_held_covers_what_is_asked() -> None:
    created = {"created_datasets": (parse_entity("dataset:ns1.local1"),)}
    start = ("program.start", "program:ns1.app.worker.W")
    assert additional(*start, Context(created)) == ["READ dataset:ns1.local1 by cdap"]
    for pattern, covered in (("dataset:ns1.loc*", True), ("dataset:ns1.*2", False), ("dataset:ns2.*", False)):
        local = {"local_datasets": (parse_pattern(pattern),)}
        assert ("READ dataset:ns1.local1 by cdap" not in additional(*start, Context(created | local))) is covered


@pytest.mark.parametrize("impersonated", ["svc", None])
def test_what_a_program_does_is_asked_of_who_runs_it(impersonated: str | None) -> None:
    context = Context({"created_datasets": (parse_entity("dataset:ns1.d"),)}, impersonated, "cdap")
    found = additional("program.start", "program:ns1.app.worker.W", context)
    assert found == [f"READ dataset:ns1.d by {impersonated or 'cdap'}"]


def test_the_way_to_deploy_must_be_known() -> None:
    row, entity = row_of("application.deploy", "default"), parse_entity("application:ns1.app")

    def found(context: Context) -> tuple[tuple[str, ...], tuple[str, ...]]:
        more = additional_privileges(PROFILES["default"], row, entity, "alice", context)
        return more.recorded, more.depends_on

    artifact = (parse_entity("artifact:ns1.app"),)
    assert found(Context()) == ((), ("artifact", "jar"))
    assert found(Context({"artifact": artifact}))[1] == ()
    assert all("redeploy" in name or "from artifact" in name for name in found(Context({"artifact": artifact}))[0])
    assert found(Context({"jar": artifact}))[0] == ("application.deploy(jar upload)",)
    assert found(Context({"jar": artifact}, "svc")) == ((), ())
    assert all(name.startswith("IMP ") for name in found(Context({"artifact": artifact}, "svc"))[0])


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (("ADMIN", "READ"), "READ"),
        (("ADMIN",), "ADMIN"),
        ((ANY,), "READ"),
        ((VISIBLE,), "READ"),
        (("WRITE", "EXECUTE"), "EXECUTE"),
    ],
)
def test_the_weakest_action_is_the_one_that_shows_least(actions: tuple[str, ...], expected: str) -> None:
    assert weakest(actions) == expected


@pytest.mark.parametrize(
    ("operation", "entity", "chosen"),
    [
        ("namespace.create", "namespace:ns1", "ADMIN namespace:ns1"),
        ("dataset.create", "dataset:ns1.kv", "ADMIN dataset:ns1.kv"),
        ("dataset_type.get", "dataset_type:ns1.t", "READ dataset_type:ns1.t, READ namespace:ns1"),
    ],
)
def test_the_alternative_on_the_narrowest_entity_gives_least(operation: str, entity: str, chosen: str) -> None:
    alternatives = plan(row_of(operation, "default"), parse_entity(entity), "alice")
    best = alternatives[cheapest(alternatives)]
    assert len(alternatives) > 1
    assert sorted(f"{weakest(one.actions)} {one.entity}" for one in best) == chosen.split(", ")
    assert best in (alternatives[cheapest(alternatives[::-1]) * -1 - 1],)
    assert cheapest([*alternatives, *alternatives]) == cheapest(alternatives)
