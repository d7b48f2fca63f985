"""The bad days of the cache's disk, each by its name: decisions go on, and nothing half written ever decides."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from pathlib import Path

import msgspec
import pytest

from ranger_cdap.config import Secret, Settings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from ranger_cdap.ranger.refresh.refresh_state import LastContact
from tests.disk_faults import NOBODY, ended_well, full_disk, in_a_child
from tests.ranger.documents import SERVICE, policies, policy, roles
from tests.ranger.fixtures import FRESH, Clock, FakeRanger, Started, may_read


def test_a_full_disk(started: Started, ranger: FakeRanger, clock: Clock) -> None:
    refresher = started()
    refresher.refresh()
    ranger.documents["policies"] = policies(2, policy(1, "bob"))
    clock.goes_on(30)
    with full_disk(100):
        during = refresher.refresh()
    assert (during.state, may_read(during, "bob"), may_read(during)) == (FRESH, True, False)
    assert "cannot be written" in refresher.snapshot.cache_problem
    ranger.is_away()
    old = started().refresh()
    assert old.versions.policies == 1
    assert old.contact_at == pytest.approx(clock.wall - 30)
    ranger.is_back()
    refresher.refresh()
    assert refresher.snapshot.cache_problem == ""
    ranger.is_away()
    assert started().refresh().versions.policies == 2


@pytest.mark.parametrize(("mode", "cache_is_read"), [(0o500, True), (0o000, False)], ids=["read-only", "closed"])
def test_a_read_only_cache_directory(
    ranger: FakeRanger,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: int,
    cache_is_read: bool,
) -> None:
    """In a child that is not root: root may write everywhere."""
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    here = msgspec.structs.replace(settings.plugin, cache_dir=Path("cache/of"))

    def plugin() -> PolicyRefresher:
        admin = RangerAdmin(AdminConnection(settings.ranger.url, username="svc", password=Secret("x")))
        return PolicyRefresher(admin, msgspec.structs.replace(settings, plugin=here))

    def as_another() -> None:
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        with pytest.raises(OSError, match="denied"):
            Path("cache/of/new").touch()
        refresher = plugin()
        fresh = refresher.refresh()
        assert (fresh.state, may_read(fresh, "bob")) == (FRESH, True)
        assert refresher.snapshot.cache_problem
        ranger.is_away()
        old = plugin().refresh()
        assert (may_read(old), may_read(old, "bob")) == (cache_is_read, False)

    plugin().refresh()
    ranger.documents["policies"] = policies(2, policy(1, "bob"))
    there = [place, *place.rglob("*")]
    if os.geteuid() == 0:
        for path in there:
            os.chown(path, NOBODY, -1)
    (place / "cache/of").chmod(0o500)
    (place / "cache").chmod(mode)
    try:
        assert ended_well(in_a_child(as_another))
    finally:
        (place / "cache").chmod(0o700)
        (place / "cache/of").chmod(0o700)


KILLS = 60
SINCE = 1_700_000_000.0
LARGE = policies(0, *(policy(n) for n in range(400)))


def of_version(version: int) -> Documents:
    """A set that tells its version in each document, of a size that keeps the disk busy."""
    return Documents(LARGE.replace(b'"policyVersion": 0', b'"policyVersion": %d' % version), roles(version))


def written(cache: PolicyCache, version: int) -> None:
    at = SINCE + version
    cache.write(of_version(version), LastContact(at, 0, at, Versions(version, version)))


def killed_while_writing(cache: PolicyCache, version: int, after: float) -> tuple[int, bool]:
    """Have a child write one version after another and kill it; the last version begun, and whether it was not done."""
    told, tells = os.pipe()

    def write_on() -> None:
        for now in itertools.count(version):
            os.write(tells, b"begins %d\n" % now)
            written(cache, now)
            os.write(tells, b"is done\n")

    child = in_a_child(write_on)
    os.close(tells)
    with os.fdopen(told) as lines:
        first = lines.readline()
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said = [first, *lines]
    begun = [int(line.split()[1]) for line in said if line.startswith("begins")]
    return begun[-1], said[-1].startswith("begins")


@pytest.mark.kills
def test_a_kill_in_the_middle_of_a_cache_write_many_times_at_random(tmp_path: Path) -> None:
    """Whatever a killed process leaves, the next finds whole documents, not younger than they are, and no lock."""
    cache = PolicyCache(tmp_path, SERVICE, report=pytest.fail)
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    written(cache, 1)
    last, in_the_middle = 1, 0
    for _ in range(KILLS):
        last, unfinished = killed_while_writing(cache, last + 1, dice.uniform(0, 0.03))
        in_the_middle += unfinished
        now = SINCE + last + 1000
        found = cache.load(now)
        assert found is not None, seed
        held, age = found
        assert held.documents.policies == of_version(held.versions.policies).policies, seed
        assert held.documents.roles == of_version(held.versions.roles).roles, seed
        oldest = min(held.versions.policies, held.versions.roles)
        assert oldest <= last, seed
        assert age >= now - (SINCE + oldest), seed
    assert in_the_middle > KILLS / 10
    written(cache, last + 1)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json"] * 4 + [".lock"]
