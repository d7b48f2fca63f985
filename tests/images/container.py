"""Containers of the built images, with the restrictions of `docker/compose.yaml`.

The root file system is read-only, the user is not root, there are no capabilities and no new privileges, and the
command is process 1 of a namespace. Needs root and buildah.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

STATE = "var/lib/ranger-cdap"
_BUILDAH = {**os.environ, "BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}

_START = """
set -e
root=$1 state=$2 tmp=$3 user=$4 group=$5
shift 5
mount --bind "$root" "$root"
mount --rbind "$state" "$root/var/lib/ranger-cdap"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind /etc/hosts "$root/etc/hosts"
mount -t tmpfs -o "$tmp" tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs \\
  --bounding-set=-all --inh-caps=-all "$@"
"""


def _buildah(*arguments: str) -> str:
    done = subprocess.run(["buildah", *arguments], env=_BUILDAH, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@dataclass(frozen=True, slots=True)
class Container:
    """A container that has not started: what its image says, its root, and the volume of its state."""

    image: Mapping[str, object]
    root: Path
    state: Path
    user: int
    group: int
    tmp: str = "size=64m,mode=1777"

    def by(self, user: int, group: int = 0) -> Container:
        """The same container, of another user."""
        return replace(self, user=user, group=group)

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command of the image, or the one it has."""
        environment = dict(one.split("=", 1) for one in self.image["Env"])  # type: ignore[attr-defined]
        begun = [*self.image["Entrypoint"], *(command or self.image["Cmd"])]  # type: ignore[misc]
        arguments = (self.root, self.state, self.tmp, self.user, self.group)
        return subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-c", _START, "sh", *map(str, arguments), *begun],
            env={**environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*command, **variables)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def program(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the image in place of its entry point."""
        return replace(self, image={**self.image, "Entrypoint": ()}).run(*command, **variables)


def first_process(started: subprocess.Popen[str]) -> int:
    """The number that process 1 of the container has outside."""
    for _ in range(600):
        below = subprocess.run(["pgrep", "--parent", str(started.pid)], capture_output=True, text=True, check=False)
        if below.stdout.strip():
            return int(below.stdout)
        time.sleep(0.05)
    raise AssertionError("the container has no process")


@contextmanager
def container(image: str, directory: Path) -> Iterator[Container]:
    """A container of this image; its volume begins as the directory of the image, as a named volume does."""
    config = json.loads(_buildah("inspect", "--type", "image", image))["OCIv1"]["config"]
    name = _buildah("from", image)
    try:
        root = Path(_buildah("mount", name))
        state = directory / "state"
        shutil.copytree(root / STATE, state)
        before = (root / STATE).stat()
        os.chown(state, before.st_uid, before.st_gid)
        yield Container(config, root, state, int(config["User"]), int(config["User"]))
    finally:
        _buildah("umount", name)
        _buildah("rm", name)
