"""usage: build_packages.py NFPM DIRECTORY [PACKAGE...] — the .deb and .rpm of the wheel in DIRECTORY, beside it.

`packages/` says what they are made of. Each has a virtual environment for the Python that runs this, with every
package of a lock file inside, so that an installation fetches nothing. The same wheel, lock files and Python give the
same bytes: all times are SOURCE_DATE_EPOCH, or zip's earliest. PROJECT_URL is where the sources are published.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from ranger_cdap.units import UNITS, units

ROOT: Final = Path(__file__).parents[1]
PARTS: Final = ROOT / ".ci" / "packages"
TABLE: Final[Mapping[str, Any]] = tomllib.loads((PARTS / "packages.toml").read_text(encoding="utf-8"))
PACKAGES: Final = tuple(name for name in TABLE if name not in {"places", "vendor"})
FORMATS: Final = tuple(TABLE["places"])
PHASES: Final = ("preinstall", "postinstall", "preremove", "postremove")
HOME: Final = Path("opt/ranger-cdap")
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
"""The names that a processor has in Python and RPM, and in Debian."""
ZIP_BEGINS: Final = 315_532_800  # 1980, in seconds

# Compiled packages run on this glibc and later ones, also where the machine that builds has a later one.
GLIBC: Final = 28
LINKS: Final = {
    HOME / "bin" / "python": f"/usr/bin/python{PYTHON}",
    HOME / "bin" / "python3": "python",
    Path("usr/bin/ranger-cdap"): f"/{HOME}/bin/ranger-cdap",
}
"""The links of the first package: the environment's Python is that of the distribution."""
_START: Final = f"""#!/{HOME}/bin/python
import sys
from ranger_cdap.__main__ import run
if __name__ == "__main__":
    sys.exit(run())
"""
_PIN: Final = re.compile(r"^(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[^\s;]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Target:
    """One file that is built: the package, its format, its version, and the processor in Python's words."""

    package: str
    format: str
    version: str
    machine: str

    @property
    def arch(self) -> str:
        """The processor in the words of the format."""
        return MACHINES[self.machine] if self.format == "deb" else self.machine

    def fill(self, text: str) -> str:
        """Return a text of the table with what stands for its braces."""
        return text.format(package=self.package, python=PYTHON, arch=self.arch, version=self.version)


def main() -> None:
    """Build every package in every format into the directory of the command line."""
    nfpm, target = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    wheels = list(target.glob("ranger_cdap-*.whl"))
    if len(wheels) != 1:
        sys.exit(f"`{sys.argv[2]}` must hold one wheel of ranger-cdap; run `make dist` first")
    machine = platform.machine()
    if machine not in MACHINES:
        sys.exit(f"packages for `{machine}` are not built; the processors are {', '.join(MACHINES)}")
    version = package_version(str(parse_wheel_filename(wheels[0].name)[1]))
    os.umask(0o022)
    moment = max(int(os.environ.get("SOURCE_DATE_EPOCH") or ZIP_BEGINS), ZIP_BEGINS)
    os.environ["SOURCE_DATE_EPOCH"] = str(moment)
    for package in sys.argv[3:] or PACKAGES:
        with tempfile.TemporaryDirectory() as work:
            tree = Path(work, "tree")
            stage(package, wheels[0], machine, tree, Path(work))
            for form in FORMATS:
                one = Target(package, form, version, machine)
                parts = Path(work, form)
                write_parts(one, parts)
                for path in (*tree.rglob("*"), *parts.rglob("*")):
                    os.utime(path, (moment, moment), follow_symlinks=False)
                config = Path(work, f"{form}.json")
                config.write_text(json.dumps(nfpm_config(one, tree, parts, moment)), encoding="utf-8")
                for earlier in target.glob(f"{package}[_-][0-9]*.{form}"):
                    earlier.unlink()
                run(nfpm, "package", "--config", config, "--packager", form, "--target", target)


def package_version(version: str) -> str:
    """Return a version in the words of Debian and RPM, whose orders are then that of Python.

    A pre-release sorts before its release: `0.2.0rc1` becomes `0.2.0~rc1`.

    Raises:
        ValueError: it has an epoch or a local part, which no release has.
    """
    parsed = Version(version)
    if parsed.epoch or parsed.local:
        raise ValueError(f"`{version}` has an epoch or a local part, which no release has")
    text = ".".join(map(str, parsed.release))
    if parsed.pre is not None:
        text += "~{}{}".format(*parsed.pre)
    if parsed.post is not None:
        text += f"+post{parsed.post}"
    if parsed.dev is not None:
        # Before `~a1`, too, where it is no development of a pre- or post-release.
        text += f"~dev{parsed.dev}" if parsed.is_postrelease or parsed.pre is not None else f"~~dev{parsed.dev}"
    return text


def pins(lock: str) -> dict[str, str]:
    """Return the entry of each package of a lock file of `docker/`, by its name."""
    text = (ROOT / "docker" / lock).read_text(encoding="utf-8")
    return {found["name"]: entry.rstrip() for entry in re.split(r"\n(?=[a-z])", text) if (found := _PIN.match(entry))}


def pins_of(package: str) -> dict[str, str]:
    """Return what a package contains: all of its lock, except what a package that it needs contains."""
    before = PACKAGES[: PACKAGES.index(package)]
    others = {name for one in before for name in pins(TABLE[one]["lock"])}
    return {name: entry for name, entry in pins(TABLE[package]["lock"]).items() if name not in others}


def stage(package: str, wheel: Path, machine: str, tree: Path, work: Path) -> None:
    """Write what the package has below `/opt/ranger-cdap` into `tree`."""
    lock, files = work / "lock", work / "files"
    lock.write_text("\n".join(pins_of(package).values()) + "\n", encoding="utf-8")
    libraries = tree / "lib" / f"python{PYTHON}" / "site-packages"
    fetch(lock, files, machine)
    # By name and not by path, of which pip would leave a note.
    wanted = [f"{name}=={_PIN.match(entry)['version']}" for name, entry in pins_of(package).items()]  # type: ignore[index]
    if package == PACKAGES[0]:
        shutil.copy(wheel, files)
        wanted.append("ranger-cdap")
        write_environment(tree)
    else:
        shutil.copytree(Path(sys.prefix, "jars"), tree / "jars", ignore=shutil.ignore_patterns(".*"))
    pip("install", "--no-index", "--find-links", files, "--no-deps", "--no-compile", "--target", libraries, *wanted)
    # Programs of other packages are none of ours, and pip's name the Python of this machine.
    shutil.rmtree(libraries / "bin", ignore_errors=True)
    run(
        sys.executable,
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "checked-hash",
        "-s",
        tree,
        "-p",
        f"/{HOME}",
        tree,
    )
    for path in tree.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def fetch(lock: Path, files: Path, machine: str) -> None:
    """Put every package of the lock into `files`, as a wheel for this Python and any Linux of that age."""
    abi = "cp" + PYTHON.replace(".", "")
    platforms = [
        "any",
        *(f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC, 16, -1)),
        f"manylinux2014_{machine}",
    ]
    pip(
        *("download", "--no-deps", "--require-hashes", "--no-build-isolation", "--dest", files, "--requirement", lock),
        *("--python-version", PYTHON, "--implementation", "cp"),
        *(word for one in (abi, "abi3", "none") for word in ("--abi", one)),
        *(word for one in platforms for word in ("--platform", one)),
    )
    for source in sorted(files.glob("*.tar.gz")):
        pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", files, source)
        source.unlink()


def write_environment(tree: Path) -> None:
    """Write a virtual environment with our command; `LINKS` has its Python."""
    programs = tree / "bin"
    programs.mkdir(parents=True)
    (programs / "ranger-cdap").write_text(_START, encoding="utf-8")
    (programs / "ranger-cdap").chmod(0o755)
    settings = f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {PYTHON}\n"
    (tree / "pyvenv.cfg").write_text(settings, encoding="utf-8")


def write_parts(target: Target, parts: Path) -> None:
    """Write the files that are outside `/opt`, each at its place below `parts`."""
    for place, content in files_of(target):
        path = parts / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def files_of(target: Target) -> Iterator[tuple[Path, bytes]]:
    """Yield the place and the content of each file that the package has outside `/opt`."""
    places = TABLE["places"][target.format]
    made = {unit.place: unit.content for unit in units(java_home=Path(target.fill(places["java_home"])))}
    for name in TABLE[target.package]["units"]:
        place = UNITS[name]
        yield Path(TABLE["vendor"][str(place.parent)], place.name), made[place]
    documents = Path("usr/share/doc", target.package)
    licences = Path(target.fill(places["licences"]))
    for name in ("LICENSE", "NOTICE", "THIRD-PARTY.md"):
        yield licences / name, (ROOT / name).read_bytes()
    yield licences / "copyright", (PARTS / "copyright").read_bytes()
    yield documents / "CHANGELOG.md", (ROOT / "CHANGELOG.md").read_bytes()
    if target.package == PACKAGES[0]:
        yield Path("etc/ranger-cdap/ranger-cdap.toml"), (PARTS / "ranger-cdap.toml").read_bytes()
        yield Path("usr/share/bash-completion/completions/ranger-cdap"), completion("bash")
        yield Path("usr/share/fish/vendor_completions.d/ranger-cdap.fish"), completion("fish")
        yield Path(places["zsh"]), completion("zsh")


@cache
def completion(shell: str) -> bytes:
    """Return the completion script for a shell."""
    command = [sys.executable, "-m", "ranger_cdap", "completion", shell]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def nfpm_config(target: Target, tree: Path, parts: Path, moment: int) -> dict[str, Any]:
    """Return the package as nfpm is told of it."""
    contents: list[dict[str, Any]] = [{"src": str(tree), "dst": f"/{HOME}", "type": "tree"}]
    for path in sorted(path for path in parts.rglob("*") if path.is_file()):
        place = path.relative_to(parts)
        kind = "config|noreplace" if place.parts[0] == "etc" else ""
        contents.append({"src": str(path), "dst": f"/{place}", "type": kind, "file_info": {"mode": 0o644}})
    if target.package == PACKAGES[0]:
        contents.append({"dst": "/etc/ranger-cdap", "type": "dir", "file_info": {"mode": 0o755}})
        for link, leads_to in LINKS.items():
            contents.append({"src": leads_to, "dst": f"/{link}", "type": "symlink", "file_info": {"mode": 0o777}})
    entry = TABLE[target.package]
    scripts = {phase: PARTS / f"{target.package}.{phase}" for phase in PHASES}
    return {
        "name": target.package,
        "arch": MACHINES[target.machine],
        "version": target.version,
        "version_schema": "none",
        "section": "admin",
        "priority": "optional",
        "maintainer": "the ranger-cdap authors",
        "description": f"{entry['summary']}\n{entry['description'].strip()}",
        "homepage": os.environ.get("PROJECT_URL", ""),
        "license": licence_of(pins_of(target.package), (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8")),
        "mtime": datetime.fromtimestamp(moment, UTC).isoformat(),
        "depends": [target.fill(one) for one in entry["needs"][target.format]],
        "contents": contents,
        "scripts": {phase: str(path) for phase, path in scripts.items()},
        "rpm": {"summary": entry["summary"], "buildhost": "localhost"},
    }


def licence_of(names: Iterable[str], page: str) -> str:
    """Return the licences of these packages and ours as one SPDX expression, by the table of `THIRD-PARTY.md`."""
    table = dict(re.findall(r"^\| (\S+) \| ([^|]+) \|", page, re.MULTILINE))
    parts = {"Apache-2.0", *(part for name in names for part in table[name].split(" AND "))}
    return " AND ".join(f"({part})" if " OR " in part else part for part in sorted(parts))


def pip(*words: str | Path) -> None:
    """Run pip of this Python."""
    run(sys.executable, "-W", "ignore:DEPRECATION", "-m", "pip", "--quiet", "--disable-pip-version-check", *words)


def run(*words: str | Path) -> None:
    """Run a program, and end with what it says if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


if __name__ == "__main__":
    main()
