"""Satisfiability of a formula whose atoms have a meaning: clause learning, and a theory that checks what it finds.

The solver proposes a set of literals that make the formula true; the theory accepts it with a witness, or names the
literals that contradict each other. A theory may also give up, and the search ends after a stated number of steps:
both are *undecided*, never *unsatisfiable*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from ranger_cdap.tools.analysis.logic.formula import FALSE, Formula, Junction, all_of, inner_first, values_in_order

MAX_SEARCH_STEPS: Final = 200_000
"""Assignments of one search; about a second."""

_FIRST_JUNCTION: Final = 1 << 40
"""First variable of a junction; atoms have smaller numbers."""

_W = TypeVar("_W")
Clause = list[int]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Literals that cannot all be true; `certain` is false if the theory could not decide within its budget."""

    literals: tuple[int, ...]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Solution(Generic[_W]):
    """Outcome of a search: a witness, or none; `exact` is false if a missing witness proves nothing.

    `undecided` are the literals of the last contradiction that was not certain.
    """

    witness: _W | None
    exact: bool = True
    undecided: tuple[int, ...] = ()


Theory = Callable[[tuple[int, ...]], _W | Contradiction]


@dataclass(eq=False, slots=True)
class FormulaSolver:
    """Solver that keeps what it has learned of the last formula for the next one that differs in literals only."""

    max_steps: int
    _parts: tuple[Junction, ...] = ()
    _search: _Search | None = None

    def solve(self, formula: Formula, theory: Theory[_W]) -> Solution[_W]:
        """Return a witness of a formula.

        Without one the formula is unsatisfiable, or the search is inexact.
        """
        if formula is FALSE:
            return Solution(None)
        parts = formula.parts if isinstance(formula, Junction) and formula.conjunctive else (formula,)
        literals = tuple(part for part in parts if isinstance(part, int))
        junctions = tuple(part for part in parts if isinstance(part, Junction))
        search = self._search if set(map(id, junctions)) == set(map(id, self._parts)) else None
        if search is None:
            search = _Search(all_of(junctions), self.max_steps)
        self._parts, self._search = junctions, search
        search.begin(literals)
        undecided: tuple[int, ...] = ()
        exact = True
        while search.next_model():
            outcome = theory(search.justification(literals))
            if not isinstance(outcome, Contradiction):
                return Solution(outcome)
            if not outcome.certain:
                # What is learned from now on need not be true.
                self._search, exact, undecided = None, False, outcome.literals
            search.learn([-literal for literal in outcome.literals])
        return Solution(None, exact and not search.exhausted, undecided)


@dataclass(slots=True)
class _Search:
    """Search for models by decisions, unit propagation and learned clauses; variables prefer to be false."""

    formula: Formula
    max_steps: int
    exhausted: bool = False
    _assumed: tuple[int, ...] = ()
    _numbers: dict[int, int] = field(default_factory=dict)
    _variables: list[int] = field(default_factory=list)
    _value: dict[int, bool] = field(default_factory=dict)
    _level: dict[int, int] = field(default_factory=dict)
    _reason: dict[int, Clause | None] = field(default_factory=dict)
    _trail: list[int] = field(default_factory=list)
    _limits: list[int] = field(default_factory=list)
    _watches: dict[int, list[Clause]] = field(default_factory=dict)
    _inner: list[Junction] = field(default_factory=list)
    _head: int = 0
    _next: int = 0
    _next_assumed: int = 0
    _steps: int = 0
    _failed: bool = False

    def __post_init__(self) -> None:
        """Translate the formula to clauses: a variable of a junction implies what the junction says."""
        self._inner = inner_first(self.formula)
        atoms = {abs(part) for one in self._inner for part in one.parts if isinstance(part, int)}
        self._numbers = {id(one): _FIRST_JUNCTION + n for n, one in enumerate(self._inner)}
        self._variables = [*sorted(atoms), *self._numbers.values()]
        for one in self._inner:
            name = self._numbers[id(one)]
            parts = [self._literal(part) for part in one.parts]
            if one.conjunctive:
                for part in parts:
                    self._add([-name, part])
            else:
                self._add([-name, *parts])
        self._add([self._literal(self.formula)])

    def begin(self, assumed: tuple[int, ...]) -> None:
        """Begin a search with these literals; learned clauses are kept."""
        self._back_to(0)
        self._assumed, self._next_assumed = assumed, 0
        self._steps, self.exhausted = 0, False

    def _literal(self, part: Formula) -> int:
        return part if isinstance(part, int) else self._numbers[id(part)]

    def learn(self, clause: Clause) -> None:
        """Add a clause that the present model contradicts, and go back to where it can hold."""
        levels = sorted({self._level[abs(literal)] for literal in clause})
        self._back_to(levels[-2] if len(levels) > 1 else 0)
        self._add(clause)

    def next_model(self) -> bool:
        """Assign all variables; False if no further assignment is possible, or the steps are used up."""
        while not self._failed:
            conflict = self._propagate()
            if conflict is not None:
                if not self._limits:
                    self._failed = True
                    break
                learned, level = self._analyse(conflict)
                self._back_to(level)
                self._add(learned)
                continue
            if self._steps > self.max_steps:
                self.exhausted = True
                return False
            while self._next_assumed < len(self._assumed) and self._is(self._assumed[self._next_assumed]):
                self._next_assumed += 1
            if self._next_assumed < len(self._assumed):
                decided = self._assumed[self._next_assumed]
                if self._is(decided) is False:
                    return False
            else:
                while self._next < len(self._variables) and self._variables[self._next] in self._value:
                    self._next += 1
                if self._next == len(self._variables):
                    return True
                decided = -self._variables[self._next]
            self._limits.append(len(self._trail))
            self._assign(decided, None)
        return False

    def justification(self, literals: tuple[int, ...]) -> tuple[int, ...]:
        """Return the given literals and those of the model that make the formula true whatever the others are.

        They are few, but not fewest.
        """
        true = values_in_order(self._inner, self._value.__getitem__)
        needed: dict[int, None] = dict.fromkeys(literals)
        seen: set[int] = set()
        todo: list[Formula] = [self.formula]
        while todo:
            one = todo.pop()
            if isinstance(one, int):
                needed[one] = None
            elif id(one) not in seen:
                seen.add(id(one))
                todo += one.parts if one.conjunctive else (self._best(one, true, needed),)
        return tuple(needed)

    def _best(self, one: Junction, true: Mapping[int, bool], needed: Mapping[int, None]) -> Formula:
        """Return a part that makes a disjunction true: one needed anyway, or a negated atom, if possible."""
        literals = [part for part in one.parts if isinstance(part, int) and self._is(part)]
        ranked = sorted(literals, key=lambda part: (part not in needed, part > 0))
        return ranked[0] if ranked else next(p for p in one.parts if isinstance(p, Junction) and true[id(p)])

    def _add(self, clause: Clause) -> None:
        clause = list(dict.fromkeys(clause))
        # Watched first: what is not false, then what became false last.
        if self._value:
            clause.sort(key=lambda one: -self._rank(one))
        if not clause or (self._is(clause[0]) is False and self._level[abs(clause[0])] == 0):
            self._failed = True
            return
        if len(clause) > 1:
            for literal in clause[:2]:
                self._watches.setdefault(literal, []).append(clause)
        if self._is(clause[0]) is None and (len(clause) == 1 or self._is(clause[1]) is False):
            if len(clause) == 1:
                self._back_to(0)
            self._assign(clause[0], clause)

    def _rank(self, literal: int) -> int:
        return 1 << 60 if self._is(literal) is not False else self._level[abs(literal)]

    def _is(self, literal: int) -> bool | None:
        value = self._value.get(abs(literal))
        return None if value is None else value is (literal > 0)

    def _assign(self, literal: int, reason: Clause | None) -> None:
        self._steps += 1
        variable = abs(literal)
        self._value[variable] = literal > 0
        self._level[variable] = len(self._limits)
        self._reason[variable] = reason
        self._trail.append(literal)

    def _back_to(self, level: int) -> None:
        if len(self._limits) <= level:
            return
        start = self._limits[level]
        for literal in self._trail[start:]:
            del self._value[abs(literal)], self._level[abs(literal)], self._reason[abs(literal)]
        del self._trail[start:], self._limits[level:]
        self._head, self._next, self._next_assumed = min(self._head, start), 0, 0

    def _propagate(self) -> Clause | None:
        """Assign what follows; return a clause that is false."""
        value = self._value
        while self._head < len(self._trail):
            false = -self._trail[self._head]
            self._head += 1
            watching = self._watches.get(false)
            if not watching:
                continue
            kept: list[Clause] = []
            self._watches[false] = kept
            for n, clause in enumerate(watching):
                if clause[0] == false:
                    clause[0], clause[1] = clause[1], clause[0]
                other = clause[0]
                known = value.get(abs(other))
                if known is not None and known is (other > 0):
                    kept.append(clause)
                    continue
                for i in range(2, len(clause)):
                    candidate = clause[i]
                    held = value.get(abs(candidate))
                    if held is None or held is (candidate > 0):
                        clause[1], clause[i] = candidate, false
                        self._watches.setdefault(candidate, []).append(clause)
                        break
                else:
                    kept.append(clause)
                    if known is not None:
                        kept += watching[n + 1 :]
                        self._head = len(self._trail)
                        return clause
                    self._assign(other, clause)
        return None

    def _analyse(self, conflict: Clause) -> tuple[Clause, int]:
        """Return the clause that the conflict teaches, and the level at which it determines a literal."""
        now = len(self._limits)
        seen: set[int] = set()
        learned: Clause = []
        clause: Sequence[int] = conflict
        open_, at = 0, len(self._trail) - 1
        while True:
            for literal in clause:
                variable = abs(literal)
                if variable not in seen and self._level[variable] > 0:
                    seen.add(variable)
                    if self._level[variable] == now:
                        open_ += 1
                    else:
                        learned.append(literal)
            while abs(self._trail[at]) not in seen:
                at -= 1
            literal = self._trail[at]
            seen.discard(abs(literal))
            at -= 1
            open_ -= 1
            if open_ == 0:
                return [-literal, *learned], max((self._level[abs(one)] for one in learned), default=0)
            clause = [one for one in self._reason[abs(literal)] or () if one != literal]
