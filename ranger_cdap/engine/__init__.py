"""How Ranger decides, for any service definition. Pure: no I/O, no clock, no logging, no CDAP."""

from ranger_cdap.engine.acl import AccessEntry, ResourceAccess, Standing
from ranger_cdap.engine.conditions import Circumstances, ConditionMaker
from ranger_cdap.engine.decision import NO_POLICY, Decision, TraceEntry
from ranger_cdap.engine.engine import PolicyEngine
from ranger_cdap.engine.options import EngineOptions
from ranger_cdap.engine.problem import Problem, ProblemCode
from ranger_cdap.engine.request import (
    ADMIN_ACCESS,
    ANY_ACCESS,
    SUPER_USER_ACCESS,
    AccessRequest,
    ElementScope,
    MatchingScope,
    RequestTag,
)
from ranger_cdap.engine.wire import decode_policy, decode_roles, decode_service_policies, decode_service_tags

__all__ = [
    "ADMIN_ACCESS",
    "ANY_ACCESS",
    "NO_POLICY",
    "SUPER_USER_ACCESS",
    "AccessEntry",
    "AccessRequest",
    "Circumstances",
    "ConditionMaker",
    "Decision",
    "ElementScope",
    "EngineOptions",
    "MatchingScope",
    "PolicyEngine",
    "Problem",
    "ProblemCode",
    "RequestTag",
    "ResourceAccess",
    "Standing",
    "TraceEntry",
    "decode_policy",
    "decode_roles",
    "decode_service_policies",
    "decode_service_tags",
]
