"""What is mutated and by which tests (`targets.toml`), the sample, and the explained survivors (`survivors.toml`)."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from tests.mutation.operators import Mutant, mutations

ROOT = Path(__file__).parents[2]
TARGETS = Path(__file__).with_name("targets.toml")
SURVIVORS = Path(__file__).with_name("survivors.toml")


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Modules, as patterns of paths, and the fast tests that must notice what is wrong with them."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]

    @cached_property
    def sources(self) -> Mapping[str, Path]:
        """Return the paths of the modules by their dotted names."""
        paths = sorted(path for pattern in self.modules for path in ROOT.glob(pattern))
        return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}

    @cached_property
    def digest_of_tests(self) -> str:
        """Return a digest of the tests' files: a survivor runs again when one of them changed."""
        named = [ROOT / test.partition("::")[0] for test in self.tests]
        files = {file for path in named for file in (path.rglob("*.py") if path.is_dir() else [path])}
        return _digest(*(path.read_bytes() for path in sorted({*files, *(ROOT / "tests/corpus").glob("*.json")})))

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Return the digests of the modules by their names, as they were when this was called first."""
        return {module: _digest(path.read_bytes()) for module, path in self.sources.items()}

    def mutants(self) -> Iterator[Mutant]:
        """Yield every mutant of the modules."""
        for module, path in self.sources.items():
            yield from mutations(module, ast.parse(path.read_text(encoding="utf-8")))


class Survivor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant that no fast test notices, and why that is right."""

    place: str
    change: str
    reason: str


def targets(path: Path = TARGETS) -> tuple[Target, ...]:
    """Return what is mutated."""
    return msgspec.toml.decode(path.read_bytes(), type=dict[str, tuple[Target, ...]])["target"]


def survivors(path: Path = SURVIVORS) -> tuple[Survivor, ...]:
    """Return the survivors that are explained."""
    return msgspec.toml.decode(path.read_bytes(), type=dict[str, tuple[Survivor, ...]]).get("survivor", ())


def sampled(mutants: Iterable[Mutant], size: int, seed: int) -> list[Mutant]:
    """Return a sample that a change of the code hardly changes: each mutant has its place by a digest of its text."""
    return sorted(mutants, key=lambda mutant: _digest(f"{seed} {mutant}".encode()))[:size]


def explained(mutant: Mutant, known: Iterable[Survivor]) -> bool:
    """Return whether a mutant may survive."""
    return any((mutant.place, mutant.change) == (one.place, one.change) for one in known)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
