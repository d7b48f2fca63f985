"""Sentry's rule for CDAP against Ranger's engine on what is made of a file, for every user, entity and action.

The oracle is written from `WildcardPolicy`, `WildcardAuthorizable`, `Program`, `ModelAuthorizables` and
`AuthBinding.toSentryAuthorizables` of the CDAP binding.
"""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.cdap.entity import EntityId, parse_entity, to_resource
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies
from ranger_cdap.tools.roles.role_plan import FoundRoles, plan
from ranger_cdap.tools.sentry.sentry_file import parse_sentry_file
from ranger_cdap.tools.sentry.sentry_roles import SentryImport, sentry_roles

ACTIONS = ("read", "write", "execute", "admin")
ENTITIES = [
    parse_entity(text)
    for text in (
        *("instance:", "namespace:a", "namespace:ab", "namespace:A", "principal:bob/h@D"),
        *("artifact:a.art-1.0", "application:a.app", "application:ab.app2", "program:a.app.worker.w"),
        *("program:a.app.worker.w2", "program:ab.app2.workflow.w", "dataset:a.d", "dataset:a.d1", "dataset:ab.D"),
        *("dataset_module:a.m", "dataset_type:ab.x.t", "secure_key:a.k_1", "stream:a.d", "schedule:a.app.w"),
    )
]
NAMES = (
    "*",
    "**",
    "?",
    "?*",
    "a*",
    "*a",
    "a?",
    "a",
    "ab",
    "app",
    "app*",
    "d",
    "d*",
    "?1",
    "art-1.0",
    "m",
    "x.*",
    "k_?",
)
PROGRAMS = ("*", "worker.*", "Worker.w", "WORKER.w?", "workflow.*", "worker.w", "?*", "????????")
SHAPES = (
    (),
    ("namespace",),
    ("principal",),
    *(("namespace", one) for one in ("application", "artifact", "dataset", "dataset_module", "dataset_type")),
    ("namespace", "SECUREKEY"),
    ("namespace", "application", "program"),
    ("application",),
    ("namespace", "program"),
)


def parts_in_sentry(entity: EntityId) -> list[tuple[str, str]] | None:
    """What the binding compares with privileges; None for the entity types that it did not know."""
    if entity.type in ("stream", "schedule"):
        return None
    parts = list(to_resource(entity, "cdap").items())
    return [(level.replace("secure_key", "securekey"), pretty(level, name)) for level, name in parts]


def pretty(level: str, name: str) -> str:
    """`Worker.w` for `worker.w`, `Program.getName`; the type in any case (`ProgramType.valueOf`)."""
    kind, dot, rest = name.partition(".")
    return f"{kind.capitalize()}.{rest}" if level == "program" and dot else name


def sentry_allows(privilege: str, entity: EntityId, action: str) -> bool:
    *keys, last = [part.split("=", 1) for part in privilege.split("->")]
    there = parts_in_sentry(entity)
    if there is None or len(keys) != len(there):
        return False
    for (key, pattern), (kind, name) in zip(keys, there, strict=True):
        regex = "".join({"*": ".*", "?": "."}.get(one, re.escape(one)) for one in pretty(key.lower(), pattern))
        if key.lower() != kind or not re.fullmatch(regex, name):
            return False
    return last[1].lower() in (action, "all", "*")


def imported(text: str, instance: str = "cdap") -> SentryImport:
    return sentry_roles(parse_sentry_file(text.encode()), service="cdapdev", instance=instance)


def engine_of(found: SentryImport) -> PolicyEngine:
    steps = plan(found.roles, FoundRoles({}, []))
    assert not [one for one in steps if one.change is StepChange.BLOCKED]
    documents = [dict(one.wanted or {}) for one in steps if one.kind == "policy"]
    policies = [{**one, "id": number, "version": 1} for number, one in enumerate(documents, 1)]
    document = {"serviceName": "cdapdev", "policyVersion": 1, "policies": policies}
    roles = [{"name": one.name, "groups": [{"name": name} for name in one.members.groups]} for one in found.roles]
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode({**document, "serviceDef": servicedef.service_definition()})),
        roles=decode_roles(msgspec.json.encode({"serviceName": "cdapdev", "roleVersion": 1, "rangerRoles": roles})),
    )


def ranger_allows(engine: PolicyEngine, group: str, entity: EntityId, action: str) -> bool:
    resource = to_resource(entity, "cdap")
    asked = AccessRequest(resource=resource, access_type=action, user="ann", groups=frozenset({group}))
    return engine.evaluate(asked).allowed


@st.composite
def privileges(draw: st.DrawFn) -> str:
    shape = draw(st.sampled_from(SHAPES))
    names = [draw(st.sampled_from(PROGRAMS if key == "program" else NAMES)) for key in shape]
    instance = draw(st.sampled_from(("cdap", "cdap", "cdap", "cd*", "dev", "?*")))
    action = draw(st.sampled_from((*ACTIONS, "all", "*", "READ")))
    pairs = zip(("instance", *shape, "action"), (instance, *names, action), strict=True)
    return "->".join(f"{key}={name}" for key, name in pairs)


ROLE_NAMES = ("one", "two", "three")
files = st.tuples(
    st.dictionaries(st.sampled_from(ROLE_NAMES), st.lists(privileges(), min_size=1, max_size=4), max_size=3),
    st.dictionaries(st.sampled_from(("g", "h")), st.lists(st.sampled_from(ROLE_NAMES), max_size=3), max_size=2),
)


def written(roles: dict[str, list[str]], groups: dict[str, list[str]]) -> str:
    lines = ["[groups]", *(f"{name} = {', '.join(some)}" for name, some in groups.items())]
    return "\n".join([*lines, "[roles]", *(f"{name} = {','.join(some)}" for name, some in roles.items())])


@settings(max_examples=120)
@given(files)
def test_a_member_may_do_what_sentry_allowed(file: tuple[dict[str, list[str]], dict[str, list[str]]]) -> None:
    roles, groups = file
    engine = engine_of(imported(written(roles, groups)))
    for group in ("g", "h"):
        held = [one for role in groups.get(group, ()) for one in roles.get(role, ())]
        for entity in ENTITIES:
            for action in ACTIONS:
                allowed = any(sentry_allows(one, entity, action) for one in held)
                assert ranger_allows(engine, group, entity, action) is allowed, (held, entity, action)


def test_each_privilege_alone_means_the_same() -> None:
    """Every shape and name once: the whole small universe of names, with the same name at each level."""
    for shape in SHAPES:
        for name in PROGRAMS if "program" in shape else NAMES:
            above = [f"{key}=*" for key in shape[:-1]]
            last = [f"{shape[-1]}={name}"] if shape else []
            text = "->".join(["instance=cdap", *above, *last, "action=write"])
            engine = engine_of(imported(f"[groups]\ng = r\n[roles]\nr = {text}"))
            for entity in ENTITIES:
                expected = sentry_allows(text, entity, "write")
                assert ranger_allows(engine, "g", entity, "write") is expected, (text, entity)


IN = "instance=cdap->namespace=a->"
LEFT_OUT = [
    ("instance=dev->action=read", "it is for instance `dev`"),
    ("instance=c?->action=read", "it is for instance `c\\?`"),
    ("instance=[c]dap->action=read", "it is for instance `\\[c\\]dap`"),
    (f"instance={'*a' * 1000}->action=read", "it is for instance"),
    ("namespace=a->action=read", "no entity of CDAP has the parts namespace"),
    ("action=read", "no entity of CDAP has the parts \\(none\\)"),
    (f"{IN}program=worker.w->action=read", "no entity of CDAP has the parts instance, namespace, program"),
    (f"{IN}namespace=b->action=read", "no entity of CDAP has the parts"),
    ("instance=cdap->namespace=a-b->action=read", "CDAP has no namespace with a name like `a-b`"),
    (f"{IN}dataset={{USER}}->action=read", "CDAP has no dataset"),
    (f"{IN}dataset=a%->action=read", "CDAP has no dataset"),
    (f"{IN}dataset={'d' * 1001}->action=read", "CDAP has no dataset"),
    (f"{IN}dataset={'d' * 900}->action=read", "too long for the name of a policy"),
    (f"{IN}application=p->program=w*->action=read", "`w\\*` has no program type"),
    (f"{IN}application=p->program=*.w->action=read", "there is no program type `\\*`"),
    (f"{IN}application=p->program=flow.w->action=read", "there is no program type `flow`"),
    (f"{IN}application=p->program=worker.->action=read", "CDAP has no program"),
]


@pytest.mark.parametrize(("privilege", "why"), LEFT_OUT)
def test_what_ranger_cannot_have_is_left_out_and_named(privilege: str, why: str) -> None:
    kept = "instance=cdap->action=read"
    found = imported(f"[groups]\n[roles]\nr = {privilege}, {kept}\nempty = {privilege}\n")
    assert [one.name for one in found.roles] == ["r"]
    assert [dict(one.resource) for one in found.roles[0].rights] == [{"instance": "cdap"}]
    assert [one.place.order for one in found.left_out] == [3, 4, 4]
    for one in found.left_out[:2]:
        assert privilege in one.what
        assert re.search(why, one.why)
    assert found.left_out[2].why == "no privilege is left of it"


@pytest.mark.parametrize("name", ["a/b", "a;b", "a%b", "{USER}", "x" * 256, "a\x07b", "a*"])
def test_a_name_that_ranger_does_not_have_is_left_out(name: str) -> None:
    found = imported(f"[groups]\n{name} = r\npublic = r\ng = r\n[roles]\nr = instance=cdap->action=read\n{name} = x")
    assert [(one.name, one.members.groups) for one in found.roles] == [("r", ("g",))]
    text = "\n".join(map(str, found.left_out))
    assert f"group `{name}` of role `r`: Ranger has no such names" in text
    assert "group `public` of role `r`: in Ranger it is everyone" in text
    assert f"role `{name}`: Ranger has no such names" in text


def test_privileges_on_one_resource_are_one_policy_and_nothing_is_delegated() -> None:
    text = f"{IN}dataset=*->action=read, {IN}dataset=**->action=write, {IN}application=p->program=WORKER.w->action=all"
    [role] = imported(f"[groups]\n[roles]\nr = {text}").roles
    assert {one.policy_name: (list(one.resource.values()), set(one.accesses)) for one in role.rights} == {
        "sentry: instance=cdap namespace=a dataset=?*": (["cdap", "a", "?*"], {"read", "write"}),
        "sentry: instance=cdap namespace=a application=p program=worker.w": (
            ["cdap", "a", "p", "worker.w"],
            set(ACTIONS),
        ),
    }
    assert role.made_for == "Made by ranger-cdap: imported from Sentry for instance cdap, service cdapdev."
