"""How somebody could come to what is another's: each story of cdap-facts.md §4.6, and who may do what when it is over.

A story plays in a namespace of its own, written `NS0`. Alice comes first, bob is who would take over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.life import State
from tests.spark_sync.recorded_lines import (
    CALLER,
    ENFORCER,
    OTHER_PROCESS,
    Lines,
    audited,
    check,
    created,
    deleted,
    logged,
    put,
    request,
    uri,
)

NS = EntityId("namespace", ("NS0",))
APP = EntityId("application", ("NS0", "Shop"))
SCHEDULE = EntityId("schedule", ("NS0", "Shop", "daily"))
KV = EntityId("dataset", ("NS0", "kv"))
OTHER = EntityId("dataset", ("NS0", "kv2"))
STREAM = EntityId("stream", ("NS0", "clicks"))
ARTIFACT = EntityId("artifact", ("NS0", "lib"))
MODULE = EntityId("dataset_module", ("NS0", "lib.Module"))
KEY = EntityId("secure_key", ("NS0", "key1"))
PROFILE = EntityId("profile", ("NS0", "p1"))
UUID = "c6175695-e562-11f1-bfbf-02fc00000001"
LOCAL = EntityId("dataset", ("NS0", f"localkv.{UUID}"))
PREVIEW = EntityId("application", ("NS0", UUID))
IN_SYSTEM = EntityId("dataset", ("system", "NS0"))

Owners = Mapping[EntityId, str]


@dataclass(frozen=True)
class Story:
    """What was told `before` and `after` somebody tries, and whose what is then: everything else is nobody's.

    `known`: what the baseline found. `doubted`: what is contested, suspended or unconfirmed in the end. `dead`: how
    many lines are no events. It must end the same whether all is told at once or half of it in a later run, but for
    what is `only_later`.
    """

    before: tuple[Lines, ...]
    after: tuple[Lines, ...]
    owners: Owners = field(default_factory=dict)
    doubted: Mapping[EntityId, State] = field(default_factory=dict)
    known: tuple[EntityId, ...] = ()
    dead: int = 0
    only_later: bool = False


def again(entity: EntityId) -> Story:
    """Bob asks for what alice has made, and CDAP answers 200 as well."""
    return Story((created("alice", entity, 0),), (created("bob", entity, 600),), {entity: "alice"})


def upload(user: str, at: float) -> Lines:
    """A jar that brings an application."""
    checks = (check(user, ARTIFACT, "STANDARD.CREATE"), check(user, APP, "STANDARD.CREATE"))
    return request("POST", "/v3/namespaces/NS0/apps", *checks, at=at)


def uploaded(user: str, at: float) -> Lines:
    """What the router says of it; CDAP runs it as its master user."""
    response = '{"name": "Shop", "artifact": {"name": "lib", "version": "1.0.0"}}'
    return logged(user, "POST", "/v3/namespaces/NS0/apps", at, response=response)


def garbled(lines: Lines) -> Lines:
    """The record broke off."""
    return Lines(lines.source, lines.text[: -len(lines.text) // 3])


def repeated(user: str, lines: Lines) -> Lines:
    """The record alone, in the name of somebody else."""
    record = lines.text.splitlines()[-1]
    return Lines(lines.source, record.replace('"alice"', f'"{user}"'))


def delete_all(path: str, *checks: tuple[EntityId, bool], at: float, code: int = 200) -> Lines:
    asked = (check("alice", entity, "STANDARD.DELETE", allowed=allowed) for entity, allowed in checks)
    return request("DELETE", path, *asked, at=at, code=code)


def odd_name(part: str) -> EntityId:
    return EntityId("dataset", ("NS0", part))


DATASETS, APPS = "/v3/namespaces/NS0/data/datasets", "/v3/namespaces/NS0/apps"
ALICES = (created("alice", KV, 0), created("alice", OTHER, 0))
BOB_AGAIN = (created("bob", KV, 600), created("bob", OTHER, 600))
EVERYTHING = (NS, APP, SCHEDULE, KV, ARTIFACT, MODULE, KEY, PROFILE)
FIRST = created("alice", KV, 0)
GONE = deleted("alice", KV, 100)

STORIES: dict[str, Story] = {
    "a namespace is put again": again(NS),
    "a namespace is put again, and only the router tells": Story(
        (put("alice", NS, 0),), (put("bob", NS, 600),), doubted={NS: State.UNCONFIRMED}
    ),
    "an application is deployed again": again(APP),
    "an application is uploaded again": Story(
        (upload("alice", 0),), (upload("bob", 600), created("bob", APP, 610)), {APP: "alice", ARTIFACT: "alice"}
    ),
    "a deployment deletes the schedules": Story(
        (created("alice", APP, 0), created("alice", SCHEDULE, 10)), (created("bob", APP, 600),), {APP: "alice"}
    ),
    "and somebody else adds one": Story(
        (created("alice", APP, 0), created("alice", SCHEDULE, 10)),
        (created("bob", APP, 600), created("bob", SCHEDULE, 700)),
        {APP: "alice", SCHEDULE: "bob"},
    ),
    "a schedule is put again": again(SCHEDULE),
    "an artifact is added again": again(ARTIFACT),
    "a module is put again": again(MODULE),
    "a secure key is written again": again(KEY),
    "a profile is put again": again(PROFILE),
    "all of it a moment later": Story(
        tuple(created("alice", entity, 0) for entity in EVERYTHING),
        tuple(created("bob", entity, 0.5) for entity in EVERYTHING),
        dict.fromkeys(set(EVERYTHING) - {SCHEDULE}, "alice"),
        # Bob's deployment deletes it, at the moment at which he adds it.
        doubted={SCHEDULE: State.CONTESTED},
    ),
    "a dataset is updated": Story(
        (created("alice", KV, 0), audited("alice", KV, 0.1)),
        (
            request("PUT", f"{uri(KV)}/properties", check("bob", KV, "STANDARD.UPDATE"), at=600),
            created("bob", KV, 601),
            *(audited("bob", KV, 602 + n, word) for n, word in enumerate(["UPDATE", "METADATA_CHANGE", "TRUNCATE"])),
            audited("bob", KV, 610),
        ),
        {KV: "alice"},
    ),
    "what the baseline knows is put again": Story(
        (),
        tuple(created("bob", entity, 600) for entity in EVERYTHING),
        doubted={SCHEDULE: State.CONTESTED},
        known=EVERYTHING,
    ),
    "what the baseline knows is told by every source": Story(
        (), (created("bob", KV, 600), audited("bob", KV, 600), put("bob", KV, 600)), known=(NS, KV)
    ),
    "what the baseline knows is deleted and created": Story(
        (deleted("alice", KV, 0),), (created("bob", KV, 600),), {KV: "bob"}, known=(NS, KV)
    ),
    "deleted and created again": Story((FIRST, GONE), (created("bob", KV, 200),), {KV: "bob"}),
    "a namespace is deleted and created again": Story(
        tuple(created("alice", entity, 0) for entity in EVERYTHING),
        (deleted("alice", NS, 300), created("bob", NS, 600)),
        {NS: "bob"},
    ),
    "an application is deleted and created again": Story(
        (created("alice", APP, 0), created("alice", SCHEDULE, 1), created("alice", KV, 2)),
        (deleted("alice", APP, 300), created("bob", APP, 600)),
        {APP: "bob", KV: "alice"},
    ),
    "all datasets deleted but those that he may not": Story(
        ALICES,
        (delete_all(DATASETS, (KV, True), (OTHER, False), at=300), *BOB_AGAIN),
        {KV: "bob", OTHER: "alice"},
    ),
    "all datasets deleted, which failed": Story(
        ALICES,
        (
            delete_all(DATASETS, (KV, True), (OTHER, True), at=300, code=500),
            delete_all(DATASETS, (KV, True), (OTHER, False), at=301, code=403),
            *BOB_AGAIN,
        ),
        doubted={KV: State.SUSPENDED, OTHER: State.SUSPENDED},
    ),
    "all applications deleted, which failed": Story(
        (created("alice", APP, 0),),
        (delete_all(APPS, (APP, True), at=300, code=409), created("bob", APP, 600)),
        doubted={APP: State.SUSPENDED},
    ),
    "all deleted, and only the router tells": Story(
        ALICES, (logged("alice", "DELETE", DATASETS, 300), *BOB_AGAIN), {KV: "alice", OTHER: "alice"}
    ),
    "what deletes nothing": Story(
        (created("alice", KV, 0), created("alice", APP, 0)),
        (
            deleted("bob", KV, 100, allowed=False),
            deleted("bob", KV, 101, code=403),
            request("POST", f"{uri(KV)}/admin/truncate", check("bob", KV, "STANDARD.DELETE"), at=102),
            request("DELETE", "/v3/namespaces/NS0/datasets/kv/metadata", check("bob", KV, "STANDARD.DELETE"), at=103),
            request("DELETE", f"{uri(APP)}/versions/1", check("bob", APP, "STANDARD.DELETE"), at=104),
            audited("bob", KV, 105, "TRUNCATE"),
            created("bob", KV, 600),
            created("bob", APP, 600),
        ),
        {KV: "alice", APP: "alice"},
    ),
    "what creates nothing": Story(
        (
            created("bob", KV, 0, code=409),
            created("bob", KV, 1, allowed=False),
            created("bob", KV, 2, code=403),
            put("bob", KV, 3, code=500),
            audited("bob", KV, 4, "ACCESS"),
        ),
        (created("alice", KV, 100),),
        {KV: "alice"},
    ),
    "the master user made it": Story((created("cdap", NS, 0),), (created("bob", NS, 600),)),
    "an impersonated user made it": Story(
        (
            request("PUT", uri(KV), check("svc", KV, "STANDARD.CREATE"), check("alice", NS, "STANDARD.GET"), at=0),
            audited("svc", KV, 0.1),
        ),
        (created("bob", KV, 600), created("alice", KV, 601)),
        {KV: "svc"},
    ),
    "nobody made it": Story(
        (audited("", KV, 0), put("-", APP, 0)),
        (created("bob", KV, 600), created("bob", APP, 600)),
        doubted={KV: State.CONTESTED, APP: State.CONTESTED},
    ),
    "a local dataset": Story((created("alice", LOCAL, 0), audited("alice", LOCAL, 0)), (created("bob", LOCAL, 600),)),
    "an application of a preview": Story((created("alice", PREVIEW, 0),), (created("bob", PREVIEW, 600),)),
    "in the namespace system": Story((created("alice", IN_SYSTEM, 0),), (created("bob", IN_SYSTEM, 600),)),
    "names that Ranger would read as several": Story(
        (created("alice", KV, 0),),
        tuple(created("bob", odd_name(part), 600) for part in ("*", "k*", "?v", "k\\v", "{kv,kv2}", "kv,kv2")),
        {KV: "alice"},
        dead=12,
    ),
    "users whom Ranger would read as several": Story(
        (created("alice", KV, 0),),
        tuple(
            created(user, odd_name(f"by{n}"), 600)
            for n, user in enumerate(["*", "b?b", "{USER}", "{OWNER}", "public", "bob,alice", "b\\ob", " bob"])
        ),
        {KV: "alice"},
    ),
    "a second version by somebody else": Story(
        (created("alice", APP, 0),),
        (
            request("POST", f"{uri(APP)}/versions/2/create", check("bob", APP, "STANDARD.CREATE"), at=600),
            request("DELETE", f"{uri(APP)}/versions/1", check("bob", APP, "STANDARD.DELETE"), at=601),
            created("bob", APP, 602),
        ),
        {APP: "alice"},
    ),
    "an old creation is told again": Story(
        (FIRST, GONE, created("bob", KV, 200)), (FIRST, created("alice", KV, 0, name="NS0-again")), {KV: "bob"}
    ),
    "an old deletion is told again": Story(
        (FIRST, GONE, created("alice", KV, 200)),
        (GONE, deleted("alice", KV, 100, name="NS0-again"), created("bob", KV, 600)),
        {KV: "alice"},
    ),
    "a creation of long ago is told again": Story(
        (FIRST,), (created("bob", KV, -7200), created("bob", OTHER, -7200)), {KV: "alice"}
    ),
    "an earlier creation is told too late": Story(
        (created("alice", KV, 600),), (created("bob", KV, 0),), doubted={KV: State.CONTESTED}, only_later=True
    ),
    # A line that is rejected may be one that is missing elsewhere: nobody gains by it, and the owner may lose.
    "told by somebody who is not believed": Story(
        (FIRST,),
        (
            deleted("bob", KV, 100, caller="mallory", journalled=False),
            deleted("bob", KV, 101, instance="another", journalled=False),
            logged("bob", "DELETE", uri(KV), 102, marker="Zq7rT2mVx9Kc4Lw0"),
            Lines("router", f"Zq7rT2mVx9Kc4Lw0 {put('bob', OTHER, 103).text}"),
            created("bob", OTHER, 104, caller="mallory", journalled=False),
            created("bob", OTHER, 5e9, journalled=False),
            Lines("audit", "garbage"),
            created("bob", KV, 600),
        ),
        doubted={KV: State.SUSPENDED, OTHER: State.UNCONFIRMED},
        dead=7,
    ),
    "every source tells of both": Story(
        (created("alice", KV, 0), audited("alice", KV, 0.2), put("alice", KV, 0)),
        (created("bob", KV, 600), audited("bob", KV, 600.2), put("bob", KV, 600)),
        {KV: "alice"},
    ),
    "every source tells of both a moment later": Story(
        (created("alice", APP, 0), put("alice", APP, 0)), (created("bob", APP, 2), put("bob", APP, 2)), {APP: "alice"}
    ),
    "a moment later, and the router tells only of that": Story(
        (created("alice", APP, 0),), (created("bob", APP, 2), put("bob", APP, 2)), {APP: "alice"}
    ),
    "in one second, of which the router knows no more": Story(
        (created("alice", NS, 0.1), put("alice", NS, 0.1)),
        (created("bob", NS, 0.4), put("bob", NS, 0.4)),
        {NS: "alice"},
    ),
    "in one second, and only the router tells": Story(
        (put("alice", NS, 0),), (put("bob", NS, 0),), doubted={NS: State.UNCONFIRMED}
    ),
    "the router knows who the master user was": Story(
        (created("cdap", APP, 0), put("alice", APP, 0)),
        (created("bob", APP, 600), put("bob", APP, 600)),
        {APP: "alice"},
    ),
    "an application is uploaded through the router": Story(
        (upload("root", 0), uploaded("alice", 0)),
        (upload("root", 600), uploaded("bob", 600), created("bob", APP, 610)),
        {APP: "alice", ARTIFACT: "alice"},
    ),
    "a slow body": Story((created("bob", NS, 0, body=300), created("alice", NS, 100)), (), {NS: "alice"}),
    "a slow body, told by the router too": Story(
        (created("bob", NS, 0, body=300), put("bob", NS, 0), created("alice", NS, 100), put("alice", NS, 100)),
        (created("bob", NS, 600), put("bob", NS, 600)),
        {NS: "alice"},
    ),
    "a slow body that came first to another process": Story(
        (created("bob", NS, 0, body=300, process=OTHER_PROCESS), created("alice", NS, 100)), (), {NS: "alice"}
    ),
    "a slow body that had been checked": Story(
        (created("bob", NS, 0, seconds=300), created("alice", NS, 100)), (), doubted={NS: State.CONTESTED}
    ),
    "created over a deletion": Story(
        (created("bob", KV, 0),),
        (deleted("bob", KV, 100, seconds=5), created("alice", KV, 102, seconds=4), created("bob", KV, 110)),
        doubted={KV: State.CONTESTED},
    ),
    "created over a deletion, deleted and created again": Story(
        (created("bob", KV, 0), deleted("bob", KV, 100, seconds=5), created("alice", KV, 102, seconds=4)),
        (deleted("carol", KV, 300), created("alice", KV, 310), created("bob", KV, 320)),
        {KV: "alice"},
    ),
    "squatting on the name of an artifact": Story(
        (created("bob", ARTIFACT, 0, of="1"), deleted("bob", ARTIFACT, 100, of="1")),
        (created("alice", ARTIFACT, 200, of="2"), created("bob", ARTIFACT, 600, of="3")),
        {ARTIFACT: "alice"},
    ),
    "one of two versions of an artifact is deleted": Story(
        (created("alice", ARTIFACT, 0, of="1"), created("bob", ARTIFACT, 100, of="2")),
        (deleted("bob", ARTIFACT, 200, of="1"), created("bob", ARTIFACT, 600, of="3")),
        {ARTIFACT: "alice"},
    ),
    "one of the versions of an artifact that the baseline knows is deleted": Story(
        (deleted("bob", ARTIFACT, 0, of="1"),),
        (created("bob", ARTIFACT, 600, of="1"),),
        doubted={ARTIFACT: State.SUSPENDED},
        known=(NS, ARTIFACT),
    ),
    "a creation whose record is lost": Story(
        (created("alice", KV, 0, recorded=False),), (created("bob", KV, 900),), doubted={KV: State.CONTESTED}
    ),
    "a creation whose record cannot be read": Story(
        (garbled(created("alice", KV, 0)),), (created("bob", KV, 900),), doubted={KV: State.CONTESTED}, dead=1
    ),
    "a deletion whose record is lost": Story(
        (FIRST, deleted("alice", KV, 100, recorded=False)), (created("bob", KV, 900),), doubted={KV: State.SUSPENDED}
    ),
    "a deletion that broke": Story(
        (FIRST, deleted("alice", KV, 100, code=500)), (created("bob", KV, 600),), doubted={KV: State.SUSPENDED}
    ),
    "a deletion and a creation forged with the secret that stores records": Story(
        (created("alice", KV, 0),),
        tuple(
            line
            for entity in (KV, OTHER)
            for line in (deleted("bob", entity, 300, journalled=False), created("bob", entity, 600, journalled=False))
        ),
        doubted={KV: State.SUSPENDED, OTHER: State.SUSPENDED},
        known=(NS, OTHER),
    ),
    "a record that repeats the check of another one": Story(
        (created("alice", KV, 0, recorded=False),),
        (repeated("bob", created("alice", KV, 0)),),
        doubted={KV: State.UNCONFIRMED},
    ),
    "checks forged with the secret that asks": Story(
        (created("alice", KV, 0),),
        (created("bob", KV, 300, recorded=False), created("bob", OTHER, 300, recorded=False)),
        {KV: "alice"},
        doubted={OTHER: State.UNCONFIRMED},
    ),
    "check and record under one secret": Story(
        (created("bob", KV, 0, caller=ENFORCER), created("bob", KV, 1, enforcer=CALLER)),
        (),
        doubted={KV: State.UNCONFIRMED},
        dead=1,
    ),
    "a record without stamps": Story(
        (created("alice", KV, 0, version=1),), (created("bob", KV, 600, version=1),), doubted={KV: State.UNCONFIRMED}
    ),
}

# A CDAP that asks no decision service: its own messages are all that can be believed.
WITHOUT_A_JOURNAL: dict[str, Story] = {
    "a stream is updated": Story(
        (audited("alice", STREAM, 0), put("alice", STREAM, 0)),
        (audited("bob", STREAM, 600, "UPDATE"), put("bob", STREAM, 601), audited("bob", STREAM, 602)),
        {STREAM: "alice"},
    ),
    "a namespace is put, and only the router tells": Story(
        (put("alice", NS, 0),), (put("bob", NS, 600),), doubted={NS: State.UNCONFIRMED}
    ),
    "deleted and created again, as CDAP says": Story(
        (audited("alice", KV, 0),),
        (audited("alice", KV, 100, "DELETE"), audited("bob", KV, 200)),
        {KV: "bob"},
    ),
    "a deletion and a creation that only records tell of": Story(
        (audited("alice", KV, 0),),
        (deleted("bob", KV, 100, version=1), created("bob", KV, 200, version=1), created("bob", OTHER, 200, version=1)),
        doubted={KV: State.SUSPENDED, OTHER: State.UNCONFIRMED},
    ),
}
