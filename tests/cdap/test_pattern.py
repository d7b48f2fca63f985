"""Patterns: what document 004 writes with a star is allowed by policies that cover all of it, and by no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.answer import compose
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.profile import Operation, load_profile, parse_privilege
from ranger_cdap.errors import InvalidEntity, UnknownEntityType
from tests.cdap.fixtures import granted

# A pattern, the names a policy has there, and whether the policy covers the pattern.
COVERED = [
    ("program:ns1.Shop.*", "program:ns1.Shop.*", True),
    ("program:ns1.Shop.*", "program:ns1.*.*", True),
    ("program:ns1.Shop.*", "program:*.*.*", True),
    ("program:ns1.Shop.*", "program:ns1.Sh*.*", True),
    ("program:ns1.Shop.*", "application:ns1.Shop", False),
    ("program:ns1.Shop.*", "program:ns1.Shop.workflow.W", False),
    ("program:ns1.Shop.*", "program:ns1.Shop.workflow.*", False),
    ("program:ns1.Shop.*", "program:ns1.Shop.?", False),
    ("program:ns1.Shop.*", "program:ns1.Shop.?*", False),
    ("program:ns1.Shop.*", "program:ns1.Other.*", False),
    ("dataset:ns1.local*", "dataset:ns1.local*", True),
    ("dataset:ns1.local*", "dataset:ns1.lo*", True),
    ("dataset:ns1.local*", "dataset:ns1.*", True),
    ("dataset:ns1.local*", "dataset:*.*", True),
    ("dataset:ns1.local*", "dataset:ns1.local", False),
    ("dataset:ns1.local*", "dataset:ns1.local?", False),
    ("dataset:ns1.local*", "dataset:ns1.local,local?", False),
    ("dataset:ns1.local*", "dataset:ns1.local?*", False),
    ("dataset:ns1.local*", "dataset:ns1.local.*", False),
    ("dataset:ns1.local*", "dataset:ns1.locals*", False),
    ("dataset:ns1.local*", "dataset:ns1.local.3f0a", False),
    ("dataset:ns1.local*", "dataset:ns2.local*", False),
    ("dataset_type:ns1.*WorkspaceDataset", "dataset_type:ns1.*WorkspaceDataset", True),
    ("dataset_type:ns1.*WorkspaceDataset", "dataset_type:ns1.*Dataset", True),
    ("dataset_type:ns1.*WorkspaceDataset", "dataset_type:ns1.*", True),
    ("dataset_type:ns1.*WorkspaceDataset", "dataset_type:ns1.?WorkspaceDataset", False),
    ("dataset_type:ns1.*WorkspaceDataset", "dataset_type:ns1.co.cask.wrangler.WorkspaceDataset", False),
    ("dataset_type:ns1.*WorkspaceDataset", "dataset_type:ns1.*OtherWorkspaceDataset", False),
    ("dataset_type:ns1.*WorkspaceDataset", "dataset_module:ns1.*WorkspaceDataset", False),
]


@pytest.mark.parametrize(("pattern", "policy", "covered"), COVERED)
def test_a_pattern_is_allowed_by_what_covers_all_of_it(pattern: str, policy: str, covered: bool) -> None:
    asked = parse_pattern(pattern)
    role = {"program": "programs", "dataset": "datasets", "dataset_type": "types"}[asked.type]
    row = Operation("namespace.probe", "namespace", ("S004-R1",), ((parse_privilege(f"ADMIN {role}"),),))

    answer = compose(
        row, parse_entity("namespace:ns1"), "ann", granted(f"ann ADMIN {policy}"), Context({role: (asked,)})
    )

    assert answer.allowed is covered
    assert [str(m) for m in answer.missing] == ([] if covered else [f"ann needs ADMIN on {pattern}"])


def test_a_pipeline_runs_by_execute_on_all_its_programs() -> None:
    row = load_profile("004").operation("application.start_pipeline")
    pipeline = parse_entity("application:ns1.Copy")

    assert compose(row, pipeline, "ann", granted("ann EXECUTE program:ns1.Copy.*")).allowed
    one = compose(row, pipeline, "ann", granted("ann EXECUTE program:ns1.Copy.workflow.DataPipelineWorkflow"))
    assert one.reason == "ann needs EXECUTE on program:ns1.Copy.*"


def test_a_denial_of_something_a_partial_pattern_covers_whole_denies_the_pattern() -> None:
    row = load_profile("004").operation("program.start")
    entity = parse_entity("program:ns1.Shop.workflow.W")
    context = Context({"local_datasets": (parse_pattern("dataset:ns1.local*"),)})
    held = ["ann EXECUTE program:ns1.Shop.workflow.W", "cdap READ|WRITE|ADMIN dataset:ns1.*"]

    assert compose(row, entity, "ann", granted(*held), context).allowed
    answer = compose(row, entity, "ann", granted(*held, denied=["cdap WRITE dataset:ns1.loc*"]), context)
    assert answer.reason == "cdap (the CDAP master user) needs WRITE on dataset:ns1.local*"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dataset:ns1.a", EntityId("dataset", ("ns1", "a"))),
        ("dataset:ns1.a*", EntityPattern("dataset", ("ns1", "a*"))),
        ("program:ns1.Shop.*", EntityPattern("program", ("ns1", "Shop", "*"))),
        ("program:ns1.Shop.workflow.*", EntityPattern("program", ("ns1", "Shop", "workflow.*"))),
        ("dataset_type:ns1.*com.Type", EntityPattern("dataset_type", ("ns1", "*com.Type"))),
        ("instance:", EntityId("instance", ())),
    ],
)
def test_a_pattern_is_written_as_it_is_read(text: str, wanted: EntityId | EntityPattern) -> None:
    assert parse_pattern(text) == wanted
    assert str(wanted) == text


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("dataset", InvalidEntity, "write it as type:name"),
        ("datset:ns1.a*", UnknownEntityType, "did you mean `dataset`"),
        ("dataset:ns1*", InvalidEntity, "needs 2 parts"),
        ("dataset:ns1.a?*", InvalidEntity, "`a\\?\\*` is not a pattern"),
        ("dataset:ns1.a/*", InvalidEntity, "`a/\\*` is not a pattern"),
        ("application:ns1.a.b*", InvalidEntity, "`a.b\\*` is not a pattern"),
        ("program:ns1.Shop.flow*", InvalidEntity, "is not a pattern of names that CDAP allows for a program"),
        ("dataset:ns1.~", InvalidEntity, "`~` is not a name"),
    ],
)
def test_a_text_that_is_no_pattern_is_refused(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_pattern(text)


def test_wildcards_give_everything_in_a_namespace() -> None:
    kinds = ("artifact", "application", "dataset", "dataset_module", "dataset_type")
    everything = "ann READ|WRITE|ADMIN|EXECUTE"
    ask = granted(
        f"{everything} namespace:ns1",
        f"{everything} program:ns1.*.*",
        *(f"{everything} {kind}:ns1.*" for kind in kinds),
    )
    table = load_profile("004")
    context = Context(
        {
            "jar": (parse_entity("artifact:ns1.shop"),),
            "datasets": (parse_entity("dataset:ns1.new"),),
            "modules": (parse_entity("dataset_module:ns1.com.shop.New"),),
            "types": (parse_entity("dataset_type:ns1.com.shop.New"),),
        },
        master="ann",
    )

    def may(operation: str, entity: str) -> bool:
        return compose(table.operation(operation), parse_entity(entity), "ann", ask, context).allowed

    inside = [
        ("application.deploy", "application:ns1.Shop"),
        ("application.start_pipeline", "application:ns1.Copy"),
        ("namespace.enable_wrangler", "namespace:ns1"),
        ("dataset.drop", "dataset:ns1.old"),
    ]
    assert [case for case in inside if not may(*case)] == []
    assert not any(may(operation, entity.replace("ns1", "ns2")) for operation, entity in inside)


small = st.text("ab", max_size=3)


@given(st.text("ab*?", min_size=1, max_size=5), st.builds("{}*{}".format, small, small), st.text("ab.0", max_size=6))
def test_what_is_allowed_on_a_pattern_is_allowed_on_every_entity_it_matches(
    policy: str, pattern: str, middle: str
) -> None:
    ask = granted(f"ann ADMIN dataset:ns1.{policy}")
    row = Operation("namespace.probe", "namespace", ("S004-R1",), ((parse_privilege("ADMIN datasets"),),))

    def allowed(name: str) -> bool:
        context = Context({"datasets": (parse_pattern(f"dataset:ns1.{name}"),)})
        return compose(row, parse_entity("namespace:ns1"), "ann", ask, context).allowed

    entity = pattern.replace("*", middle)
    if entity and allowed(pattern):
        assert allowed(entity)
