"""For comparison: the same policies and requests in Cedar (cedarpy) and Casbin (pycasbin), where they can express them.

`python -m benchmarks.others` prints a line per engine and size; `pip install cedarpy casbin` first, as neither is a
dependency of ours.
Both are general engines, used as their documentation shows; neither has Ranger's order of policies, audit flag or
deciding policy, so only allowed or not is compared. A Ranger policy becomes one Cedar policy per item and one Casbin
line per name and access type.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from benchmarks.engine_alone import Request, decoded
from benchmarks.workload import NOW, requests, roles, service_policies
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies

SIZES = (100, 1_000)
QUESTIONS = 200
MODEL = """
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = g(r.sub, p.sub) && globMatch(r.obj, p.obj) && r.act == p.act
"""

Json = dict[str, Any]
Decide = Callable[[Request], bool]


def main() -> None:
    """Print one line per engine and size."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    print(f"{'policies':>10} {'engine':>10} {'decisions/s':>12} {'as ours':>10}")
    for size in options.parse_args().sizes:
        document = service_policies(size)
        policies: list[Json] = msgspec.json.decode(document)["policies"]
        asked = decoded(requests(QUESTIONS, size))
        engine = PolicyEngine.build(decode_service_policies(document), roles=decode_roles(roles()))
        ours = [_ours(engine, one) for one in asked]
        print_result(size, "ours", partial(_ours, engine), asked, ours)
        print_result(size, "cedarpy", cedar(policies, asked), asked, ours)
        print_result(size, "pycasbin", casbin(policies, asked), asked, ours)


def print_result(size: int, name: str, decide: Decide, asked: Sequence[Request], ours: Sequence[bool]) -> None:
    """Evaluate all requests twice; print the rate of the second pass, and the share of answers equal to ours."""
    for one in asked:
        decide(one)
    began = time.perf_counter()
    found = [decide(one) for one in asked]
    rate = len(asked) / (time.perf_counter() - began)
    same = sum(a == b for a, b in zip(found, ours, strict=True))
    print(f"{size:>10,} {name:>10} {rate:>12,.0f} {same / len(asked):>10.1%}", flush=True)


def _ours(engine: PolicyEngine, one: Request) -> bool:
    request = AccessRequest(one.resource, one.access, one.user, one.groups, access_time=NOW)
    return engine.evaluate(request).allowed


def cedar(policies: Sequence[Json], asked: Sequence[Request]) -> Decide:
    """Build Cedar's authorizer; groups and roles are parents of the user, and policies are parsed once."""
    import cedarpy  # type: ignore[import-not-found, unused-ignore]

    compiled = cedarpy.PolicySet.from_str(_cedar_policies(policies))
    groups = {one.user: names_of(one)[1:] for one in asked}

    def decide(one: Request) -> bool:
        parents = [{"type": "Group", "id": name} for name in groups[one.user]]
        entities = [{"uid": {"type": "User", "id": one.user}, "attrs": {}, "parents": parents}]
        request = {
            "principal": f'User::"{one.user}"',
            "action": f'Action::"{one.access}"',
            "resource": 'Thing::"one"',
            "context": {"path": path_of(one.resource)},
        }
        answer = cedarpy.is_authorized(request, compiled, entities)
        return bool(answer.decision == cedarpy.Decision.Allow)

    return decide


def _cedar_policies(policies: Sequence[Json]) -> str:
    texts = []
    for policy in policies:
        path = path_of({level: value["values"][0] for level, value in policy["resources"].items()})
        except_ = "".join(_names_cedar(item, " unless {{ {} }}") for item in policy["allowExceptions"])
        texts += [_cedar("permit", item, path, except_) for item in policy["policyItems"]]
        texts += [_cedar("forbid", item, path, "") for item in policy["denyPolicyItems"]]
    return "\n".join(texts)


def _cedar(effect: str, item: Json, path: str, except_: str) -> str:
    actions = ", ".join(f'Action::"{access["type"]}"' for access in item["accesses"])
    when = _names_cedar(item, " when {{ {} }}")
    return f'{effect}(principal, action in [{actions}], resource) when {{ context.path like "{path}" }}{when}{except_};'


def _names_cedar(item: Json, form: str) -> str:
    users = [f'principal == User::"{name}"' for name in item["users"]]
    others = [f'principal in Group::"{name}"' for name in [*item["groups"], *item["roles"]]]
    return form.format(" || ".join([*users, *others]))


def casbin(policies: Sequence[Json], asked: Sequence[Request]) -> Decide:
    """Build Casbin's enforcer with its glob function; exceptions become denials, which it cannot tell apart."""
    from casbin import Enforcer, Model  # type: ignore[import-not-found, unused-ignore]

    model = Model()
    model.load_model_from_text(MODEL)
    enforcer = Enforcer(model)
    enforcer.add_policies([list(line) for line in dict.fromkeys(_casbin_lines(policies))])
    memberships = {(one.user, name) for one in asked for name in names_of(one)[1:]}
    enforcer.add_grouping_policies([list(pair) for pair in sorted(memberships)])
    return lambda one: bool(enforcer.enforce(one.user, path_of(one.resource), one.access))


def _casbin_lines(policies: Sequence[Json]) -> Iterator[tuple[str, str, str, str]]:
    for policy in policies:
        path = path_of({level: value["values"][0] for level, value in policy["resources"].items()})
        for side, effect in (("policyItems", "allow"), ("denyPolicyItems", "deny"), ("allowExceptions", "deny")):
            for item in policy[side]:
                for name in [*item["users"], *item["groups"], *item["roles"]]:
                    for access in item["accesses"]:
                        yield name, path, access["type"], effect


def names_of(one: Request) -> list[str]:
    """Return the user, their groups, and the roles of both."""
    known: list[Json] = msgspec.json.decode(roles())["rangerRoles"]
    mine = {one.user, *one.groups}
    held = [role["name"] for role in known if mine & {m["name"] for m in (*role["users"], *role["groups"])}]
    return [one.user, *sorted(one.groups), *held]


def path_of(resource: dict[str, str]) -> str:
    """Return a resource as one text, with its type: `dataset/cdap/ns1/d1`."""
    return "/".join((next(reversed(resource)), *resource.values()))


if __name__ == "__main__":
    main()
