"""What a real CDAP asked, held against the rows: exactly what a row asks for gets through, and nothing less does.

`tests/data/cdap-enforce-calls.jsonl` are the calls that a CDAP 6.11.1 made for each REST operation: started in memory
with an authorizer that answers and records (cdap-facts.md §3.1), here without repetitions, threads and random versions.
`tests/data/cdap-enforce-other-calls.jsonl` are the remaining checks of that recording: the same questions by other
methods. `tests/data/cdap-enforce-operations.toml` says which row each operation is, and where CDAP asks for more than
the row, or less, with the reason. Ranger's part is the real engine with ordinary policies.
"""

import tomllib
from collections.abc import Collection, Iterator
from itertools import filterfalse, product
from pathlib import Path

import msgspec
import pytest

import servicedef
from ranger_cdap.cdap.answer import Answer, compose, visibility
from ranger_cdap.cdap.checks.check_table import own_row
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable
from ranger_cdap.cdap.checks.master import MasterCreate, Previews, decide_create
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, ResolvedEntity, parse_entity, resolve_entity, to_resource
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import ACTIONS, VISIBLE, Operation, load_profile, profile_names
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, Decision, MatchingScope, PolicyEngine
from ranger_cdap.ranger_model.decode import decode_service_policies

DATA = Path(__file__).parents[2] / "data"
DEFAULT = "default"
PROFILES = {name: load_profile(name) for name in profile_names()}
CHECKS = {name: CheckTable(profile) for name, profile in PROFILES.items()}

Held = frozenset[tuple[str, str, EntityId | EntityPattern]]
"""Privileges: of whom, the action, on what."""


class Call(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A call of the authorizer: whether a person has permissions on an entity, or which entities are visible."""

    by: str
    entity: tuple[str, tuple[str, ...]] = ("", ())
    permissions: tuple[str, ...] = ()
    child: str | None = None
    hint: str = ""
    visible: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def check(self) -> CdapCheck:
        return CdapCheck(*self.entity, self.permissions, self.child, self.hint)


class Recorded(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A REST operation and the calls it made."""

    operation: str
    calls: tuple[Call, ...]
    request: str = ""
    status: int = 0


class Replayed(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How a recorded operation is held against its row, in some profiles or (none named) in all of them."""

    recorded: str
    row: str
    entity: str
    involved: dict[str, tuple[str, ...]] = msgspec.field(default={}, name="with")
    alternative: int | None = None
    calls_of: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    because: str = ""
    profiles: tuple[str, ...] = ()
    by_parent: bool = False


class Operations(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The file that says which row each recorded operation is."""

    exact: list[tuple[str, str, str]]
    listed_by_parent: list[tuple[str, str, str]]
    types_of_cdap: frozenset[str]
    seen: list[str]
    unchecked: dict[str, str]
    more: list[Replayed]

    def replayed(self) -> list[Replayed]:
        exact = [Replayed(*entry) for entry in self.exact]
        return [*exact, *(Replayed(*entry, by_parent=True) for entry in self.listed_by_parent), *self.more]

    def of_profile(self, profile: str) -> list[Replayed]:
        """Those of a profile: what is said of it alone goes before what is exact everywhere else."""
        own = {one.recorded for one in self.more if profile in one.profiles}
        return [one for one in self.replayed() if profile in one.profiles or not (one.profiles or one.recorded in own)]


RECORDED = {
    recorded.operation: recorded
    for line in (DATA / "cdap-enforce-calls.jsonl").read_bytes().splitlines()
    if (recorded := msgspec.json.decode(line, type=Recorded))
}
OTHER_CALLS = [
    msgspec.json.decode(line, type=Call) for line in (DATA / "cdap-enforce-other-calls.jsonl").read_bytes().splitlines()
]
OPERATIONS = msgspec.convert(tomllib.loads((DATA / "cdap-enforce-operations.toml").read_text()), Operations)


class Ranger:
    """The real engine with the ordinary policies that give these privileges, and nothing else."""

    def __init__(self, held: Held, profile: str = DEFAULT) -> None:
        self._checks = CHECKS[profile]
        accesses: dict[tuple[str, EntityId | EntityPattern], list[str]] = {}
        for person, action, entity in sorted(held, key=str):
            accesses.setdefault((person, entity), []).append(action.lower())
        document = {
            "serviceName": "cdapdev",
            "policyVersion": 1,
            "policies": [
                {
                    "id": number,
                    "version": 1,
                    "name": str(number),
                    "resources": {
                        level: {"values": [value]}
                        for level, value in to_resource(EntityId(entity.type, entity.parts), "cdap").items()
                    },
                    "policyItems": [{"users": [person], "accesses": [{"type": access} for access in given]}],
                }
                for number, ((person, entity), given) in enumerate(accesses.items(), start=1)
            ],
            "serviceDef": servicedef.service_definition(),
        }
        self._engine = PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))

    def ask(self, person: str, entity: EntityId, action: str) -> Decision:
        return self._engine.evaluate(
            AccessRequest(
                resource=to_resource(entity, "cdap"),
                access_type=ANY_ACCESS if action in ("ANY", VISIBLE) else action.lower(),
                user=person,
                access_time=1_800_000_000_000,
                matching_scope=MatchingScope.SELF_OR_DESCENDANTS if action == VISIBLE else MatchingScope.SELF,
            )
        )

    def answers(self, person: str, check: CdapCheck) -> list[Answer]:
        operations = self._checks.resolve(check).operations
        return [compose(each.operation, each.entity, person, self.ask) for each in operations]

    def shows(self, person: str, entity: EntityId) -> bool:
        """Whether a list shows it."""
        return visibility(self._checks.list_row(entity.type), entity, person, self.ask).visible


def denied(
    held: Held, calls: tuple[Call, ...], *, about: Collection[EntityId | EntityPattern], profile: str = DEFAULT
) -> list[str]:
    """The calls that are denied to those who hold these privileges.

    Of the entities CDAP asks to see, those the operation is `about` must be seen; what else a list shows is no matter.
    A denial that CDAP does not pass on is none.
    """
    ranger = Ranger(held, profile)
    reasons = []
    for call in filterfalse(is_for_a_type_of_cdap, calls):
        for kind, parts in call.visible:
            entity = resolve_entity(kind, parts).entity
            if entity in about and not ranger.shows(call.by, entity):
                reasons.append(f"{call.by} does not see {entity}")
        if not call.visible:
            reasons += [answer.reason for answer in ranger.answers(call.by, call.check) if not answer.allowed]
    return reasons


def is_for_a_type_of_cdap(call: Call) -> bool:
    kind, parts = call.entity
    return kind == "DATASET_TYPE" and parts[-1] in OPERATIONS.types_of_cdap and call.permissions == ("STANDARD.GET",)


def row_of(name: str, profile: str) -> Operation:
    kind, _, verb = name.partition(".")
    return PROFILES[profile].rows.get(name) or own_row(kind, verb) or PROFILES[profile].operation(name)


def related(replayed: Replayed) -> dict[str, tuple[EntityId | EntityPattern, ...]]:
    return {role: tuple(map(parse_pattern, texts)) for role, texts in replayed.involved.items()}


def ways(replayed: Replayed, profile: str) -> Iterator[Held]:
    """Every set of privileges that is exactly what the row asks for, and what CDAP asks for besides."""
    # The recorded CDAP ran programs in its own process, as who started them.
    context = Context(related(replayed), master="alice")
    row = row_of(replayed.row, profile)
    options = Options(list_by_parent=replayed.by_parent and row.lists == "each")
    alternatives = plan(row, parse_entity(replayed.entity), "alice", context, options)
    also = frozenset(map(privilege, replayed.also))
    for number, needs in enumerate(alternatives):
        if replayed.alternative in (None, number):
            for actions in product(*(ACTIONS if need.actions == (VISIBLE,) else need.actions for need in needs)):
                held = {(need.person, action, need.entity) for need, action in zip(needs, actions, strict=True)}
                yield also | held


def privilege(text: str) -> tuple[str, str, EntityId | EntityPattern]:
    """`READ dataset:ns1.kv`, `READ dataset:ns1.kv by svc`."""
    words, _, person = text.partition(" by ")
    action, _, entity = words.partition(" ")
    return person or "alice", action, parse_pattern(entity)


def calls_of(replayed: Replayed) -> tuple[Call, ...]:
    return tuple(call for name in replayed.calls_of or (replayed.recorded,) for call in RECORDED[name].calls)


def label(profile: str, replayed: Replayed) -> str:
    alternative = "" if replayed.alternative is None else f" {replayed.alternative}"
    return f"{profile} {replayed.recorded}{alternative}"


REPLAYED = OPERATIONS.replayed()
COMMON_OPTIONS = [(name, one) for name in PROFILES for one in OPERATIONS.of_profile(name)]


@pytest.mark.parametrize(("profile", "replayed"), COMMON_OPTIONS, ids=[label(*one) for one in COMMON_OPTIONS])
def test_exactly_what_the_row_asks_for_gets_through_and_nothing_less(profile: str, replayed: Replayed) -> None:
    calls = calls_of(replayed)
    all_ways = list(ways(replayed, profile))
    unasked = set(map(privilege, replayed.unasked))
    about = {parse_entity(replayed.entity), *related(replayed).get("artifact", ())}

    assert all_ways
    for held in all_ways:
        assert denied(frozenset(), calls, about=about, profile=profile)
        assert denied(held, calls, about=about, profile=profile) == []
        assert unasked <= held
        for one in held:
            is_asked = bool(denied(held - {one}, calls, about=about, profile=profile))
            assert is_asked is (one not in unasked), f"{one[1]} on {one[2]} by {one[0]}"


@pytest.mark.parametrize("profile", PROFILES)
def test_every_recorded_operation_is_held_against_the_row_of_every_profile(profile: str) -> None:
    held = {name for one in OPERATIONS.of_profile(profile) for name in (one.recorded, *one.calls_of)}
    # 004, 005 and the default profile say what a running program and an impersonated deployment take; others do not.
    running = {
        name
        for name in RECORDED
        if name.startswith(("program.run", "IMP ")) and profile not in (DEFAULT, "004", "cdap-6")
    }

    assert {*held, *OPERATIONS.seen, *OPERATIONS.unchecked} >= set(RECORDED) - running


def test_the_types_that_take_no_privilege_are_those_no_application_brought_along() -> None:
    calls = [call for recorded in RECORDED.values() for call in recorded.calls]
    asked = {call.entity[1][-1] for call in calls if call.entity[0] == "DATASET_TYPE"}
    created = {call.entity[1][-1] for call in calls if call.entity[0] == "DATASET_MODULE"}

    assert asked - created == OPERATIONS.types_of_cdap


@pytest.mark.parametrize("name", OPERATIONS.seen)
def test_where_only_the_namespace_must_be_seen_any_privilege_in_it_will_do(name: str) -> None:
    calls = RECORDED[name].calls
    namespace = resolve_entity(*calls[0].entity).entity
    inside, outside = (
        frozenset({("alice", "EXECUTE", EntityId("dataset", (name, "some")))}) for name in (*namespace.parts, "other")
    )

    assert denied(frozenset(), calls, about=())
    assert denied(inside, calls, about=()) == []
    assert denied(outside, calls, about=())


def test_every_recorded_operation_is_held_against_a_row_or_has_a_reason_why_not() -> None:
    told = [name for replayed in REPLAYED for name in (replayed.recorded, *replayed.calls_of)]

    assert {*told, *OPERATIONS.seen, *OPERATIONS.unchecked} == set(RECORDED)
    assert not {*told, *OPERATIONS.seen} & set(OPERATIONS.unchecked)
    assert all(replayed.because for replayed in OPERATIONS.more)


@pytest.mark.parametrize("profile", profile_names())
def test_every_recorded_call_is_known_to_the_table(profile: str) -> None:
    checks = CheckTable(load_profile(profile))
    recorded = [call for recorded in RECORDED.values() for call in recorded.calls if not call.visible]

    assert len(recorded) > 200
    for call in (*recorded, *OTHER_CALLS):
        resolved = checks.resolve(call.check)
        assert resolved.operations, call
        assert not resolved.unknown, call


# The jar upload as CDAP does it by default: the user's name is lost after the first bytes of the body, so that all
# checks but those on the namespace come from the master user (cdap-facts.md §3.6).

ROOT_HAS_ALL: Held = frozenset(
    ("root", action, EntityPattern(kind, ("ns1", "*")))
    for action in ("READ", "WRITE", "ADMIN", "EXECUTE")
    for kind in ("artifact", "application", "dataset", "dataset_module", "dataset_type")
) | frozenset(("root", action, parse_entity("namespace:ns1")) for action in ("READ", "WRITE", "ADMIN", "EXECUTE"))


def target(check: CdapCheck) -> ResolvedEntity:
    return resolve_entity(check.entity_type, check.id_parts)


def uploaded(application: str, held: Held, mode: MasterCreate, *, previews: bool) -> list[str]:
    """What is denied of a jar upload by alice, after which the master user finishes it."""
    ranger = Ranger(held)
    remembered = Previews()
    asks = CdapCheck("APPLICATION", ("ns1", application, "-SNAPSHOT"), ("APPLICATION.PREVIEW",))
    if previews and all(answer.allowed for answer in ranger.answers("alice", asks)):
        remembered = remembered.remember(asks, target(asks), "alice", "root", 0)
    reasons = []
    for call in RECORDED["application.deploy(jar upload)"].calls:
        kind, parts = call.entity
        parts = ("ns1", application, parts[2]) if kind == "APPLICATION" else parts
        check = CdapCheck(kind, parts, call.permissions, call.child, call.hint)
        by = "alice" if kind == "NAMESPACE" else "root"
        if by == "root":
            decision = decide_create(mode, check, target(check).entity, remembered, 1)
            remembered = decision.previews
            if decision.allowed is not None:
                reasons += [] if decision.allowed else [f"{kind} {decision.reason}"]
                continue
        reasons += [answer.reason for answer in ranger.answers(by, check) if not answer.allowed]
    return reasons


UUID = "a1eab252-e560-11f1-bfd0-02fc00000001"
SEES_THE_NAMESPACE = ROOT_HAS_ALL | {("alice", "READ", parse_entity("dataset:ns1.kv"))}
MAY_DEPLOY = ROOT_HAS_ALL | {
    ("alice", action, parse_entity("namespace:ns1")) for action in ("READ", "WRITE", "EXECUTE")
}


@pytest.mark.parametrize("application", ["ProbeApp", UUID])
@pytest.mark.parametrize("previews", [False, True])
@pytest.mark.parametrize("mode", [MasterCreate.DENY, MasterCreate.PREVIEW])
def test_who_may_not_write_the_namespace_can_not_deploy_by_uploading_a_jar(
    application: str, previews: bool, mode: MasterCreate
) -> None:
    reasons = uploaded(application, SEES_THE_NAMESPACE, mode, previews=previews)

    assert [reason.partition(" ")[0] for reason in reasons] == ["ARTIFACT", "APPLICATION"]


def test_not_even_an_allowed_preview_lets_a_jar_in() -> None:
    reasons = uploaded(UUID, MAY_DEPLOY, MasterCreate.PREVIEW, previews=True)

    assert [reason.partition(" ")[0] for reason in reasons] == ["ARTIFACT"]


def test_allow_lets_everybody_deploy_who_sees_the_namespace() -> None:
    assert uploaded("ProbeApp", SEES_THE_NAMESPACE, MasterCreate.ALLOW, previews=False) == []


def test_a_preview_starts_and_makes_no_module_and_datasets_by_policies_only() -> None:
    start = RECORDED["preview.start"].calls[0]
    remembered = Previews().remember(start.check, target(start.check), start.by, "root", 0)
    decided = []
    for call in RECORDED["preview.run"].calls:
        if call.permissions == ("STANDARD.CREATE",):
            decision = decide_create(MasterCreate.PREVIEW, call.check, target(call.check).entity, remembered, 1)
            remembered = decision.previews
            decided.append((call.entity[0], decision.allowed))

    assert decided == [
        ("NAMESPACE", True),
        ("APPLICATION", True),
        ("DATASET_MODULE", False),
        ("DATASET", None),
    ]
