"""A scenario decided by both engines, step by step: the download, each document with changes, the tags that come later.

Where ours takes no changes it is given the full set, as the refresher downloads it then; so is Java.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ranger_cdap.engine import AccessRequest, Decision, EngineOptions, PolicyEngine
from ranger_cdap.errors import PolicySetError
from tests.differential.comparing import FIELDS, compared_fields
from tests.differential.java_engine import HarnessError, JavaEngine
from tests.differential.our_engine import AS_RANGER, REFUSED, answer, evaluated, load_by_steps, requests_of

Json = Mapping[str, Any]
SAFE = EngineOptions()


@dataclass(frozen=True, slots=True)
class Answers:
    """What an engine says to each request; `taken`: for each document with changes, whether it was applied."""

    each: list[Json]
    taken: list[bool]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What ours and Java say to each request, or that a set was refused; and where ours contradicts itself."""

    ours: Answers
    java: list[Json]
    contradictions: list[Json]

    def differing(self, requests: Sequence[Json]) -> list[int]:
        """The places of the requests that are answered differently."""
        places = zip(requests, self.ours.each, self.java, strict=True)
        return [
            n
            for n, (request, our, their) in enumerate(places)
            if any(our.get(name) != their.get(name) for name in compared(request))
        ]


def compared(request: Json) -> list[str]:
    return [*compared_fields(request, FIELDS), "refused"]


def judge(scenario: Json, java: JavaEngine, *, twice: bool = True) -> Verdict:
    """Put the scenario before both; `twice`: ask ours also in its other mode, and to explain."""
    ours, engine = by_us(scenario, AS_RANGER)
    try:
        theirs = [_told(each) for each in java.decide(scenario, ours.taken)]
    except HarnessError:
        theirs = [REFUSED] * len(ours.each)
    return Verdict(ours, theirs, contradictions(scenario, engine) if engine and twice else [])


def by_us(scenario: Json, options: EngineOptions) -> tuple[Answers, PolicyEngine | None]:
    """The answers of our engine, and the engine as it is after the last step; None where it refuses the set."""
    try:
        engine, taken = load_by_steps(scenario, options)
    except PolicySetError:
        return Answers([REFUSED] * len(scenario["requests"]), []), None
    return Answers([evaluated(engine, request) for request in requests_of(scenario, engine)], taken), engine


def _told(answered: Json) -> Json:
    return REFUSED if "error" in answered else {name: answered[name] for name in FIELDS}


def contradictions(scenario: Json, as_ranger: PolicyEngine) -> list[Json]:
    """Where ours says one thing and another: by explaining, or by allowing in `safe` what `ranger` does not."""
    engines = {"ranger": as_ranger}
    with suppress(PolicySetError):
        engines["safe"], _ = load_by_steps(scenario, SAFE)
    return [
        {"request": n, "mode": mode, "evaluate": answer(decision), "otherwise": otherwise}
        for n, request in enumerate(requests_of(scenario, as_ranger))
        for mode, engine in engines.items()
        for decision in [engine.evaluate(request)]
        for otherwise in _otherwise(request, decision, engine, as_ranger)
    ]


def _otherwise(request: AccessRequest, decision: Decision, engine: PolicyEngine, as_ranger: PolicyEngine) -> list[Json]:
    explained = answer(engine.explain(request))
    as_java = answer(as_ranger.evaluate(request))
    found: list[Json] = [explained] if explained != answer(decision) else []
    return [*found, as_java] if decision.allowed and not as_java["allowed"] else found
