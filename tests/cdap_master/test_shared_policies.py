"""What people do beside a creator's right, as a real CDAP answers: it lasts as long as the entity, and no longer.

No answer is cached here, so that each one is Ranger's of that moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.cli.main import main
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of
from spark_sync.grants.policy_rest import policy_rest
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life
from spark_sync.reconcile.manual import manual_ledger
from tests.cdap_master.fixtures import World, bridge_world
from tests.cdap_master.in_memory_cdap import missing_part
from tests.cdap_master.sync_job import Job
from tests.real_ranger.ui_forms import POLICIES, item, saved_policy
from tests.spark_sync.grants.fixtures import Watched
from tests.testing.admin.caller import Caller

NOTHING, READ, ALL = (403, 403), (200, 403), (200, 200)
"""CDAP's answers to who looks at a namespace and changes it."""


@pytest.fixture(scope="module")
def open_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """nina and zoe may create namespaces, bob may do nothing."""
    if sentence := missing_part():
        pytest.skip(sentence)
    uncached = {"security.authorization.extension.config.cache.seconds": "0"}
    with bridge_world(tmp_path_factory.mktemp("open"), uncached) as made:
        made.people({"nina": ["WRITE instance:"], "zoe": ["WRITE instance:"], "bob": []})
        yield made


@dataclass
class Place:
    """A namespace of a CDAP, and the sync job that gives it to its creator."""

    job: Job
    name: str
    requests: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, world: World, directory: Path, name: str, **sync: Any) -> Place:
        """One that is not there yet; `sync` are settings of its job."""
        settings = msgspec.structs.replace(world.settings, sync=msgspec.structs.replace(world.settings.sync, **sync))
        return cls(Job(replace(world, settings=settings), directory), name)

    @property
    def path(self) -> str:
        return f"/v3/namespaces/{self.name}"

    def created(self, by: str) -> Life:
        """The life that a run has granted its creator."""
        return self._asked(by, "PUT", self.path)[f"namespace:{self.name}"]

    def deleted(self, by: str) -> None:
        assert f"namespace:{self.name}" not in self._asked(by, "DELETE", f"/v3/unrecoverable/namespaces/{self.name}")

    def answers(self, *people: str) -> list[tuple[int, int]]:
        """CDAP's answers now to each of them, who looks at it and changes it."""
        self.job.world.refresh()
        users = map(self.job.world.user, people)
        changed = {"description": "changed"}
        return [
            (user.ask(f"GET {self.path}").status_code, user.ask(f"PUT {self.path}/properties", changed).status_code)
            for user in users
        ]

    def policies(self) -> list[Policy]:
        """The policies that name it."""
        ranger = self.job.world.ranger
        named = {"instance": [ranger.instance], "namespace": [self.name]}
        listed = ranger.admin.list_policies(ranger.service)
        return [one for one in listed if {level: on.values for level, on in one.resources.items()} == named]

    def _asked(self, by: str, method: str, path: str) -> dict[str, Life]:
        self.job.world.user(by).must(f"{method} {path}", {})
        self.requests.append((method, path))
        return self.job.run(*self.requests)


@pytest.mark.parametrize(("delegate", "afterwards"), [(False, READ), (True, NOTHING)])
def test_an_edited_right_ends_with_the_entity_and_other_items_as_on_deletion_says(
    open_world: World, tmp_path: Path, delegate: bool, afterwards: tuple[int, int]
) -> None:
    place = Place.of(open_world, tmp_path, "edited_delegable" if delegate else "edited", delegate_admin=delegate)
    ours = f"{POLICIES}/{place.created('nina').policy_id}"
    assert place.answers("nina", "zoe", "bob") == [ALL, NOTHING, NOTHING]

    form = Caller(open_world.ranger.url, password=open_world.ranger.password.reveal())
    read = form("GET", ours)[1]
    edited = saved_policy(read, policyItems=[*read["policyItems"], item("read", users=["bob"])])
    assert form("PUT", ours, edited)[0] == 200
    place.job.run()
    assert place.answers("nina", "zoe", "bob") == [ALL, NOTHING, READ]

    place.deleted("nina")
    place.created("zoe")
    assert place.answers("nina", "zoe", "bob") == [NOTHING, ALL, afterwards]


def test_a_job_role_has_a_policy_beside_the_creators_which_ends_by_itself(
    open_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", open_world.ranger.password.reveal())
    config = tmp_path / "ranger-cdap.toml"
    config.write_text(f'[ranger]\nurl = "{open_world.ranger.url}"\nservice = "{open_world.ranger.service}"\n')
    job = ("viewer", "--namespace", "roles", "--yes")
    place = Place.of(open_world, tmp_path, "roles")
    place.created("nina")
    ours = place.policies()
    assert [is_creators_policy(one) for one in ours] == [True]

    assert main(["--config", str(config), "roles", "apply", *job, "--user", "bob"]) == 0
    assert place.answers("nina", "zoe", "bob") == [ALL, NOTHING, READ]
    beside = [one for one in place.policies() if one not in ours]
    assert [(is_creators_policy(one), one.policy_items[0].roles) for one in beside] == [(False, ["roles_viewer"])]
    assert place.policies() == [*ours, *beside]

    place.deleted("nina")
    place.created("zoe")
    assert place.answers("nina", "zoe", "bob") == [NOTHING, ALL, READ]
    assert main(["--config", str(config), "roles", "remove", *job]) == 0
    assert place.answers("nina", "zoe", "bob") == [NOTHING, ALL, NOTHING]


def test_what_a_creator_shares_in_cdap_ends_with_the_entity(open_world: World, tmp_path: Path) -> None:
    place = Place.of(open_world, tmp_path, "shared", delegate_admin=True)
    place.created("nina")
    assert place.answers("nina", "zoe", "bob") == [ALL, NOTHING, NOTHING]

    gift = {
        "authorizable": {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "shared"}},
        "principal": {"name": "bob", "type": "USER"},
        "permissions": [{"type": "STANDARD", "name": "GET"}],
    }
    open_world.user("nina").must("POST /v3/security/authorization/privileges/grant", gift)
    assert place.answers("nina", "zoe", "bob") == [ALL, NOTHING, READ]
    assert [is_creators_policy(one) for one in place.policies()] == [True, False]

    place.deleted("nina")
    place.created("zoe")
    assert place.answers("nina", "zoe", "bob") == [NOTHING, ALL, NOTHING]


def test_a_policy_in_an_older_form_is_updated_and_its_creator_is_never_refused(
    open_world: World, tmp_path: Path
) -> None:
    place = Place.of(open_world, tmp_path, "upgraded")
    life = place.created("nina")
    (ours,) = place.policies()
    older = open_world.ranger.admin.update_policy(
        msgspec.structs.replace(ours, name="creator of upgraded", additional_resources=[])
    )
    with manual_ledger(place.job.settings) as ledger:
        ledger.record([LedgerChange(None, replace(life, written=content_of(older)))])

    newer = msgspec.structs.replace(place.job.settings.sync, delegate_admin=True, regrant="auto")
    place.job.settings = msgspec.structs.replace(place.job.settings, sync=newer)
    answers: list[tuple[int, int]] = []
    with policy_rest(place.job.settings) as sync:
        watched = Watched(sync, after=lambda _name, _number: answers.extend(place.answers("nina")))
        place.job.run(ranger=watched)
    assert set(answers) == {ALL}
    (now,) = place.policies()
    assert (now.guid, now.version) == (ours.guid, (older.version or 0) + 1)
    assert (now.name, now.additional_resources) == (ours.name, ours.additional_resources)
    assert now.policy_items[0].delegate_admin
