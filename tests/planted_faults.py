"""The laws of `tests/laws.toml`, each tried: its fault is planted in a copy of the tree, and its test must fail.

`python -m tests.planted_faults [REGEX]` tries the laws whose name has that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

from hypothesis import Phase, settings

ROOT: Final = Path(__file__).parents[1]
NEEDS: Final = ("java", "spark")
PYTEST: Final = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "tests.planted_faults")

Law = dict[str, str]


def pytest_configure() -> None:
    """Draw the same examples every time, and make none smaller: it is enough that one fails."""
    settings.register_profile("planted", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
    settings.load_profile("planted")


def laws() -> list[Law]:
    """Return the rows of the file."""
    found: list[Law] = tomllib.loads((ROOT / "tests/laws.toml").read_text(encoding="utf-8"))["law"]
    return found


def copy_tree(to: Path) -> None:
    """Copy the tracked files, beside links to what is installed and built."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in (name for name in names.split("\0") if (ROOT / name).is_file()):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    for built in (ROOT / ".venv", *ROOT.glob("jvm/*/target")):
        (to / built.relative_to(ROOT)).symlink_to(built)


def outcome_of(law: Law, tree: Path) -> tuple[str, str]:
    """Return `noticed`, `NOT NOTICED` or `skipped` for the fault of a law, and what pytest printed."""
    file, left_out = tree / law["file"], " or ".join(name for name in NEEDS if name != law.get("needs"))
    command = [*PYTEST, "-m", f"not ({left_out})", law["test"]]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    sound = file.read_text(encoding="utf-8")
    file.write_text(sound.replace(law["old"], law["new"]), encoding="utf-8")
    try:
        run = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    finally:
        file.write_text(sound, encoding="utf-8")
    skipped = run.returncode == 0 and " skipped" in run.stdout and " passed" not in run.stdout
    failed = run.returncode == 1 and "\nFAILED " in run.stdout  # other errors would prove nothing
    return "skipped" if skipped else "noticed" if failed else "NOT NOTICED", run.stdout + run.stderr


def main(pattern: str = "") -> int:
    """Try the laws, and print a line for each; return 1 if the test of one did not notice its fault."""
    unnoticed = 0
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)  # some tests run the code as other users
        copy_tree(Path(directory))
        for law in (law for law in laws() if re.search(pattern, law["law"])):
            outcome, printed = outcome_of(law, Path(directory))
            unnoticed += outcome == "NOT NOTICED"
            print(f"{outcome}: {law['law']}", printed[-2_000:] if outcome == "NOT NOTICED" else "", flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
