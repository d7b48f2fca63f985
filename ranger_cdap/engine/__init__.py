"""Ranger's policy engine, for any service definition. Pure: no I/O, no clock, no logging, no CDAP."""

from ranger_cdap.engine.compiled.conditions import ConditionContext, ConditionFactory, ConditionOutcome, ContextTag
from ranger_cdap.engine.compiled.names import AS_GIVEN, NameTransformation, UncertainName
from ranger_cdap.engine.compiled.options import EngineOptions
from ranger_cdap.engine.decide.acl import AccessEntry, ResourceAccess, Verdict
from ranger_cdap.engine.engine import PolicyEngine
from ranger_cdap.engine.lookup.named_values import NamedValues
from ranger_cdap.engine.model.decision import NO_POLICY, Decision, TraceEntry
from ranger_cdap.engine.model.problem import Problem, ProblemCode
from ranger_cdap.engine.model.request import (
    ADMIN_ACCESS,
    ANY_ACCESS,
    SUPER_USER_ACCESS,
    AccessRequest,
    ElementScope,
    MatchingScope,
    RequestTag,
)
from ranger_cdap.ranger_model.decode import decode_policy, decode_roles, decode_service_policies, decode_service_tags

__all__ = [
    "ADMIN_ACCESS",
    "ANY_ACCESS",
    "AS_GIVEN",
    "NO_POLICY",
    "SUPER_USER_ACCESS",
    "AccessEntry",
    "AccessRequest",
    "ConditionContext",
    "ConditionFactory",
    "ConditionOutcome",
    "ContextTag",
    "Decision",
    "ElementScope",
    "EngineOptions",
    "MatchingScope",
    "NameTransformation",
    "NamedValues",
    "PolicyEngine",
    "Problem",
    "ProblemCode",
    "RequestTag",
    "ResourceAccess",
    "TraceEntry",
    "UncertainName",
    "Verdict",
    "decode_policy",
    "decode_roles",
    "decode_service_policies",
    "decode_service_tags",
]
