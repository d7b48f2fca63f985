"""Patterns: what document 004 writes with a star is allowed by policies that cover all of it, and by no other."""

import re
from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.cdap.answer import Answer, compose
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import PROGRAM_TYPES, EntityId, parse_entity
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.profile import Operation, load_profile, parse_privilege
from ranger_cdap.engine import PolicyEngine, decode_service_policies, decode_service_tags
from ranger_cdap.errors import InvalidEntity, UnknownEntityType
from tests.cdap.fixtures import Policies, granted

MATCHER = "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher"

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
    # Every program has a name, and a type before the dot: these cover all of them, as `*` does.
    ("program:ns1.Shop.*", "program:ns1.Shop.?*", True),
    ("program:ns1.Shop.*", "program:ns1.Shop.*.*", True),
    ("program:ns1.Shop.*", "program:ns1.Shop.?*.?*", True),
    ("program:ns1.Shop.*", "program:?*.?*.?*", True),
    ("program:ns1.Shop.*", f"program:ns1.Shop.{','.join(f'{kind}.*' for kind in sorted(PROGRAM_TYPES))}", True),
    ("program:ns1.Shop.*", f"program:ns1.Shop.{','.join(f'{kind}.*' for kind in sorted(PROGRAM_TYPES)[1:])}", False),
    ("program:ns1.Shop.*", "program:ns1.Shop.???????????*", False),
    ("program:ns1.Shop.workflow.*", "program:ns1.Shop.?*", True),
    ("program:ns1.Shop.workflow.*", "program:ns1.Shop.w*", True),
    ("program:ns1.Shop.*", "program:ns1.Other.*", False),
    ("program:ns1.*.worker.W", "program:ns1.?*.worker.W", True),
    ("program:ns1.*.worker.W", "program:ns1.S*.worker.W", False),
    ("dataset:*.local*", "dataset:?*.loc*", True),
    ("dataset:*.local*", "dataset:ns*.loc*", False),
    ("dataset:ns1.local*", "dataset:ns1.local*", True),
    ("dataset:ns1.local*", "dataset:ns1.lo*", True),
    ("dataset:ns1.local*", "dataset:ns1.*", True),
    ("dataset:ns1.local*", "dataset:*.*", True),
    ("dataset:ns1.*", "dataset:ns1.?*", True),
    ("dataset:ns1.*", "dataset:ns1.?,??*", True),
    ("dataset:ns1.*", "dataset:ns1.?,???*", False),
    ("dataset:ns1.local*", "dataset:ns1.local,local?*", True),
    # As many `?` as a name of some length has letters: other lengths are not covered.
    ("dataset:ns1.local*", f"dataset:ns1.local,local?,local{'?' * 41}", False),
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
    ("dataset_type:ns1.*WorkspaceDataset", "dataset_type:ns1.?*Dataset", True),
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

    ask = granted(f"ann ADMIN {policy}")
    answer = compose(row, parse_entity("namespace:ns1"), "ann", ask, Context({role: (asked,)}), names=ask.names)

    assert answer.allowed is covered
    assert [str(m) for m in answer.missing] == ([] if covered else [f"ann needs ADMIN on {pattern}"])


def test_a_pipeline_runs_by_execute_on_all_its_programs() -> None:
    row = load_profile("004").operation("application.start_pipeline")
    pipeline = parse_entity("application:ns1.Copy")

    def started(*privileges: str) -> Answer:
        ask = granted(*privileges)
        return compose(row, pipeline, "ann", ask, names=ask.names)

    assert started("ann EXECUTE program:ns1.Copy.*").allowed
    assert started("ann EXECUTE program:ns1.Copy.?*").allowed
    one = started("ann EXECUTE program:ns1.Copy.workflow.DataPipelineWorkflow")
    assert one.reason == "ann needs EXECUTE on program:ns1.Copy.*"
    # Some other program decides.
    (denied,) = one.decided_by
    assert denied.decided_on == parse_entity("program:ns1.Copy.flow.a")


def test_a_denial_of_something_a_pattern_covers_denies_the_pattern() -> None:
    row = load_profile("004").operation("program.start")
    entity = parse_entity("program:ns1.Shop.workflow.W")
    context = Context({"local_datasets": (parse_pattern("dataset:ns1.local*"),)})
    held = ["ann EXECUTE program:ns1.Shop.workflow.W", "cdap READ|WRITE|ADMIN dataset:ns1.*"]

    for denied in ("loc*", "local.run7"):
        free, bound = granted(*held), granted(*held, denied=[f"cdap WRITE dataset:ns1.{denied}"])
        assert compose(row, entity, "ann", free, context, names=free.names).allowed
        answer = compose(row, entity, "ann", bound, context, names=bound.names)
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
        row = table.operation(operation)
        return compose(row, parse_entity(entity), "ann", ask, context, names=ask.names).allowed

    inside = [
        ("application.deploy", "application:ns1.Shop"),
        ("application.start_pipeline", "application:ns1.Copy"),
        ("namespace.enable_wrangler", "namespace:ns1"),
        ("dataset.drop", "dataset:ns1.old"),
    ]
    assert [case for case in inside if not may(*case)] == []
    assert not any(may(operation, entity.replace("ns1", "ns2")) for operation, entity in inside)


def test_without_the_values_that_policies_name_nothing_is_allowed_on_a_pattern() -> None:
    row = load_profile("004").operation("application.start_pipeline")

    assert not compose(row, parse_entity("application:ns1.Copy"), "ann", granted("ann EXECUTE program:*.*.*")).allowed


def test_what_would_take_too_long_to_tell_is_denied() -> None:
    asked = parse_pattern("dataset:ns1.*")
    row = Operation("namespace.probe", "namespace", ("S004-R1",), ((parse_privilege("ADMIN datasets"),),))
    ask = granted("ann ADMIN dataset:ns1.*", f"bob READ dataset:ns1.{','.join(f'*{n:03}*{n:03}*' for n in range(400))}")

    answer = compose(row, parse_entity("namespace:ns1"), "ann", ask, Context({"datasets": (asked,)}), names=ask.names)

    assert answer.reason == "ann needs ADMIN on dataset:ns1.*"


# All names of up to five letters: longer ones match nothing that a name of five does not, with values this short.
NAMES = ["".join(letters) for length in range(1, 6) for letters in product("ab.", repeat=length)]
VALUES = st.text("ab.*?", min_size=1, max_size=3)
ASKED = st.builds("{}*{}".format, st.text("ab", max_size=1), st.text("ab", max_size=1))


@given(
    asked=ASKED,
    allowing=st.lists(VALUES, min_size=1, max_size=3),
    denying=st.lists(VALUES, max_size=1),
    tagged=st.none() | VALUES,
    zoned=st.none() | VALUES,
)
@settings(max_examples=300)
def test_a_pattern_is_allowed_exactly_if_every_name_of_it_is(
    asked: str, allowing: list[str], denying: list[str], tagged: str | None, zoned: str | None
) -> None:
    """Against brute force: the engine judges each name, with denies, tags and zones."""
    ask = Policies(engine_of(allowing, denying, tagged, zoned))
    pattern = parse_pattern(f"dataset:ns1.{asked}")
    row = Operation("namespace.probe", "namespace", ("S004-R1",), ((parse_privilege("ADMIN datasets"),),))
    matching = re.compile(asked.replace("*", ".*"))

    answer = compose(row, parse_entity("namespace:ns1"), "ann", ask, Context({"datasets": (pattern,)}), names=ask.names)

    each = [
        ask("ann", EntityId("dataset", ("ns1", name)), "ADMIN").allowed for name in NAMES if matching.fullmatch(name)
    ]
    assert answer.allowed is all(each)


def engine_of(allowing: list[str], denying: list[str], tagged: str | None, zoned: str | None) -> PolicyEngine:
    """Policies on datasets of ns1: what is tagged is denied by its tag, what is zoned has a policy of its own."""

    def policy(number: int, values: list[str], *, denies: bool = False) -> dict[str, object]:
        items = [{"users": ["ann"], "accesses": [{"type": "admin"}]}]
        levels = {"instance": ["cdap"], "namespace": ["ns1"], "dataset": values}
        return {
            "id": number,
            "version": 1,
            "name": str(number),
            "resources": {level: {"values": found} for level, found in levels.items()},
            ("denyPolicyItems" if denies else "policyItems"): items,
        }

    policies = [policy(1, allowing), *(policy(2, [value], denies=True) for value in denying)]
    zones = {"z": {"zoneName": "z", "resources": [{"instance": ["cdap"], "namespace": ["ns1"], "dataset": [zoned]}]}}
    zones["z"]["policies"] = [policy(3, ["a*"])]  # type: ignore[assignment]
    tag_policy = {
        "id": 4,
        "version": 1,
        "name": "tag",
        "resources": {"tag": {"values": ["PII"]}},
        "denyPolicyItems": [{"users": ["ann"], "accesses": [{"type": "cdap:admin"}]}],
    }
    tag_def = {
        "name": "tag",
        "resources": [{"name": "tag", "level": 1, "matcher": MATCHER, "matcherOptions": {"wildCard": "true"}}],
        "accessTypes": [{"name": "cdap:admin"}],
        "contextEnrichers": [
            {"name": "TagEnricher", "enricher": "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"}
        ],
    }
    document = {
        "serviceName": "cdapdev",
        "policyVersion": 1,
        "policies": policies,
        "serviceDef": servicedef.service_definition(),
        **({"securityZones": zones} if zoned else {}),
        **({"tagPolicies": {"serviceName": "tags", "serviceDef": tag_def, "policies": [tag_policy]}} if tagged else {}),
    }
    tags = {
        "op": "replace",
        "serviceName": "cdapdev",
        "tagDefinitions": {},
        "tags": {"1": {"type": "PII", "attributes": {}}},
        "serviceResources": [
            {
                "id": 1,
                "resourceElements": {
                    "instance": {"values": ["cdap"]},
                    "namespace": {"values": ["ns1"]},
                    "dataset": {"values": [tagged]},
                },
            }
        ],
        "resourceToTagIds": {"1": [1]},
    }
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(document)),
        tags=decode_service_tags(msgspec.json.encode(tags)) if tagged else None,
    )
