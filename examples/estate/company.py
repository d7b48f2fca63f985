"""A made-up company on CDAP: its people, what its namespaces hold, and policies as they have grown over the years."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, Final

import servicedef
from ranger_cdap.cdap.entity import EntityId, entity_id, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES, CREATORS_LABEL, grant_for, grant_guid

Json = dict[str, Any]

INSTANCE: Final = "cdap"
SERVICE: Final = "cdap_estate"
DEPARTMENTS: Final = (
    *("sales", "finance", "hr", "marketing", "logistics"),
    *("research", "risk", "web", "care", "sandbox"),
)
JOBS: Final = ("engineers", "analysts", "analysts", "engineers", "managers")
"""Five people of a department have these jobs; the next five again."""

FIRST: Final = (
    *("ada", "bela", "chen", "dora", "emil", "fay", "gita", "hugo", "ines", "jun"),
    *("kofi", "lena", "milo", "nora", "omar", "pia", "quin", "rosa", "sven", "tala"),
)
LAST: Final = ("adeyemi", "berg", "costa", "dubois", "eriksen", "fischer", "garcia", "haddad", "ito", "jansen")
SUBJECTS: Final = (
    *("orders", "customers", "invoices", "payments", "refunds", "prices", "stock", "routes", "visits"),
    *("clicks", "campaigns", "contracts", "salaries", "absences", "budgets", "forecasts", "claims", "scores"),
    *("trials", "models", "tickets", "calls", "returns", "suppliers", "regions"),
)
KINDS: Final = {"raw": 20, "mart": 25, "report": 15}
"""Kinds of dataset, with the number of subjects that each department has one for."""


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who works on CDAP, or a service account; `department` is a namespace."""

    name: str
    department: str
    groups: frozenset[str]

    @property
    def is_service(self) -> bool:
        """Return True for a service account."""
        return self.name.startswith("svc-")


@dataclass(frozen=True, slots=True)
class Company:
    """The documents that Ranger would send, and what there is to protect."""

    people: tuple[Person, ...]
    entities: tuple[EntityId, ...]
    policies: Json
    roles: Json
    tags: Json
    users: Json


def company(seed: int) -> Company:
    """Return the company of a seed: 200 people, 10 namespaces, 1,000 entities; the same one for the same seed."""
    random = Random(seed)  # noqa: S311 made-up names protect nothing
    staff = tuple(people())
    everything = tuple(entities())
    creators = dict(_creators(random, staff, everything))
    listed = [*rules(), *legacy(), *_grants(creators)]
    return Company(staff, everything, download(listed), roles(), tags(everything), user_store(staff))


def people() -> Iterator[Person]:
    """Yield 190 employees and the service account of each department."""
    names = (f"{first}.{last}" for last, first in product(LAST, FIRST))
    for number, name in zip(range(190), names, strict=False):
        department, job = DEPARTMENTS[number % 10], JOBS[number // 10 % 5]
        groups = {f"{department}-{job}", "employees"}
        groups |= {"contractors"} if number % 19 == 7 else set()
        groups |= {"auditors"} if number % 38 == 11 else set()
        groups |= {"platform"} if number % 47 == 30 else set()
        yield Person(name, department, frozenset(groups))
    for department in DEPARTMENTS:
        yield Person(f"svc-{department}", department, frozenset({"services"}))


def entities() -> Iterator[EntityId]:
    """Yield what each namespace holds: a hundred entities with itself."""
    for namespace in DEPARTMENTS:
        yield entity_id("namespace", (namespace,))
        for kind, count in KINDS.items():
            yield from (entity_id("dataset", (namespace, f"{kind}_{subject}")) for subject in SUBJECTS[:count])
        for subject in SUBJECTS[:8]:
            yield entity_id("application", (namespace, f"{subject}_pipeline"))
            for program in ("workflow.DataPipelineWorkflow", "spark.phase-1"):
                yield entity_id("program", (namespace, f"{subject}_pipeline", program))
        for subject in SUBJECTS[:5]:
            yield entity_id("artifact", (namespace, f"{subject}-plugins"))
            yield entity_id("topic", (namespace, f"{subject}-events"))
            yield entity_id("secure_key", (namespace, f"{subject}-password"))


# --- policies ---------------------------------------------------------------------------------------------------------


def item(accesses: str, *, users: Sequence[str] = (), groups: Sequence[str] = (), roles: Sequence[str] = ()) -> Json:
    """Return a policy item; `accesses` are separated by spaces."""
    given = [{"type": access, "isAllowed": True} for access in accesses.split()]
    return {"users": [*users], "groups": [*groups], "roles": [*roles], "accesses": given}


def policy(name: str, where: str, *items: Json, **more: Any) -> Json:
    """Return a policy; `where` lists values by level, as `namespace=sales dataset=raw_*,mart_*`."""
    levels = dict(level.split("=") for level in where.split())
    values = {"instance": [INSTANCE]} | {level: text.split(",") for level, text in levels.items()}
    resources = {level: {"values": texts, "isExcludes": False, "isRecursive": False} for level, texts in values.items()}
    return {"name": name, "resources": resources, "policyItems": [*items], "service": SERVICE} | more


def rules() -> Iterator[Json]:
    """Yield the policies of each department, and those of the whole company."""
    everything = " ".join(ACCESS_TYPES)
    for one in DEPARTMENTS:
        engineers, analysts, managers = (f"{one}-{job}" for job in ("engineers", "analysts", "managers"))
        inside = item("read", groups=[engineers, analysts, managers], users=[f"svc-{one}"])
        yield policy(f"{one}: namespace", f"namespace={one}", inside)
        yield policy(
            f"{one}: datasets",
            f"namespace={one} dataset=?*",
            item(everything, groups=[engineers]),
            item("read", groups=[managers]),
        )
        yield policy(f"{one}: marts", f"namespace={one} dataset=mart_*,report_*", item("read", groups=[analysts]))
        yield policy(f"{one}: loading", f"namespace={one} dataset=raw_*", item("read write", users=[f"svc-{one}"]))
        yield policy(
            f"{one}: applications",
            f"namespace={one} application=?*",
            item(everything, groups=[engineers]),
            item("read execute", users=[f"svc-{one}"]),
        )
        yield policy(
            f"{one}: programs",
            f"namespace={one} application=?* program=?*",
            item("read execute", groups=[engineers], users=[f"svc-{one}"]),
        )
        yield policy(f"{one}: plugins", f"namespace={one} artifact=?*", item("read admin", groups=[engineers]))
        yield policy(f"{one}: topics", f"namespace={one} topic=?*", item("read write", groups=[engineers]))
        yield policy(
            f"{one}: secure keys",
            f"namespace={one} secure_key=?*",
            item("read write", groups=[engineers]),
            denyPolicyItems=[item(everything, groups=["contractors"])],
        )
    yield policy("platform: namespaces", "namespace=?*", item(everything, groups=["platform"]))
    yield policy("stewards: figures for all", "namespace=?* dataset=mart_regions", item("read", roles=["stewards"]))
    yield policy(
        "auditors: third quarter",
        "namespace=?* dataset=?*",
        item("read", groups=["auditors"]),
        validitySchedules=[
            {"startTime": "2026/07/01 00:00:00", "endTime": "2026/10/01 00:00:00", "timeZone": "UTC", "recurrences": []}
        ],
    )
    yield policy(
        "finance and hr: not for contractors",
        "namespace=finance,hr dataset=?*",
        denyPolicyItems=[item(everything, groups=["contractors"])],
        denyExceptions=[item("read", users=["nora.berg"])],
        policyPriority=1,
    )


def legacy() -> Iterator[Json]:
    """Yield what nobody has tidied up: too wide, forgotten, and given twice."""
    yield policy("migration 2024 (temporary)", "namespace=* dataset=*", item("read", groups=["marketing-analysts"]))
    yield policy("sales: orders", "namespace=sales dataset=mart_orders", item("read", groups=["sales-analysts"]))
    yield policy("export for the tax office", "namespace=finance dataset=*invoices*", item("read", users=["pia.costa"]))
    yield policy("hr project", "namespace=hr dataset=mart_salaries", item("read", groups=["research-analysts"]))
    shares = (("web", "sales", "mart_customers"), ("risk", "finance", "mart_*"), ("marketing", "web", "mart_visits"))
    for asks, owns, dataset in shares:
        where = f"namespace={owns} dataset={dataset}"
        yield policy(f"{owns}: shared with {asks}", where, item("read", groups=[f"{asks}-analysts"]))


def _creators(
    random: Random, staff: Sequence[Person], everything: Iterable[EntityId]
) -> Iterator[tuple[EntityId, str]]:
    engineers = {one: [p for p in staff if f"{one}-engineers" in p.groups] for one in DEPARTMENTS}
    for entity in everything:
        if entity.type in ("dataset", "application", "artifact", "topic") and random.random() < 0.75:
            yield entity, random.choice(engineers[entity.parts[0]]).name


def _grants(creators: dict[EntityId, str]) -> Iterator[Json]:
    """Yield policies as the sync job writes them for creators."""
    for entity, user in creators.items():
        grant = grant_for(entity, user, INSTANCE, ACCESS_TYPES, non_creators=())
        where = " ".join(f"{level}={value}" for level, value in grant.resource.items() if level != "instance")
        guid = grant_guid(INSTANCE, entity, 1)
        name = f"{user} created {str(entity).replace(':', ' ')} (1, {guid[:8]})"
        given = item(" ".join(grant.accesses), users=[user])
        twice = policy(name, where, given, guid=guid, policyLabels=[CREATORS_LABEL])
        yield {**twice, "additionalResources": [twice["resources"]]}


def download(listed: Iterable[Json]) -> Json:
    """Return the download of the policies, with the tag policies."""
    numbered = [{"id": n, "version": 1, "isEnabled": True, **one} for n, one in enumerate(listed, 1)]
    return {
        "serviceName": SERVICE,
        "policyVersion": 1,
        "serviceDef": servicedef.service_definition(),
        "policies": numbered,
        "tagPolicies": {"serviceName": "tags", "policyVersion": 1, "serviceDef": _TAG_DEF, "policies": _tag_policies()},
    }


# --- roles, tags, users -----------------------------------------------------------------------------------------------

_TAG_DEF: Final[Json] = {
    "name": "tag",
    "id": 100,
    "resources": [
        {
            "itemId": 1,
            "name": "tag",
            "level": 1,
            "matcher": "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher",
            "matcherOptions": {"wildCard": "false", "ignoreCase": "false"},
        }
    ],
    "accessTypes": [{"itemId": n, "name": f"cdap:{access}"} for n, access in enumerate(ACCESS_TYPES, 1)],
    "contextEnrichers": [
        {"itemId": 1, "name": "tags", "enricher": "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"}
    ],
    "options": {"enableDenyAndExceptionsInPolicies": "true"},
}


def _tag_policies() -> list[Json]:
    everything = [{"type": f"cdap:{access}", "isAllowed": True} for access in ACCESS_TYPES]
    return [
        {
            "id": 10_001,
            "name": "personal data",
            "version": 1,
            "service": "tags",
            "resources": {"tag": {"values": ["PII"]}},
            "denyPolicyItems": [{"groups": ["public"], "accesses": everything}],
            "denyExceptions": [{"groups": ["auditors"], "roles": ["stewards"], "accesses": everything}],
        }
    ]


def roles() -> Json:
    """Return the role download: stewards are two managers' groups and the members of a second role."""
    return {
        "serviceName": SERVICE,
        "roleVersion": 1,
        "rangerRoles": [
            {
                "id": 1,
                "name": "stewards",
                "groups": [{"name": "hr-managers"}, {"name": "care-managers"}],
                "roles": [{"name": "deputies"}],
            },
            {"id": 2, "name": "deputies", "users": [{"name": "lena.adeyemi"}, {"name": "svc-hr"}]},
        ],
    }


def tags(everything: Iterable[EntityId]) -> Json:
    """Return the tag download: what names salaries, absences or customers is personal data."""
    personal = [
        entity
        for entity in everything
        if entity.type == "dataset" and entity.parts[1].endswith(("salaries", "absences")) and entity.parts[0] == "hr"
    ]
    resources = [
        {
            "id": number,
            "resourceElements": {level: {"values": [value]} for level, value in to_resource(entity, INSTANCE).items()},
        }
        for number, entity in enumerate(personal, 1)
    ]
    return {
        "serviceName": SERVICE,
        "tagVersion": 1,
        "tags": {"1": {"id": 1, "type": "PII"}},
        "serviceResources": resources,
        "resourceToTagIds": {str(one["id"]): [1] for one in resources},
    }


def user_store(staff: Iterable[Person]) -> Json:
    """Return the user store download."""
    return {"userStoreVersion": 1, "userGroupMapping": {one.name: sorted(one.groups) for one in staff}}
