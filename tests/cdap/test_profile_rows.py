"""Every row of every profile, decided by a real engine from ordinary Ranger policies.

Whoever holds exactly the privileges of one alternative is allowed; without any one of them, or with it on a sibling or
only on what lies below, denied. A list shows what its rule says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import msgspec
import pytest

import servicedef
from ranger_cdap.cdap.answer import compose
from ranger_cdap.cdap.context import ROLES, Context
from ranger_cdap.cdap.entity import EntityId, entity_types, to_resource
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.profile import ACTIONS, VISIBLE, Operation, Privilege, load_profile, profile_names
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.cdap.fixtures import Policies, entity_of

EXAMPLES = {kind: entity_of(kind) for kind in entity_types()}
PLAYING = {
    "artifact": ["artifact:ns1.base"],
    "jar": ["artifact:ns1.uploaded"],
    "principal": ["principal:svc/host@EXAMPLE.COM"],
    "datasets": ["dataset:ns1.made", "dataset:ns1.made_too"],
    "modules": ["dataset_module:ns1.com.shop.Made"],
    "types": ["dataset_type:ns1.com.shop.Made"],
    "read_datasets": ["dataset:ns1.source"],
    "written_datasets": ["dataset:ns1.sink"],
    "created_datasets": ["dataset:ns1.fresh"],
    "local_datasets": ["dataset:ns1.local*"],
    "external_datasets": ["dataset:ns1.outside"],
    "applications": ["application:ns1.Held", "application:ns1.HeldToo"],
    "artifacts": ["artifact:ns1.held"],
    "keys": ["secure_key:ns1.held"],
    "streams": ["stream:ns1.held"],
}
MADE = ("datasets", "modules", "types")
RUNNING = ("read_datasets", "written_datasets", "created_datasets", "local_datasets", "external_datasets")
SITUATIONS = (
    (),
    ("artifact",),
    ("jar",),
    ("artifact", *MADE),
    ("jar", *MADE),
    ("artifact", "principal"),
    ("jar", "principal", *MADE),
    ("artifact", "principal", *MADE),
    RUNNING,
    ("principal", *RUNNING),
    ("applications", "artifacts", *MADE, "keys", "streams"),
)
BELOW = {"instance": "namespace", "namespace": "dataset", "application": "program", "stream": "stream_view"}

Resource = tuple[tuple[str, str], ...]
Held = tuple[str, str, Resource]
"""Somebody, a Ranger access type, and the resource of a policy."""


@dataclass(frozen=True)
class Case:
    """A row in a situation, what is held, and whether that is enough; `who` keeps the people of the cases apart."""

    row: Operation
    situation: tuple[str, ...]
    story: str
    held: frozenset[Held]
    allowed: bool
    entity: EntityId

    def people(self, number: int) -> dict[str, str]:
        return {name: f"{name}{number}" for name in ("ann", "svc", "cdap")}


def resource(entity: EntityId | EntityPattern) -> Resource:
    return tuple(to_resource(EntityId(entity.type, entity.parts), "cdap").items())


def needed(row: Operation, alternative: tuple[Privilege, ...], situation: tuple[str, ...]) -> list[set[Held]] | None:
    """What a reader of the row would say is needed: for each privilege and entity, accesses of which one is enough."""
    entity, impersonated = EXAMPLES[row.entity], "principal" in situation
    found = []
    for privilege in alternative:
        if "impersonated" in privilege.conditions and not impersonated:
            continue
        who = {
            "requesting": "ann",
            "effective": "svc" if impersonated else "ann",
            "executing": "svc" if impersonated else "cdap",
            "master": "cdap",
        }[privilege.person]
        for target in targets(row, privilege.target, entity, situation):
            actions = ACTIONS if privilege.actions == (VISIBLE,) else privilege.actions
            found.append({(who, action.lower(), resource(target)) for action in actions})
        if not targets(row, privilege.target, entity, situation) and "given" not in privilege.conditions:
            return None
    return found


def targets(row: Operation, name: str, entity: EntityId, situation: tuple[str, ...]) -> list[EntityId | EntityPattern]:
    if name in row.names:
        texts = [f"{template.type}:{'.'.join(template.parts)}" for template in row.names[name]]
        return [parse_pattern(t.replace("<namespace>", "ns1").replace("<application>", "Shop")) for t in texts]
    if name in ROLES:
        return list(map(parse_pattern, PLAYING[name])) if name in situation else []
    above = {"entity": entity, "parent": entity.parent}.get(name) or EXAMPLES[name]
    return [above]


def beside(held: Held) -> Held:
    who, access, levels = held
    return who, access, (*levels[:-1], (levels[-1][0], "elsewhere"))


def below(held: Held) -> Held | None:
    who, access, levels = held
    child = BELOW.get(levels[-1][0])
    return (who, access, (*levels, (child, "below"))) if child else None


def cases(row: Operation) -> Iterator[Case]:
    entity = EXAMPLES[row.entity]
    roles = {p.target for alternative in row.alternatives for p in alternative} & set(ROLES)
    impersonation = any("impersonated" in p.conditions for a in row.alternatives for p in a) or any(
        p.person != "requesting" for a in row.alternatives for p in a
    )
    relevant = roles | ({"principal"} if impersonation else set())
    for situation in dict.fromkeys(tuple(r for r in s if r in relevant) for s in SITUATIONS):
        read = [needed(row, alternative, situation) for alternative in row.alternatives]
        possible = [n for n in read if n]
        yield Case(row, situation, "nothing", frozenset(), False, entity)
        for needs in possible:
            if any(other is not needs and all(n in needs for n in other) for other in possible):
                continue  # more than another alternative asks: nothing of the rest is missed
            first = [sorted(need)[0] for need in needs]
            yield Case(row, situation, "all of it", frozenset(first), True, entity)
            for i, need in enumerate(needs):
                rest = [*first[:i], *first[i + 1 :]]
                if first[i] in rest:
                    continue
                for one in sorted(need):
                    yield Case(row, situation, f"{one[1]} is enough", frozenset([*rest, one]), True, entity)
                yield Case(row, situation, f"without {first[i]}", frozenset(rest), False, entity)
                yield Case(
                    row, situation, f"{first[i]} on a sibling", frozenset([*rest, beside(first[i])]), False, entity
                )
                if child := below(first[i]):
                    seen = row.alternatives == ((Privilege((VISIBLE,), "entity"),),)
                    yield Case(row, situation, f"{first[i]} only below", frozenset([*rest, child]), seen, entity)
            if row.lists and row.entity != "instance":
                other = EntityId(entity.type, (*entity.parts[:-1], other_name(entity)))
                yield Case(row, situation, "another one of the list", frozenset(first), row.lists == "parent", other)


def other_name(entity: EntityId) -> str:
    return "service.other" if entity.type == "program" else "other"


@cache
def all_cases(profile: str) -> dict[str, list[tuple[int, Case]]]:
    table = load_profile(profile)
    unlisted = [kind for kind in EXAMPLES if kind != "instance"]
    names = [*table.rows, *(f"{kind}.{verb}" for kind in unlisted for verb in table.core)]
    numbered = enumerate(case for name in dict.fromkeys(names) for case in cases(table.operation(name)))
    found: dict[str, list[tuple[int, Case]]] = {}
    for number, case in numbered:
        found.setdefault(case.row.name, []).append((number, case))
    return found


@cache
def engine(profile: str) -> PolicyEngine:
    """One engine for all cases of a profile: a policy for each resource, with an item for each access."""
    users: dict[Resource, dict[str, list[str]]] = {}
    for number, case in (pair for pairs in all_cases(profile).values() for pair in pairs):
        for who, access, levels in case.held:
            users.setdefault(levels, {}).setdefault(access, []).append(case.people(number)[who])
    policies = [
        {
            "id": i,
            "version": 1,
            "name": f"policy {i}",
            "resources": {level: {"values": [value]} for level, value in levels},
            "policyItems": [{"users": who, "accesses": [{"type": access}]} for access, who in items.items()],
        }
        for i, (levels, items) in enumerate(users.items())
    ]
    document = {
        "serviceName": "cdapdev",
        "policyVersion": 1,
        "policies": policies,
        "serviceDef": servicedef.service_definition(),
    }
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))


ROWS = [(profile, name) for profile in profile_names() for name in all_cases(profile)]


@pytest.mark.parametrize(("profile", "name"), ROWS)
def test_a_row_is_met_by_exactly_its_privileges(profile: str, name: str) -> None:
    ask = Policies(engine(profile))
    stories = set()
    for number, case in all_cases(profile)[name]:
        people = case.people(number)
        context = Context(
            {role: tuple(map(parse_pattern, PLAYING[role])) for role in case.situation},
            impersonated=people["svc"] if "principal" in case.situation else None,
            master=people["cdap"],
        )

        answer = compose(case.row, case.entity, people["ann"], ask, context, names=ask.names)

        assert answer.allowed is case.allowed, (case.situation, case.story, answer.reason)
        stories.add(case.story.split()[0])
    assert {"nothing", "all", "without"} <= stories
