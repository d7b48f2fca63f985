"""Decision service and sync job as two real users: each has its own, and neither has what is the other's.

What the doctor says is asked as each of them, as root and as somebody else: an administrator sees other things.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.doctor import Health
from tests.other_users import GROUP, GROUP_ID, IDS, SERVICE, STRANGER, SYNC, People, only_root, people

pytestmark = [pytest.mark.slow, *only_root]

RECORDS, STATE, CACHE = "records for the sync job", "state directory", "cache directory"
SOURCE, USERS = "files of source `data-plane`", "users of decision service and sync job"
OF_SERVICE, OF_SYNC = "secrets of the decision service", "secrets of the sync job"


@dataclass(frozen=True)
class Place:
    """What both programs have on a host: one configuration, secrets and directories, each with its owner."""

    people: People
    directory: Path

    @property
    def events(self) -> Path:
        return self.directory / "service" / "events"

    @property
    def state(self) -> Path:
        return self.directory / "sync" / "state"

    @property
    def config(self) -> Path:
        return self.directory / "ranger-cdap.toml"

    def configure(self, group: str = GROUP) -> None:
        here = self.directory
        self.config.write_text(
            f"""\
ranger = {{ url = "http://127.0.0.1:9", attempts = 1 }}
plugin = {{ username = "plugin", password = "file:{here}/plugin", cache_dir = "{here}/service/cache" }}
audit = {{ sinks = [] }}
[service]
port = 0
events_dir = "{self.events}"
events_group = "{group}"
[[service.callers]]
name = "audit"
roles = ["audit"]
secret = "file:{here}/caller"
[sync]
username = "sync"
password = "file:{here}/sync-password"
state_dir = "{self.state}"
[[sync.sources]]
name = "data-plane"
kind = "data-plane"
path = "{self.events}"
callers = ["audit"]
""",
            encoding="utf-8",
        )
        self.config.chmod(0o644)

    def run(self, user: str, *arguments: str) -> tuple[int, str, str]:
        command = self.people.ranger_cdap("--config", str(self.config), *arguments)
        return self.people.run(user, *command, env={"RANGER_CDAP_DEBUG": "1"})

    def doctor(self, user: str) -> dict[str, tuple[str, str]]:
        """What the doctor says to the user, by check: how it came out, and the words."""
        ended, said, told = self.run(user, "doctor", "--json")
        assert ended in (0, 2), told
        found: dict[str, tuple[str, str]] = {}
        for each in json.loads(said):
            worse = each["check"] not in found or each["health"] == Health.FAILED
            found |= {each["check"]: (each["health"], f"{each['seen']} {each['advice']}")} if worse else {}
        return found

    def serve(self) -> None:
        """The service as its user, until it has taken its directories."""
        with self.people.popen(SERVICE, *self.people.ranger_cdap("--config", str(self.config), "serve")) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            said = process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=60)
            assert "listening on" in said, told


@pytest.fixture
def place() -> Iterator[Place]:
    """As the guide has it: everything with its owner, and one published file."""
    with people() as users:
        here = users.directory / "host"
        here.mkdir(mode=0o755)
        here.chmod(0o755)
        for name, user, mode in (("service", SERVICE, 0o711), ("sync", SYNC, 0o700)):
            (here / name).mkdir()
            users.give(here / name, user, mode)
        for name, user in (("plugin", SERVICE), ("caller", SERVICE), ("sync-password", SYNC)):
            (here / name).write_text(f"secret-of-{name}-0123456789", encoding="utf-8")
            users.give(here / name, user, 0o600)
        made = Place(users, here)
        made.configure()
        made.serve()
        publish(made)
        for made_later, user in ((made.state, SYNC), (here / "service" / "cache", SERVICE)):
            made_later.mkdir()
            users.give(made_later, user, 0o700)
        yield made


def publish(place: Place) -> None:
    """One more file, by the service's user."""
    code = (
        "import sys; from pathlib import Path; from ranger_cdap.wire.event_access import EventAccess;"
        "from ranger_cdap.service.events.event_files import EventFiles;"
        "files = EventFiles(Path(sys.argv[1]), access=EventAccess.of(sys.argv[2])); files.open();"
        "files.append(b'one\\n'); files.publish(); files.watermark.write(1, None); files.close()"
    )
    group = re.findall(r'events_group = "(.*)"', place.config.read_text(encoding="utf-8"))[0]
    ended, _, told = place.people.run(SERVICE, place.people.python, "-c", code, str(place.events), group)
    assert ended == 0, told


def published(place: Place) -> list[Path]:
    return sorted(place.events.glob("*.jsonl"))


# --- what each can do ---------------------------------------------------------------------------------------------

ATTACKS = {
    "write a new file": "(p[0] / '999-x.jsonl').write_bytes(b'{}')",
    "append to a file": "p[1].open('ab').write(b'{}')",
    "write over a file": "p[1].write_bytes(b'{}')",
    "cut a file": "os.truncate(p[1], 0)",
    "rename a file": "p[1].rename(p[0] / 'other')",
    "delete a file": "p[1].unlink()",
    "open a file to others": "p[1].chmod(0o666)",
    "take a file over": "os.chown(p[1], os.getuid(), -1)",
    "replace the watermark": "(p[0] / '.watermark').write_bytes(b'{}')",
    "delete the watermark": "(p[0] / '.watermark').unlink()",
    "make a directory": "(p[0] / 'mine').mkdir()",
    "put a link": "(p[0] / 'link.jsonl').symlink_to('/etc/passwd')",
    "list what is being written": "os.listdir(p[0] / '.incoming')",
    "read the id of the journal": "(p[0] / '.incoming' / 'journal-id').read_bytes()",
    "hold the lock": "os.open(p[0] / '.incoming' / 'lock', os.O_RDWR)",
    "rename the directory": "p[0].rename(p[0].parent / 'other')",
    "open the directory to others": "p[0].chmod(0o777)",
    "read the cache": "os.listdir(p[0].parent / 'cache')",
}


@pytest.mark.parametrize("user", [SYNC, STRANGER])
def test_nobody_but_the_service_changes_an_event(place: Place, user: str) -> None:
    (file,) = published(place)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in place.events.iterdir())
    for name, attack in ATTACKS.items():
        assert not place.people.can(user, attack, place.events, file), name
    assert sorted((path.name, path.stat().st_mtime_ns) for path in place.events.iterdir()) == before
    assert file.read_bytes() == b"one\n"


def test_the_same_attacks_succeed_for_the_owner_so_that_they_are_attacks(place: Place) -> None:
    for name, attack in ATTACKS.items():
        if not published(place):
            publish(place)
        if name not in ("rename the directory", "take a file over"):
            assert place.people.can(SERVICE, attack, place.events, published(place)[0]), name
            place.events.chmod(0o750)


@pytest.mark.parametrize(("user", "reads"), [(SYNC, True), (SERVICE, True), (STRANGER, False)])
def test_the_sync_job_reads_what_is_published(place: Place, user: str, reads: bool) -> None:
    (file,) = published(place)
    for attempt in ("p[1].read_bytes()", "(p[0] / '.watermark').read_bytes()", "os.listdir(p[0])"):
        assert place.people.can(user, attempt, place.events, file) is reads


def test_neither_reads_the_secrets_of_the_other_nor_the_service_the_ledger(place: Place) -> None:
    own = {SERVICE: ["plugin", "caller"], SYNC: ["sync-password"]}
    for user in own:
        for owner, names in own.items():
            for name in names:
                assert place.people.can(user, "p[0].read_bytes()", place.directory / name) is (user == owner)
    for attempt in ("os.listdir(p[0])", "(p[0] / 'x').touch()", "p[0].rename(p[0].parent / 'y')", "os.stat(p[0])"):
        assert not place.people.can(SERVICE, attempt, place.state)


@pytest.mark.parametrize(
    ("mode", "group"),
    [(0o2775, IDS[SERVICE]), (0o755, 0), (0o750, GROUP_ID)],
    ids=["as Kubernetes leaves it to fsGroup", "as an administrator makes it", "as the image has it"],
)
def test_on_the_root_of_a_volume_the_sync_job_can_only_read_what_the_service_makes(
    place: Place, mode: int, group: int
) -> None:
    volume = place.directory / "volume"
    volume.mkdir()
    os.chown(volume, 0 if mode == 0o2775 else IDS[SERVICE], group)
    volume.chmod(mode)
    config = place.config.read_text(encoding="utf-8")
    place.config.write_text(config.replace(str(place.events), str(volume / "records")), encoding="utf-8")
    place.serve()
    made = volume / "records"
    assert (made.stat().st_mode & 0o7777, made.stat().st_uid, made.stat().st_gid) == (0o750, IDS[SERVICE], GROUP_ID)
    assert place.people.can(SYNC, "(p[0] / '.watermark').read_bytes()", made)
    for attack in ("(p[0] / 'x.jsonl').touch()", "p[0].rename(p[0].parent / 'other')", "(p[0].parent / 'x').mkdir()"):
        assert not place.people.can(SYNC, attack, made), attack


# --- the programs -------------------------------------------------------------------------------------------------


def test_each_program_starts_with_its_own_secrets_only_and_names_one_that_it_lacks(place: Place) -> None:
    ended, _, told = place.run(SYNC, "serve")
    assert (ended, f"secret file `{place.directory}/plugin` cannot be read: Permission denied" in told) == (3, True), (
        told
    )
    ended, _, told = place.run(SERVICE, "sync", "run")
    wanted = f"secret file `{place.directory}/sync-password` cannot be read: Permission denied"
    assert (ended, wanted in told) == (3, True), told
    assert place.run(SYNC, "config")[0] == 0


def test_a_service_that_is_not_in_the_group_does_not_start(place: Place) -> None:
    with people(members=(SYNC,)) as others:
        outside = Place(People(others.directory, (SYNC,), place.people.python), place.directory)
        ended, _, told = outside.run(SERVICE, "serve")
        assert ended == 3
        assert f"user `{SERVICE}`, which runs this program, is not in the group `{GROUP}` of" in told
        assert "usermod -aG" in told
        assert outside.doctor(SERVICE)[RECORDS][0] == Health.FAILED


@pytest.mark.parametrize("mode", [0o640, 0o644], ids=oct)
def test_files_of_another_user_end_the_start_of_the_service(place: Place, mode: int) -> None:
    (file,) = published(place)
    os.chown(file, IDS[STRANGER], GROUP_ID)
    file.chmod(mode)
    assert place.doctor("root")[RECORDS][0] == Health.FAILED
    ended, said, told = place.run(SERVICE, "serve")
    assert (ended, said) == (3, "")
    assert f"`{file}` does not belong to `{SERVICE}`" in told
    assert "chown -R" in told


def test_a_change_of_the_events_group_counts_from_the_next_start(place: Place) -> None:
    def seen() -> set[tuple[int, bool]]:
        files = (*published(place), place.events / ".watermark")
        return {(path.stat().st_mode & 0o777, path.stat().st_gid == GROUP_ID) for path in files}

    assert seen() == {(0o640, True)}
    place.configure(group="")
    place.serve()
    assert {mode for mode, _ in seen()} == {0o600}
    assert place.events.stat().st_mode & 0o7777 == 0o700
    assert not place.people.can(SYNC, "p[0].read_bytes()", published(place)[0])
    place.configure(group=str(GROUP_ID))
    found = place.doctor(SERVICE)[RECORDS]
    assert (found[0], "restart the decision service" in found[1]) == (Health.FAILED, True)
    place.serve()
    assert seen() == {(0o640, True)}
    assert place.people.can(SYNC, "p[0].read_bytes()", published(place)[0])


# --- the doctor ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", [SERVICE, SYNC, "root"])
def test_where_all_is_as_the_guide_has_it_the_doctor_finds_nothing_wrong_with_users(place: Place, user: str) -> None:
    found = place.doctor(user)
    checks = (RECORDS, STATE, CACHE, SOURCE, USERS, *({SERVICE: [OF_SERVICE], SYNC: [OF_SYNC]}.get(user, [])))
    assert {check: found[check] for check in checks if found[check][0] != Health.WELL} == {}
    assert found[USERS][1].strip() == f"decision service: `{SERVICE}`, sync job: `{SYNC}`"
    if user == "root":
        assert {found[OF_SERVICE][0], found[OF_SYNC][0]} == {Health.WELL}
    else:
        other = "sync account `sync`" if user == SERVICE else "plugin account `plugin`"
        assert found[f"sign-in of {other}"][0] == Health.NOTE


def no_group(place: Place) -> None:
    place.configure(group="")


def events_for_all_to_write(place: Place) -> None:
    place.events.chmod(0o777)


def events_for_the_group_to_write(place: Place) -> None:
    place.events.chmod(0o770)


def a_file_for_the_group_to_write(place: Place) -> None:
    published(place)[0].chmod(0o660)


def a_file_that_is_not_given(place: Place) -> None:
    published(place)[0].chmod(0o600)


def events_for_all_to_read(place: Place) -> None:
    place.events.chmod(0o755)


def events_of_a_stranger(place: Place) -> None:
    os.chown(place.events, IDS[STRANGER], GROUP_ID)


def state_for_all_to_read(place: Place) -> None:
    place.state.parent.chmod(0o755)
    place.state.chmod(0o755)


def state_below_the_services(place: Place) -> None:
    config = place.config.read_text(encoding="utf-8")
    inside = place.directory / "service" / "sync"
    inside.mkdir()
    place.people.give(inside, SYNC, 0o700)
    place.config.write_text(config.replace(str(place.state), str(inside)), encoding="utf-8")


def one_secret_of_the_sync_for_the_service(place: Place) -> None:
    place.people.give(place.directory / "sync-password", SYNC, 0o644)


def one_secret_of_the_service_for_the_sync(place: Place) -> None:
    place.people.give(place.directory / "caller", SERVICE, 0o644)


def a_secret_the_service_cannot_read(place: Place) -> None:
    place.people.give(place.directory / "caller", STRANGER, 0o600)


def one_user_for_both(place: Place) -> None:
    for path in (place.state.parent, place.state):
        os.chown(path, IDS[SERVICE], IDS[SERVICE])


Spoil = Callable[[Place], None]
# what is wrong, which check tells, who is told, and how
WRONG: list[tuple[Spoil, str, tuple[str, ...], Health]] = [
    (no_group, RECORDS, (SERVICE, SYNC, "root"), Health.FAILED),
    (events_for_all_to_write, RECORDS, (SERVICE, SYNC, "root"), Health.FAILED),
    (events_for_the_group_to_write, RECORDS, (SERVICE, SYNC, "root"), Health.FAILED),
    (events_for_the_group_to_write, SOURCE, (SERVICE, SYNC, "root"), Health.FAILED),
    (a_file_for_the_group_to_write, SOURCE, (SERVICE, SYNC, "root"), Health.FAILED),
    (a_file_that_is_not_given, RECORDS, (SERVICE, SYNC, "root"), Health.FAILED),
    (a_file_that_is_not_given, SOURCE, (SYNC, "root"), Health.FAILED),
    (events_for_all_to_read, RECORDS, (SERVICE, SYNC, "root"), Health.FAILED),
    (events_of_a_stranger, RECORDS, (SERVICE,), Health.FAILED),
    (state_for_all_to_read, STATE, (SERVICE, SYNC, "root"), Health.FAILED),
    (state_below_the_services, STATE, (SERVICE, SYNC, "root"), Health.FAILED),
    (one_secret_of_the_sync_for_the_service, OF_SERVICE, (SERVICE, "root"), Health.FAILED),
    (one_secret_of_the_service_for_the_sync, OF_SYNC, (SYNC, "root"), Health.FAILED),
    (a_secret_the_service_cannot_read, OF_SERVICE, (SERVICE, "root"), Health.FAILED),
    (one_user_for_both, USERS, (SERVICE, "root"), Health.NOTE),
]


@pytest.mark.parametrize(
    ("spoil", "check", "told", "health"), WRONG, ids=[f"{row[0].__name__}-{row[1][:7]}" for row in WRONG]
)
def test_what_is_wrong_is_told_to_everyone_who_can_see_it(
    place: Place, spoil: Spoil, check: str, told: tuple[str, ...], health: Health
) -> None:
    spoil(place)
    for user in told:
        found = place.doctor(user)
        assert found[check][0] == health, (user, found[check])


def test_a_sync_user_outside_the_group_reads_what_to_do(place: Place) -> None:
    with people(members=(SERVICE,)) as others:
        outside = Place(People(others.directory, (SERVICE,), place.people.python), place.directory)
        for user in (SYNC, "root"):
            found = outside.doctor(user)
            assert found[SOURCE][0] == Health.FAILED
            assert "usermod -aG" in found[SOURCE][1]
            assert f"user `{SYNC}` is not in the group `{GROUP}`" in found[RECORDS][1]
        ended, _, said = outside.run(SYNC, "sync", "run")
        assert (ended, "cannot be read: Permission denied" in said) == (3, True), said
    published(place)[0].chmod(0o600)
    ended, _, said = place.run(SYNC, "sync", "run")
    assert (ended, "set `service.events_group`" in said) == (3, True), said


def test_somebody_else_gets_a_note_for_what_only_others_read_and_no_crash(place: Place) -> None:
    found = place.doctor(STRANGER)
    for check, name in ((OF_SERVICE, "caller"), (OF_SYNC, "sync-password")):
        assert (found[check][0], str(place.directory / name) in found[check][1]) == (Health.NOTE, True)


def test_the_doctor_changes_nothing(place: Place) -> None:
    def tree() -> dict[Path, Any]:
        return {path: (*path.lstat()[:6], path.lstat().st_mtime_ns) for path in place.directory.rglob("*")}

    before = tree()
    for user in (SERVICE, SYNC, STRANGER, "root"):
        place.doctor(user)
    assert tree() == before
