"""usage: mutate.py DIRECTORY — run a seeded sample of mutants by mutmut, on a copy of the tree in DIRECTORY.

It goes on where it was: a mutant that has run does not run again until its function changes. pyproject.toml names what
is mutated and by which tests. A mutant's place in the order is a digest of its text, so other code hardly changes it.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
STATS: Final = Path("mutmut-stats.json")
NOTICED: Final = {"killed", "timeout", "segfault", "suspicious"}
"""Mutmut's words for a mutant that a test noticed."""


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """As a plugin of pytest: begin with the quickest tests."""
    seconds = json.loads(STATS.read_text())["duration_by_test"] if STATS.exists() else {}
    items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))


def copy_tree(target: Path) -> None:
    """Copy the files that git knows or is about to, those that changed; remove those that are gone."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    kept = {Path(name) for name in names if (ROOT / name).is_file()}
    for path in target.rglob("*.py"):
        inner = path.relative_to(target)
        if inner.parts[0] != "mutants" and inner not in kept:
            path.unlink()
    for name in kept:
        file = target / name
        if not file.exists() or file.read_bytes() != (ROOT / name).read_bytes():
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, file)


def mutants() -> Iterator[tuple[str, str]]:
    """Yield every mutant of the tree in this directory: its name, and its file, function and change as a text."""
    from mutmut.configuration import config
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    for path in sorted(one for pattern in config().only_mutate for one in Path().glob(pattern)):
        made = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))
        lines, spans, seen = made.code.splitlines(), made.line_span_by_function_name, set[str]()
        for name in made.mutant_names:
            function = name.rpartition("__mutmut_")[0]
            before, after = (lines[spans[one].start - 1 : spans[one].end] for one in (f"{function}__mutmut_orig", name))
            change = [line for line in difflib.ndiff(before, after) if line[0] in "+-" and "__mutmut_" not in line]
            text = f"{path} {function.removeprefix('x').strip('_')} {' '.join(line.strip() for line in change)}"
            while text in seen:
                text += " again"
            seen.add(text)
            yield get_mutant_name(path, name), text


def main(arguments: Sequence[str]) -> int:
    """Run what has not run of the sample, then print how many were noticed, and those that were not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sample", type=int, default=200, help="mutants, drawn by the seed (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other mutants (default: 1)")
    parser.add_argument("--of", type=Path, help="those of a list that `--save` has written")
    parser.add_argument("--save", type=Path, help="a file for the sample and its results, as JSON")
    parser.add_argument("--again", action="store_true", help="also those that survived, by tests that are new")
    given = parser.parse_args(arguments)
    tree, of, save = given.directory.resolve() / "tree", given.of and json.loads(given.of.read_text()), given.save
    save = save and save.resolve()
    copy_tree(tree)
    os.chdir(tree)
    known = {text: name for name, text in mutants()}
    drawn = sorted(known, key=lambda text: hashlib.sha256(f"{given.seed} {text}".encode()).digest())[: given.sample]
    sample = [text for text in of if text in known] if of else drawn
    found = results()
    again = {"not checked", "check was interrupted by user", "survived" if given.again else ""}
    if pending := [known[text] for text in sample if found.get(known[text], "not checked") in again]:
        program = (sys.executable, "-c", "from mutmut.__main__ import cli; cli()")
        if failed := subprocess.run([*program, "run", "--max-children", "1", *pending], check=False).returncode:
            return failed
        found = results()
    outcome = {text: found[known[text]] for text in sample}
    if save:
        save.write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")
    for text, what in outcome.items():
        if what not in NOTICED:
            sys.stdout.write(f"{what}: {text}\n")
    noticed = sum(what in NOTICED for what in outcome.values())
    sys.stdout.write(f"{len(known)} mutants, {len(sample)} in the sample, {noticed} noticed\n")
    return noticed < len(sample)


def results() -> dict[str, str]:
    """Return what became of the mutants, by name, in mutmut's words."""
    from mutmut.stats import status_by_exit_code

    codes = (json.loads(file.read_text())["exit_code_by_key"] for file in Path("mutants").rglob("*.meta"))
    return {name: status_by_exit_code[code] for of_file in codes for name, code in of_file.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
