"""Who deploys over another user's application replaces its code: it needs the right to update that application."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier, Thread

import pytest

from tests.authz.fixtures import policy
from tests.service.event_samples import Json, stamp, stamped
from tests.service.fixtures import World, serving
from tests.service.journal_fixtures import APP, CREATE, UPDATE, ask, question

EARLY = "AppLifecycleHttpHandler.deployAppFromArtifact AppLifecycleHttpHandler.create"
DEPLOYS = "LocalArtifactLoaderStage.process AbstractStage.process"
POLICIES = [
    policy(1, {"namespace": "ns1"}, ["alice", "bob", "both"], ["read", "write"]),
    policy(2, {"namespace": "ns1", "application": "shop"}, ["owner", "both"], ["admin"]),
]
"""alice and bob may deploy new applications and store new keys, the owner may update the shop, and one may do both."""


def inventory(directory: Path, *apps: str) -> Path:
    header = {"v": 1, "instance": "cdap", "taken": datetime.now(UTC).isoformat()}
    entities = [{"type": "application", "parts": ["ns1", app]} for app in apps]
    file = directory / "inventory.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in (header, *entities)), "utf-8")
    return file


def deploys(world: World, user: str, number: int = 1, hint: str = DEPLOYS) -> Json:
    answer: Json = ask(world, question(user=user, of=APP, permissions=[CREATE], hint=hint, check=stamp(number)))
    assert not answer["allowed"] or not answer["cacheable"]
    return answer


def tell(world: World, user: str, number: int = 1, *, method: str = "PUT", code: int = 200) -> None:
    """CDAP reports how the request ended."""
    told = stamped(
        number,
        method=method,
        uri="/v3/namespaces/ns1/apps/shop",
        code=code,
        check_principal=user,
        check_type="APPLICATION",
        check_parts=list(APP[1:]),
        check_permissions=[CREATE if method == "PUT" else "STANDARD.DELETE"],
    )
    assert world.ask("audit", "POST", "/cdap/v1/audit", {"records": [told]}).status == 200


KNOWN: dict[str, tuple[tuple[str, ...] | None, set[str]]] = {
    "no inventory": (None, {"owner", "both"}),
    "an inventory without it": (("desk",), {"alice", "bob", "owner", "both"}),
    "an inventory with it": (("shop",), {"owner", "both"}),
}


@pytest.mark.parametrize("case", KNOWN)
def test_who_may_deploy_it(case: str, tmp_path: Path) -> None:
    apps, may = KNOWN[case]
    for user in ("alice", "bob", "owner", "both", "eve"):
        directory = tmp_path / user
        directory.mkdir()
        settings = {} if apps is None else {"inventory": inventory(directory, *apps)}
        with serving(POLICIES, directory, **settings) as world:
            answer = deploys(world, user)
            assert answer["allowed"] is (user in may), user
            if not answer["allowed"]:
                assert "application:ns1.shop" in answer["reason"] or "namespace:ns1" in answer["reason"]


def test_from_the_first_deployment_to_the_next_of_that_name(tmp_path: Path) -> None:
    with serving(POLICIES, tmp_path, inventory=inventory(tmp_path)) as world:
        assert deploys(world, "alice", 1, EARLY)["allowed"]
        assert deploys(world, "alice", 2)["allowed"]
        denied = deploys(world, "bob", 3)
        assert "bob needs ADMIN on application:ns1.shop" in denied["reason"]
        tell(world, "alice", 2, code=400)
        assert deploys(world, "bob", 4)["allowed"]
        tell(world, "bob", 4)
        assert not deploys(world, "alice", 5)["allowed"]
        assert not deploys(world, "bob", 6)["allowed"]  # until the grant to its creator is in effect
        assert deploys(world, "owner", 7)["allowed"]
        tell(world, "owner", 7)


def test_a_check_that_is_only_early_keeps_the_name_from_no_one(tmp_path: Path) -> None:
    with serving(POLICIES, tmp_path, inventory=inventory(tmp_path)) as world:
        assert deploys(world, "alice", 1, EARLY)["allowed"]
        assert deploys(world, "bob", 2)["allowed"]


def test_of_many_at_once_one_deploys_it_as_new(tmp_path: Path) -> None:
    users = [f"user{number}" for number in range(8)]
    write = policy(1, {"namespace": "ns1"}, users, ["read", "write"])
    with serving([write], tmp_path, inventory=inventory(tmp_path)) as world:
        start, allowed = Barrier(len(users)), []

        def one(number: int, user: str) -> None:
            start.wait()
            if deploys(world, user, number)["allowed"]:
                allowed.append(user)

        threads = [Thread(target=one, args=each) for each in enumerate(users, start=1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(allowed) == 1


def test_a_secure_key_is_replaced_by_its_owner(tmp_path: Path) -> None:
    def stores(user: str, number: int) -> bool:
        asked = question(
            user=user,
            of=("SECUREKEY", "ns1", "key"),
            permissions=[UPDATE],
            hint="DefaultSecureStoreService.put SecureStoreHandler.create",
            check=stamp(number),
        )
        allowed: bool = ask(world, asked)["allowed"]
        return allowed

    with serving(POLICIES, tmp_path, inventory=inventory(tmp_path)) as world:
        assert stores("alice", 1)
        assert not stores("bob", 2)


def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    file = inventory(tmp_path)
    with serving(POLICIES, tmp_path, inventory=file) as world:
        assert deploys(world, "alice")["allowed"]
    with serving(POLICIES, tmp_path, inventory=file) as world:
        assert not deploys(world, "bob", 2)["allowed"]
        assert deploys(world, "alice", 3)["allowed"]
