"""One evaluation of a script by QuickJS: a runtime of its own, with limits, that knows nothing but its facts."""

from __future__ import annotations

import time
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any, Final

import msgspec

from ranger_cdap.engine import ConditionOutcome
from ranger_cdap.expressions.facts import Json
from ranger_cdap.expressions.language import NotInSubset, language
from ranger_cdap.expressions.script import MissingEngine, Script

TIME_LIMIT: Final = 0.03
"""Seconds of the processor that one evaluation may take; QuickJS looks at the clock every few milliseconds."""
MEMORY_LIMIT: Final = 8 << 20
STACK_LIMIT: Final = 256 << 10
MAX_FACTS: Final = 512 << 10
"""Most bytes of facts; a request with more of them is not evaluated."""

_MOST_ATTEMPTS: Final = 20
_PLACE: Final = "// context.js is here, for a script that uses `ctx`."
_INTERRUPTED: Final = "InternalError: interrupted"
_ERRORS_OF_JAVA: Final = ("TypeError", "ReferenceError")
"""Errors that Ranger's JavaScript raises for the same script; others may be those of a limit."""


def check_syntax(script: Script) -> None:
    """Check that QuickJS can read a script; nothing of it is run.

    Raises:
        NotInSubset: it is not JavaScript.
        MissingEngine: the extra `expressions` is not installed.
    """
    engine = _engine()
    try:
        _context(engine).eval(f"throw 0;{script.text}")
    except engine.JSException as e:
        if str(e).startswith("SyntaxError"):
            raise NotInSubset(f"it is not JavaScript: {str(e).splitlines()[0].removeprefix('SyntaxError: ')}") from None
    except ValueError:  # a null character, or half of a surrogate pair
        raise NotInSubset("it has a character that no script may have") from None


def evaluate(script: Script, facts: Json) -> ConditionOutcome:
    """Evaluate a script, as Ranger does: what it returns counts if it is a boolean, and else what it set.

    Unknown if the script fails, returns something else, needs what the request lacks, or reaches what is not in the
    subset or a limit.
    """
    encoded = msgspec.json.encode(facts)
    if len(encoded) > MAX_FACTS:
        return ConditionOutcome.UNKNOWN
    # QuickJS counts the time of the whole process. Whoever was interrupted by the work of other threads begins again,
    # so that what else the process does never decides.
    spent = 0.0
    for _ in range(_MOST_ATTEMPTS):
        began = time.thread_time()
        found = _attempt(script, encoded.decode())
        spent += time.thread_time() - began
        if found is not None or spent >= TIME_LIMIT:
            return found or ConditionOutcome.UNKNOWN
    return ConditionOutcome.UNKNOWN


def _attempt(script: Script, facts: str) -> ConditionOutcome | None:
    """Return the outcome of one attempt; None if its time ran out."""
    engine = _engine()
    context = _context(engine)
    is_sure, value = True, None
    try:
        prelude = context.eval(_prelude(with_context=bool(script.methods)))
        report = prelude(facts, _members(), script.has_intersects)
    except engine.JSException as e:
        return None if _INTERRUPTED in str(e) else ConditionOutcome.UNKNOWN
    try:
        # Ranger has a preamble too, whose last value is null: `'use strict'` is no directive, and `var x;` is null.
        value = context.eval(f"null;{script.text}")
    except engine.JSException as e:
        if not str(e).startswith(_ERRORS_OF_JAVA):
            return None if _INTERRUPTED in str(e) else ConditionOutcome.UNKNOWN
        is_sure = False
    try:
        certainty, _, result = report().partition(" ")
    except engine.JSException:
        return None
    if certainty == "refused":
        return ConditionOutcome.UNKNOWN
    is_sure = is_sure and certainty == "sure" and (value is None or isinstance(value, bool))
    holds = value if isinstance(value, bool) else result == "true"
    if is_sure:
        return ConditionOutcome.HOLDS if holds else ConditionOutcome.FAILS
    return ConditionOutcome.UNKNOWN_HOLDS if holds else ConditionOutcome.UNKNOWN_FAILS


@cache
def context_methods() -> frozenset[str]:
    """Return the methods of `ctx`: those that the prelude gives it."""
    context = _engine().Context()
    empty = {"request": {"userAttributes": {}, "userGroups": []}, "doubtful": {}, "unusable": {}, "fields": ()}
    # Reflection must be had before the prelude takes it away.
    names = context.eval("const names = Object.keys; (given) => names(given).join()")
    context.eval(_prelude(with_context=True))(msgspec.json.encode(empty).decode(), _members(), False)
    return frozenset(names(context.eval("ctx")).split(","))


@cache
def _prelude(*, with_context: bool) -> str:
    """Return what runs before a script. Most of its cost is its length, so the larger part is left out if unused."""
    folder = files(__package__)
    prelude = folder.joinpath("prelude.js").read_text(encoding="utf-8")
    return prelude.replace(_PLACE, folder.joinpath("context.js").read_text(encoding="utf-8") if with_context else "")


@cache
def _members() -> str:
    return msgspec.json.encode(language()["members"]).decode()


def _engine() -> ModuleType:
    try:
        import quickjs
    except ImportError:
        raise MissingEngine("scripts need the extra `expressions`") from None
    module: ModuleType = quickjs
    return module


def _context(engine: ModuleType) -> Any:
    context = engine.Context()
    context.set_time_limit(TIME_LIMIT)
    context.set_memory_limit(MEMORY_LIMIT)
    context.set_max_stack_size(STACK_LIMIT)
    return context
