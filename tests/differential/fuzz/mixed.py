"""Scenarios that mix everything: conditions, tags, zones, scopes, changes, settings, odd letters and odd requests.

A scenario is drawn from a number, so that a search can go on where it was. Left out, because Java itself gives no one
answer or this project differs on purpose, is what each function below says it leaves out; `vocabulary.toml` names it.
"""

from __future__ import annotations

import json
from typing import Any

from ranger_cdap.engine.compiled.names import CONF, HANDLER
from tests.differential.fuzz.die import Die
from tests.differential.fuzz.mixed_definitions import USER_STORE, definition, pools
from tests.differential.fuzz.mixed_deltas import delta_documents
from tests.differential.fuzz.mixed_policies import GROUPS, ROLES, TAG_TYPES, USERS, PolicyDrawer, numbered
from tests.differential.fuzz.mixed_requests import RequestDrawer
from tests.differential.phenomena_tags import tag_definition

Json = dict[str, Any]

ACTIONS = ("query", "drop")
SERVICE = "cdapdev"
NAME_RULES = ("s/^x //g", "s/^x (.*)$/$1/", "s/[^a-zA-Z0-9]//g", "s/x +//s/@.*//")
WILFUL_EVERY = 100
"""One scenario in so many has what this project decides otherwise on purpose."""


def scenario(seed: int, number: int, given: Json | None = None) -> Json:
    """The scenario of this number: a download, what comes beside it, changes to it, and requests; `given`: for what."""
    die, everything = Die(seed, number), number % WILFUL_EVERY == WILFUL_EVERY - 1
    return _Scenario(die, given or definition(die), everything=everything).drawn()


class _Scenario:
    def __init__(self, die: Die, given: Json, *, everything: bool) -> None:
        self._die, self._everything = die, everything
        self._definition = given
        self._pools = pools(die, self._definition, everything=everything)
        self._drawer = PolicyDrawer(die, self._definition, self._pools)

    def drawn(self) -> Json:
        die = self._die
        download: Json = {
            "serviceName": SERVICE,
            "policyVersion": 1,
            "serviceDef": self._definition,
            "policies": numbered(self._drawer.policies(most=5), 1, "policy"),
        }
        drawn: Json = {"policies": download, "roles": self._roles()}
        if not die.chance(15):  # where there is no more, ours decides by its fast path
            self._add_more(drawn)
        if die.chance(50):
            drawn["deltas"] = delta_documents(die, download, self._drawer, everything=self._everything)
        drawn["requests"] = self._requests()
        self._weigh(drawn)
        self._leave_out(drawn)
        if die.chance(15):
            self._transform_names(drawn)
        return drawn

    def _add_more(self, drawn: Json) -> None:
        if self._die.chance(52):
            drawn["policies"]["securityZones"] = self._zones()
        if self._die.chance(70):
            self._add_tags(drawn)
        self._add_settings(drawn)

    def _requests(self) -> list[Json]:
        return RequestDrawer(self._die, self._definition, self._pools, everything=self._everything).requests()

    def _roles(self) -> Json:
        """Roles that contain each other, also in circles, and roles without a definition."""
        die = self._die

        def members(names: tuple[str, ...]) -> list[Json]:
            return [{"name": name} for name in die.some(names)]

        listed = [
            {
                "id": n,
                "name": name,
                "users": members(USERS),
                "groups": members((*GROUPS, "public")),
                "roles": members(ROLES),
            }
            for n, name in enumerate(die.some(ROLES, most=3))
        ]
        return {"serviceName": SERVICE, "roleVersion": 1, "rangerRoles": listed}

    # --- zones and tags ---

    def _place(self, *, macros: bool) -> dict[str, list[str]]:
        die = self._die
        path = die.one(self._drawer.paths)
        drawn: dict[str, list[str]] = {}
        for name in path[: die.between(1, min(3, len(path)))]:
            pool = self._pools[name]
            if name in self._drawer.separators:
                pool = [*pool, self._drawer.value(name)]
            odd = ["*", "{USER}"] if macros else ["*"]
            drawn[name] = [die.one([*pool, *pool, *odd, die.one(pool)[:1] + "*"]) for _ in range(die.between(1, 2))]
        return drawn

    def _zones(self) -> Json:
        die = self._die
        zones: Json = {}
        for place, name in enumerate(die.one((("z",), ("z",), ("z", "y"))), 1):
            policies = self._drawer.policies(most=3)
            zones[name] = {
                "zoneName": name,
                "resources": [self._place(macros=True) for _ in range(die.between(1, 2))],
                "policies": numbered(policies, 100 * place, f"{name} policy"),
            }
            zones[name] |= die.given(40, containsAssociatedTagService=lambda: True)
        return zones

    def _add_tags(self, drawn: Json) -> None:
        """Tag policies; where there is an enricher a download of tags, at times also where there is none."""
        die, download = self._die, drawn["policies"]
        enriched = die.chance(65)
        linked = {
            "serviceName": "tags",
            "policyVersion": 1,
            "serviceDef": tag_definition(self._definition, with_enricher=enriched),
            "policies": numbered([self._drawer.tag_policy() for _ in range(die.between(0, 4))], 1000, "tag policy"),
        }
        download["tagPolicies"] = linked | die.given(20, auditMode=lambda: die.one(("audit-all", "audit-none")))
        if enriched or die.chance(40):
            drawn["tags"] = self._service_tags(1)
            if die.chance(20):
                drawn["laterTags"] = self._service_tags(2)

    def _service_tags(self, version: int) -> Json:
        """Which resources carry which tags, also tags without a type, and resources that fit no hierarchy."""
        die = self._die
        tags: Json = {}
        for n in range(1, die.between(1, 3) + 1):
            tags[str(n)] = {"id": n, "type": die.one(TAG_TYPES)} | die.given(
                30, validityPeriods=lambda: [self._drawer.schedule()]
            )
            if die.chance(7):
                tags[str(n)]["type"] = die.one((None, ""))
        tagged = [
            {"id": n, "resourceElements": {name: {"values": v} for name, v in self._place(macros=True).items()}}
            for n in range(1, die.between(1, 4) + 1)
        ]
        carried = {str(each["id"]): die.some(sorted(map(int, tags)), least=1) for each in tagged}
        return {
            "op": "add_or_update",
            "serviceName": SERVICE,
            "tagVersion": version,
            "tags": tags,
            "serviceResources": tagged,
            "resourceToTagIds": carried,
        }

    # --- settings ---

    def _add_settings(self, drawn: Json) -> None:
        die, download = self._die, drawn["policies"]
        if die.chance(30):
            download["auditMode"] = die.one(("audit-all", "audit-none", "audit-default", "other"))
        if die.chance(45):
            download["serviceConfig"] = self._service_config()
        if "tagPolicies" in download and die.chance(50):
            filters = [self._audit_filter(of_tags=True) for _ in range(die.between(1, 2))]
            audited = die.chance(50)  # by all alike: which of several tags Java looks at first is chance
            filters = [{**each, "isAudited": audited} if "isAudited" in each else each for each in filters]
            download["tagPolicies"]["serviceConfig"] = {"ranger.plugin.audit.filters": json.dumps(filters)}
        if die.chance(25):
            enricher = {"itemId": 1, "name": "users", "enricher": USER_STORE}
            self._definition["contextEnrichers"] = [enricher]
            groups = {user: die.some(GROUPS) for user in USERS}
            drawn["userStore"] = {"serviceName": SERVICE, "userStoreVersion": 1, "userGroupMapping": groups}
            drawn["conf"] = {self._key("use.rangerGroups"): die.one(("true", "true", "TRUE", "false"))}
        if die.chance(25):
            keys = {"use.x-forwarded-for.ipaddress": "true"}
            if die.chance(70):
                keys["trusted.proxy.ipaddresses"] = die.one(("192.168.0.1", "10.0.0.1,192.168.0.1"))
            keys |= die.given(
                30, **{"super.users": lambda: die.one(USERS), "audit.exclude.roles": lambda: die.one(ROLES)}
            )
            drawn["conf"] = drawn.get("conf", {}) | {self._key(key): value for key, value in keys.items()}

    def _transform_names(self, drawn: Json) -> None:
        """Name users and groups otherwise than policies do, in a way that is undone before the decision."""
        die, handler = self._die, {f"{CONF}mapping.regex.separator": "/"}
        for kind in ("user", "group"):
            handler[f"{CONF}mapping.{kind}name.handler"] = HANDLER
            handler |= die.given(70, **{f"{CONF}ldap.{kind}name.caseconversion": lambda: die.one(("lower", "Lower"))})
            handler |= die.given(70, **{f"{CONF}mapping.{kind}name.regex": lambda: die.one(NAME_RULES)})
        drawn["policies"]["serviceConfig"] = drawn["policies"].get("serviceConfig", {}) | handler
        keys = {"supports.name.transformation": die.one(("true", "true", "true", "false"))}
        keys |= die.given(50, **{"convert.emailToUser": lambda: "true", "use.only.rangerGroups": lambda: "true"})
        drawn["conf"] = drawn.get("conf", {}) | {self._key(key): value for key, value in keys.items()}
        for request in drawn["requests"]:
            if request.get("user"):
                user = request["user"] if max(request["user"]) <= "\uffff" else USERS[0]  # which ours refuses
                request["user"] = die.one((str.upper, str, "x {}".format, "{}@example.com".format))(user)
            request["groups"] = [die.one((str.upper, str, "x {}".format))(one) for one in request.get("groups") or ()]

    def _key(self, name: str) -> str:
        return f"ranger.plugin.{self._definition['name']}.{name}"

    def _service_config(self) -> dict[str, str]:
        die = self._die

        def names(of: tuple[str, ...]) -> str:
            return " , ".join(die.some((*of, "")))

        config: dict[str, str] = die.given(
            25,
            **{
                "ranger.plugin.super.users": lambda: die.one(USERS),
                "ranger.plugin.super.groups": lambda: die.one((*GROUPS, "")),
                "ranger.plugin.audit.exclude.users": lambda: names(USERS),
                "ranger.plugin.audit.exclude.groups": lambda: names(GROUPS),
                "ranger.plugin.audit.exclude.roles": lambda: names(ROLES),
            },
        )
        if die.chance(65):
            filters = [self._audit_filter(of_tags=False) for _ in range(die.between(1, 3))]
            config["ranger.plugin.audit.filters"] = json.dumps(filters)
        return config

    def _audit_filter(self, *, of_tags: bool) -> Json:
        die = self._die
        accesses = [access["name"] for access in self._definition["accessTypes"]]
        if of_tags:
            resources = {"tag": {"values": die.some((*TAG_TYPES, "P*", "*"), least=1)}}
        else:
            resources = {name: {"values": values} for name, values in self._place(macros=False).items()}
        return die.given(
            35,
            accessResult=lambda: die.one(("DENIED", "ALLOWED", "NOT_DETERMINED")),
            resources=lambda: resources,
            accessTypes=lambda: die.some((*accesses, "_any")),
            actions=lambda: die.some(ACTIONS),
            users=lambda: die.some((*USERS, "{USER}", "{OWNER}")),
            groups=lambda: die.some((*GROUPS, "public")),
            roles=lambda: die.some(ROLES),
        ) | die.given(80, isAudited=lambda: die.chance(50))

    # --- what Java has no one answer to ---

    def _weigh(self, drawn: Json) -> None:
        """Keep policies of tags and of resources from priorities where Java's answer depends on candidates [§6.3].

        It does so where a resource policy is of higher priority than a tag policy.
        """
        of_tags, of_resources = policies_of(drawn)
        if not of_tags:
            return
        if self._die.chance(50):
            for policy in of_tags:
                policy["policyItems"] = []
            lightest = min(policy.get("policyPriority", 0) for policy in of_tags)
            for policy in of_resources:
                policy["policyPriority"] = min(lightest, policy.get("policyPriority", 0))
        else:
            priority = self._die.one((0, 1, -1))
            for policy in of_resources:
                policy["policyPriority"] = priority
            for policy in of_tags:
                policy["policyPriority"] = max(priority, policy.get("policyPriority", 0))

    def _leave_out(self, drawn: Json) -> None:
        """Keep from requests whose answer depends on the order of a Java hash set, or on that of arrival."""
        priorities = {policy.get("policyPriority", 0) for side in policies_of(drawn) for policy in side}
        zones = {name for document in documents_of(drawn) for name in document.get("securityZones", {})}
        plain = self._definition["accessTypes"][0]["name"]
        root = self._drawer.paths[0][0]
        for request in drawn["requests"]:
            any_access = request.get("accessType") in (None, "", "_any")
            if len(zones) > 1 and any_access:
                request["accessType"], any_access = plain, False
            if len(priorities) > 1:
                if groups := request.get("allAccessTypeGroups"):
                    request["allAccessTypeGroups"] = groups[:1]
                if any_access:
                    request.pop("ignoreDescendantDeny", None)
            if "deltas" in drawn and not any(request["resource"].values()):
                request["resource"] = {root: self._pools[root][0]}


def documents_of(drawn: Json) -> list[Json]:
    return [drawn["policies"], *drawn.get("deltas", ())]


def policies_of(drawn: Json) -> tuple[list[Json], list[Json]]:
    """The policies of tags, and those of resources, of the download and of all changes."""
    of_tags: list[Json] = []
    of_resources: list[Json] = []
    for document in documents_of(drawn):
        of_tags += document.get("tagPolicies", {}).get("policies", ())
        for held in (document, *document.get("securityZones", {}).values()):
            of_resources += held.get("policies", ())
            for delta in held.get("policyDeltas", ()):
                (of_tags if delta["policy"].get("serviceType") == "tag" else of_resources).append(delta["policy"])
    return of_tags, of_resources
