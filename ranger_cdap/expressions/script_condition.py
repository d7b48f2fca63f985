"""The factory of script conditions: Ranger's `_expression`, and others of the same class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from ranger_cdap.engine import ConditionContext, ConditionFactory, ConditionOutcome
from ranger_cdap.expressions.facts import facts_of, moments_in
from ranger_cdap.expressions.sandbox import check_syntax, context_methods, evaluate
from ranger_cdap.expressions.script import Script, read_script

EVALUATOR: Final = "org.apache.ranger.plugin.conditionevaluator.RangerScriptConditionEvaluator"
SHORT_STEPS: Final = 200_000
"""1 ms: nearly all of it is the beginning of a runtime."""
LIMIT_STEPS: Final = 14_000_000
"""70 ms: QuickJS looks at the clock at intervals, so a script ends that long after its beginning at the latest."""
_PACKAGE: Final = "quickjs-ng"


@dataclass(frozen=True, slots=True)
class ScriptCondition:
    """Condition of one script; every evaluation is on its own, and any number of threads may evaluate."""

    script: Script
    moments: Mapping[str, int]

    @property
    def reads_resource(self) -> bool:
        """Return True if the script may look at the requested resource."""
        return self.script.reads_resource

    @property
    def max_steps(self) -> int:
        """Return the steps that an evaluation may take, in the engine's unit (5 ns)."""
        return SHORT_STEPS if self.script.is_short else LIMIT_STEPS

    @property
    def reads_attributes(self) -> bool:
        """Return True if the script may look at attributes of users or groups besides their names."""
        return self.script.reads_attributes

    def __call__(self, context: ConditionContext) -> ConditionOutcome:
        """Return the outcome; unknown if anything goes wrong."""
        try:
            return evaluate(self.script, facts_of(context, self.moments))
        except Exception:
            # Java's answer is unknown then, too, so that it must count against the user in every mode.
            return ConditionOutcome.UNKNOWN


def has_engine() -> bool:
    """Return True if scripts can be evaluated: `quickjs-ng` is installed, not its abandoned namesake `quickjs`."""
    try:
        version(_PACKAGE)
    except PackageNotFoundError:
        return False
    return True


def script_conditions() -> Mapping[str, ConditionFactory]:
    """Return the factory of script conditions by the class it stands for; none without the extra `expressions`."""
    return {EVALUATOR: read_condition} if has_engine() else {}


def read_condition(values: Sequence[str], options: Mapping[str, Any]) -> ScriptCondition:
    """Return the condition of the values of a policy.

    Raises:
        NotInSubset: its script is not evaluated.
    """
    script = read_script(values, options, context_methods())
    check_syntax(script)
    return ScriptCondition(script, moments_in(script.texts))
