"""A Debian of its own, below a folder: packages are installed in it by its own dpkg. Needs root and mmdebstrap."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

RELEASE = "bookworm"
# What the packages need of a distribution; nothing here has a Python package of ours.
NEEDED = (
    *("python3.11", "openjdk-17-jre-headless", "systemd-standalone-sysusers", "systemd-standalone-tmpfiles"),
    *("bash-completion",),
)

_VARIABLES = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
_INSIDE = """
set -e
ip link set lo up
mount -t proc proc "$0/proc"
exec chroot "$0" "$@"
"""


@dataclass(frozen=True, slots=True)
class Debian:
    """The root of the system."""

    root: Path

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command inside, without a way to any network."""
        return subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--net", "sh", "-c", _INSIDE, self.root, *command],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
            | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )

    def done(self, *command: str, **variables: str) -> str:
        """Run a command that must end well, and return what it prints."""
        done = self.run(*command, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def dpkg(self, action: str, *packages: Path | str) -> str:
        """Run dpkg; a package that is a file is one of the machine outside."""
        names = []
        for one in packages:
            if isinstance(one, Path):
                shutil.copy(one, self.root / "root")
                names.append(f"/root/{one.name}")
            else:
                names.append(one)
        return self.done("dpkg", "--force-unsafe-io", "--force-confdef", "--force-confold", action, *names)

    def status(self, package: str) -> str:
        """Return dpkg's two letters: `ii` is installed, `rc` removed and not purged, `un` or nothing never heard of."""
        return self.run("dpkg-query", "--show", "--showformat=${db:Status-Abbrev}", package).stdout.strip()

    def files(self) -> Mapping[str, tuple[int, int, int]]:
        """Return owner, group and mode of everything that a package may leave behind."""
        found = {}
        for top in ("etc", "opt", "usr", "var/lib"):
            for path in (self.root / top).rglob("*"):
                name = str(path.relative_to(self.root))
                if not name.startswith(("var/lib/dpkg", "etc/ld.so.cache")):
                    about = path.lstat()
                    found[name] = (about.st_uid, about.st_gid, about.st_mode & 0o7777)
        return found


@contextmanager
def debian() -> Iterator[Debian]:
    """A new system, from Debian's packages."""
    with TemporaryDirectory() as work:
        root = Path(work, "root")
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(NEEDED)}", RELEASE, root],
            check=True,
            capture_output=True,
        )
        # Spark looks its host up by name.
        (root / "etc/hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n", encoding="utf-8")
        yield Debian(root)


def as_version(package: Path, version: str, target: Path, settings: str) -> Path:
    """Write the same package as another version with these settings, as a later release would be."""
    tree = target / "tree"
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN" / "control"
    lines = control.read_text(encoding="utf-8").splitlines(keepends=True)
    control.write_text(
        "".join(f"Version: {version}\n" if line.startswith("Version:") else line for line in lines), encoding="utf-8"
    )
    (tree / "etc/ranger-cdap/ranger-cdap.toml").write_text(settings, encoding="utf-8")
    built = target / f"ranger-cdap_{version}_later.deb"
    subprocess.run(["dpkg-deb", "-Zgzip", "-z1", "--build", tree, built], check=True, capture_output=True)
    return built
