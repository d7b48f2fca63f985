"""A mutant's code in place of the real one: by an import of it, or in the functions that are loaded already.

A test sees a fault in a function that is loaded if the function was not called before: a constant, a default or a cache
would still have what it returned.
"""

from __future__ import annotations

import gc
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from tests.mutation.operators import Mutant, mutated

Codes = Mapping[tuple[str, int], Sequence[CodeType]]
"""Code by its qualified name and first line; several if they share both, as two lambdas of a line."""


@dataclass(frozen=True, slots=True)
class Fault(MetaPathFinder):
    """Finder of one module, whose code is the mutant's.

    `functions` are the qualified names of those that differ; `None` if more than functions does, and only an import
    shows the fault.
    """

    module: str
    code: CodeType
    functions: frozenset[str] | None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module where it is, with another loader."""
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self.code)
        return spec

    def put(self, loaded: Sequence[FunctionType] = ()) -> None:
        """Give functions that are loaded the mutant's code, and the module if it is imported later."""
        sys.meta_path.insert(0, self)
        codes = _codes(self.code)
        for function in loaded:
            code = function.__code__
            key = code.co_qualname, code.co_firstlineno
            if code.co_filename == self.code.co_filename and len(codes.get(key, ())) == 1:
                function.__code__ = codes[key][0]


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, code: CodeType) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


def loaded_functions() -> tuple[FunctionType, ...]:
    """Return every function there is, also those that only a closure or a decorator has."""
    return tuple(one for one in gc.get_objects() if isinstance(one, FunctionType))


def fault_of(mutant: Mutant, path: Path) -> Fault:
    """Return the fault of a mutant, whose source is at `path`."""
    source = path.read_text(encoding="utf-8")
    faulty = mutated(mutant, source, str(path))
    return Fault(mutant.module, faulty, different_functions(compile(source, str(path), "exec"), faulty))


def different_functions(real: CodeType, faulty: CodeType) -> frozenset[str] | None:
    """Return the qualified names of the functions that differ; `None` if more than functions does."""
    before, after = _codes(real), _codes(faulty)
    differ = set()
    for key in {*before, *after}:
        olds, news = before.get(key, ()), after.get(key, ())
        if [_alone(code) for code in olds] == [_alone(code) for code in news]:
            continue
        if not olds or not news:
            continue  # a part of a function that differs itself
        old, new = olds[0], news[0]
        both = old.co_flags & new.co_flags & CO_OPTIMIZED  # a function, and no module or class
        if not both or len(olds) > 1 or len(news) > 1 or old.co_freevars != new.co_freevars:
            return None
        differ.add(old.co_qualname)
    return frozenset(differ)


def _codes(code: CodeType) -> Codes:
    found: dict[tuple[str, int], list[CodeType]] = defaultdict(list)
    for one in _within(code):
        found[one.co_qualname, one.co_firstlineno].append(one)
    return found


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _within(constant)


def _alone(code: CodeType) -> CodeType:
    """Return code without that of the functions in it."""
    return code.replace(co_consts=tuple(one for one in code.co_consts if not isinstance(one, CodeType)))
