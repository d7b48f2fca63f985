"""Real users for tests: the decision service, the sync job, somebody else, and the group of the events.

Only root can become somebody else. The users have names in a mount namespace of their processes and nowhere else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
SERVICE, SYNC, STRANGER = "cdap-service", "cdap-sync", "cdap-stranger"
GROUP: Final = "cdap-events"
GROUP_ID: Final = 12000
IDS: Final[Mapping[str, int]] = {SERVICE: 12001, SYNC: 12002, STRANGER: 12003, "root": 0}
MEMBERS: Final = (SERVICE, SYNC)

_NAMED: Final = 'mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/group" /etc/group && shift && exec "$@"'
_COMMAND_LINE: Final = "import sys; from ranger_cdap.cli.main import run; sys.argv[0] = 'ranger-cdap'; run()"

only_root = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
    pytest.mark.skipif(not (shutil.which("unshare") and shutil.which("setpriv")), reason="needs unshare and setpriv"),
]


@dataclass(frozen=True)
class People:
    """The users of one test, and a directory that all of them can enter; each has a home below it."""

    directory: Path
    members: tuple[str, ...] = MEMBERS
    python: str = ""

    def home(self, user: str) -> Path:
        return self.directory / "home" / user

    def popen(self, user: str, *command: str, umask: int = 0o077, **options: Any) -> subprocess.Popen[str]:
        """The command as the user, with the home and the groups of that user and nothing else of ours."""
        number = str(IDS[user])
        groups = str(GROUP_ID) if user in self.members else number
        become = ["setpriv", "--reuid", number, "--regid", number, "--groups", groups, "--"]
        become += ["sh", "-c", 'exec "$@"', "sh"]  # a shell looks for no other program of that name
        named = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _NAMED, "sh", str(self.directory)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "XDG_"))}
        environment |= {"HOME": str(self.home(user)), "PYTHONPATH": os.pathsep.join(_packages())}
        environment |= options.pop("env", {})
        return subprocess.Popen(
            [*named, *become, *command],
            env=environment,
            cwd=self.directory,
            umask=umask,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def run(self, user: str, *command: str, timeout: float = 300.0, **options: Any) -> tuple[int, str, str]:
        """How the command ends for the user, and what it says."""
        with self.popen(user, *command, **options) as process:
            try:
                said, told = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            return process.returncode, said, told

    def ranger_cdap(self, *arguments: str) -> list[str]:
        """The command line of `ranger-cdap`."""
        return [self.python, "-c", _COMMAND_LINE, *arguments]

    def can(self, user: str, attempt: str, *paths: Path) -> bool:
        """Whether an attempt in Python, with the paths as `p`, succeeds for the user."""
        code = f"import os, shutil, sys; from pathlib import Path; p = [*map(Path, sys.argv[1:])]; {attempt}"
        ended, _, told = self.run(user, self.python, "-S", "-c", code, *map(str, paths))
        assert ended == 0 or "PermissionError" in told, told
        return ended == 0

    def give(self, path: Path, user: str, mode: int) -> None:
        """Make a path that user's, with the group of the same number."""
        os.chown(path, IDS[user], IDS[user])
        path.chmod(mode)


@contextmanager
def people(members: tuple[str, ...] = MEMBERS) -> Iterator[People]:
    """Users and a place for them; the members are in the group of the events."""
    with tempfile.TemporaryDirectory(prefix="ranger-cdap-users-") as made:
        directory = Path(made)
        directory.chmod(0o755)
        users = {name: number for name, number in IDS.items() if number}
        passwd = [f"{name}:x:{number}:{number}::{directory}/home/{name}:/bin/sh" for name, number in users.items()]
        groups = [f"{name}:x:{number}:" for name, number in users.items()]
        groups.append(f"{GROUP}:x:{GROUP_ID}:{','.join(members)}")
        for file, lines in (("passwd", passwd), ("group", groups)):
            ours = Path("/etc", file).read_text(encoding="utf-8")
            (directory / file).write_text(ours + "\n".join(lines) + "\n", encoding="utf-8")
            (directory / file).chmod(0o644)
        (directory / "home").mkdir(mode=0o755)
        (directory / "home").chmod(0o755)
        found = People(directory, members)
        for name in users:
            found.home(name).mkdir()
            found.give(found.home(name), name, 0o700)
        yield People(directory, members, _python(found))


def _packages() -> list[str]:
    """Where ours and those of the virtual environment are; not the library of a Python, which each brings itself."""
    own = [path for path in sys.path if path]
    if sys.prefix == sys.base_prefix:
        return own
    return [path for path in own if not Path(path).is_relative_to(sys.base_prefix)]


def _python(found: People) -> str:
    """A Python that others can run: where ours is in the home of root, that of the system, of the same version."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in dict.fromkeys((sys.executable, f"/usr/local/bin/{name}", f"/usr/bin/{name}")):
        if _can_run(found, candidate):
            return candidate
    pytest.skip("no Python of this version can be run by another user, or no namespace can be made")


def _can_run(found: People, python: str) -> bool:
    if python not in _RUNNABLE:
        wanted = "import msgspec, requests, ranger_cdap"
        _RUNNABLE[python] = found.run(SERVICE, python, "-c", wanted)[0] == 0
    return _RUNNABLE[python]


_RUNNABLE: dict[str, bool] = {}
