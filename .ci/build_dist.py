"""usage: build_dist.py DIRECTORY — the sdist, and the wheel built from it; nothing else is in DIRECTORY then.

The same sources give the same bytes, wherever and whenever they are built: times are SOURCE_DATE_EPOCH, or zip's
earliest, and owners, modes and order are fixed. PROJECT_URL is where the sources are published; by it the README's
links become absolute, as an index needs them. Without it they become plain text, since a guess could lead anywhere.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("ranger_cdap", "servicedef", "spark_sync")
FILES = ("setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "NOTICE", "THIRD-PARTY.md")
ZIP_BEGINS = 315_532_800  # 1980, in seconds
PAGES = {"Source": "", "Documentation": "/blob/v{version}/docs/README.md", "Issues": "/issues"}

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")


def main() -> None:
    """Build both into the directory of the command line."""
    target, address = Path(sys.argv[1]), os.environ.get("PROJECT_URL", "").rstrip("/")
    if address and not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", address, re.ASCII):
        sys.exit(f"PROJECT_URL must be like `https://HOST/OWNER/NAME`, not `{address}`")
    os.umask(0o022)
    moment = max(int(os.environ.get("SOURCE_DATE_EPOCH") or ZIP_BEGINS), ZIP_BEGINS)
    os.environ["SOURCE_DATE_EPOCH"] = str(moment)
    # In a directory of their own: what an earlier build left in the tree must not get into them.
    with tempfile.TemporaryDirectory() as work:
        tree, built, unpacked = (Path(work, name) for name in ("tree", "built", "unpacked"))
        copy_sources(tree, address)
        (sdist,) = build(tree, "sdist", built)
        repack(sdist, moment)
        with tarfile.open(sdist) as file:
            # The oldest Pythons 3.11 have no filters, and need none for what was packed here.
            file.extraction_filter = getattr(tarfile, "data_filter", None)
            file.extractall(unpacked)  # noqa: S202
        build(next(unpacked.iterdir()), "wheel", built)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(built, target)


def copy_sources(tree: Path, address: str) -> None:
    """Copy what the sdist is made of, with the README and the metadata of that address."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copyfile(ROOT / name, tree / name)
    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    setup, readme = tree / "setup.cfg", tree / "README.md"
    (version,) = re.findall(r"^version = (.+)$", setup.read_text(encoding="utf-8"), re.MULTILINE)
    readme.write_text(with_absolute_links(readme.read_text(encoding="utf-8"), address, version), encoding="utf-8")
    if address:
        pages = "".join(f"    {name} = {address}{page.format(version=version)}\n" for name, page in PAGES.items())
        text = setup.read_text(encoding="utf-8")
        setup.write_text(text.replace("[options]\n", f"project_urls =\n{pages}\n[options]\n", 1), encoding="utf-8")


def with_absolute_links(text: str, address: str, version: str) -> str:
    """Return Markdown whose links to files of the tree lead to that address; without one they are plain text."""

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if not address:
            return "" if picture else words
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/v{version}/{target})"

    return "".join(part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(_FENCED.split(text)))


def build(tree: Path, what: str, directory: Path) -> list[Path]:
    """Build an sdist or a wheel of this tree, and return what is in the directory then."""
    program = f"from setuptools import build_meta; build_meta.build_{what}({str(directory)!r})"
    directory.mkdir(exist_ok=True)
    done = subprocess.run([sys.executable, "-c", program], cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return list(directory.iterdir())


def repack(sdist: Path, moment: int) -> None:
    """Write the sdist again, in order, with one time, owner and mode for all files."""
    with tarfile.open(sdist) as file:
        contents = {one.name: file.extractfile(one).read() for one in file.getmembers() if one.isfile()}  # type: ignore[union-attr]
    with (
        sdist.open("wb") as raw,
        contextlib.closing(gzip.GzipFile("", "wb", fileobj=raw, mtime=moment)) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as file,
    ):
        for name, content in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), moment, 0o644
            file.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    main()
