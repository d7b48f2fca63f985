"""Script conditions (`_expression`): the documented subset of Ranger's JavaScript, evaluated by QuickJS.

Needs the extra `expressions`; without it these conditions cannot be evaluated, and so allow nothing.
"""

from ranger_cdap.expressions.language import NotInSubset
from ranger_cdap.expressions.script import MissingEngine, Script, read_script
from ranger_cdap.expressions.script_condition import EVALUATOR, ScriptCondition, has_engine, script_conditions

__all__ = [
    "EVALUATOR",
    "MissingEngine",
    "NotInSubset",
    "Script",
    "ScriptCondition",
    "has_engine",
    "read_script",
    "script_conditions",
]
