"""The documents Ranger Admin sends, as structs with Ranger's own field names (ranger-semantics.md §1).

Reading is lenient where Ranger is: unknown keys are ignored, a field that is `null` is the same as a missing one,
numbers and booleans may come as text. A set of policies keeps its policies undecoded, so that one unreadable policy
does not fail the load.
"""

# ruff: noqa: N815 - the names are Ranger's

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from ranger_cdap.engine.model.problem import Doubt, ProblemCode, Unusable, shown
from ranger_cdap.engine.model.reading import one_line, unreadable, without_any_null, without_nulls
from ranger_cdap.errors import PolicySetError

JavaInt = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
JavaLong = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Wire(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A JSON object of Ranger's."""


class PolicyResource(Wire):
    """The values of one level; none at all match everything."""

    values: list[str] = []
    isExcludes: bool = False
    isRecursive: bool = False


class PolicyItemAccess(Wire, omit_defaults=False):
    """An access type of an item; with `isAllowed` false it grants nothing."""

    type: str = ""
    isAllowed: bool = True


class PolicyItemCondition(Wire):
    """A condition by the name the service definition gives it."""

    type: str = ""
    values: list[str] = []


class PolicyItem(Wire):
    """Who, what, and under which conditions."""

    accesses: list[PolicyItemAccess] = []
    users: list[str] = []
    groups: list[str] = []
    roles: list[str] = []
    conditions: list[PolicyItemCondition] = []
    delegateAdmin: bool = False


class RecurrenceSchedule(Wire):
    """When a recurring validity begins: comma lists of numbers, ranges or `*`."""

    minute: str = ""
    hour: str = ""
    dayOfMonth: str = ""
    dayOfWeek: str = ""
    month: str = ""
    year: str = ""


class ValidityInterval(Wire):
    """How long a recurring validity lasts."""

    days: JavaInt = 0
    hours: JavaInt = 0
    minutes: JavaInt = 0


class ValidityRecurrence(Wire):
    """A recurring validity."""

    schedule: RecurrenceSchedule | None = None
    interval: ValidityInterval | None = None


class ValiditySchedule(Wire):
    """From, to and how often; times are `yyyy/MM/dd HH:mm:ss` in `timeZone`."""

    startTime: str = ""
    endTime: str = ""
    timeZone: str = ""
    recurrences: list[ValidityRecurrence] = []


class Policy(Wire):
    """A policy; `id` is None before Ranger Admin has given it one."""

    id: JavaLong | None = None
    guid: str | None = None
    name: str = ""
    service: str = ""
    serviceType: str | None = None
    description: str = ""
    version: JavaLong | None = None
    isEnabled: bool = True
    policyType: JavaInt = 0
    policyPriority: JavaInt = 0
    isAuditEnabled: bool = True
    resources: dict[str, PolicyResource] = {}
    additionalResources: list[dict[str, PolicyResource]] = []
    conditions: list[PolicyItemCondition] = []
    policyItems: list[PolicyItem] = []
    denyPolicyItems: list[PolicyItem] = []
    allowExceptions: list[PolicyItem] = []
    denyExceptions: list[PolicyItem] = []
    dataMaskPolicyItems: Any = None
    rowFilterPolicyItems: Any = None
    isDenyAllElse: bool = False
    validitySchedules: list[ValiditySchedule] = []
    policyLabels: list[str] = []
    zoneName: str | None = None


class ResourceDef(Wire):
    """A level of the resource hierarchy."""

    name: str
    parent: str = ""
    level: int = 1
    isValidLeaf: bool | None = None
    matcher: str = ""
    matcherOptions: dict[str, Any] = {}


class AccessTypeDef(Wire):
    """An access type and what it implies."""

    name: str
    impliedGrants: list[str] = []
    category: str | None = None


class PolicyConditionDef(Wire):
    """A kind of condition and the Java class that evaluates it."""

    name: str
    evaluator: str = ""
    evaluatorOptions: dict[str, Any] = {}


class ServiceDef(Wire):
    """A service definition, as far as it bears on decisions and their audit."""

    name: str
    id: int | None = None
    options: dict[str, Any] = {}
    resources: list[ResourceDef] = []
    accessTypes: list[AccessTypeDef] = []
    markerAccessTypes: list[AccessTypeDef] = []
    policyConditions: list[PolicyConditionDef] = []
    dataMaskDef: Any = None
    rowFilterDef: Any = None


class PolicyDelta(Wire):
    """One changed policy: `changeType` 0 create, 1 update, 2 delete."""

    id: int | None = None
    changeType: int | None = None
    policiesVersion: int | None = None
    policy: msgspec.Raw = msgspec.Raw(b"null")


class SecurityZoneInfo(Wire):
    """A security zone: its resources and its own policies."""

    zoneName: str = ""
    resources: list[dict[str, list[str]]] = []
    policies: list[msgspec.Raw] = []
    policyDeltas: list[PolicyDelta] | None = None
    containsAssociatedTagService: bool = False


class TagPolicies(Wire):
    """The policies of the tag service that is linked to the service."""

    serviceName: str = ""
    serviceId: int | None = None
    policyVersion: int = -1
    policies: list[msgspec.Raw] = []
    serviceDef: ServiceDef | None = None
    auditMode: str = "audit-default"
    serviceConfig: dict[str, str] = {}


class ServicePolicies(Wire):
    """The download of a service's policies."""

    serviceName: str = ""
    serviceId: int | None = None
    policyVersion: int = -1
    policies: list[msgspec.Raw] | None = None
    tagPolicies: TagPolicies | None = None
    serviceDef: ServiceDef | None = None
    auditMode: str = "audit-default"
    securityZones: dict[str, SecurityZoneInfo] = {}
    policyDeltas: list[PolicyDelta] | None = None
    serviceConfig: dict[str, str] = {}


class RoleMember(Wire, omit_defaults=False):
    """A user, group or role in a role."""

    name: str
    isAdmin: bool = False


class Role(Wire):
    """A role and its members; a member role's members are members of this one."""

    name: str
    id: int | None = None
    users: list[RoleMember] = []
    groups: list[RoleMember] = []
    roles: list[RoleMember] = []


class RangerRoles(Wire):
    """The download of roles."""

    serviceName: str = ""
    roleVersion: int = -1
    rangerRoles: list[Role] = []


class UserStore(Wire):
    """The download of users and their groups."""

    userStoreVersion: int = -1
    userAttrMapping: dict[str, dict[str, str]] = {}
    groupAttrMapping: dict[str, dict[str, str]] = {}
    userGroupMapping: dict[str, list[str]] = {}


class Tag(Wire):
    """A tag on resources."""

    id: int | None = None
    guid: str | None = None
    type: str = ""
    attributes: dict[str, str] = {}
    validityPeriods: list[ValiditySchedule] = []


class ServiceResource(Wire):
    """A resource that carries tags."""

    id: int | None = None
    guid: str | None = None
    resourceElements: dict[str, PolicyResource] = {}


class ServiceTags(Wire):
    """The download of tags: resources, tags and which resource carries which."""

    serviceName: str = ""
    tagVersion: int = -1
    op: str = "add_or_update"
    isDelta: bool = False
    tags: dict[str, Tag] = {}
    serviceResources: list[ServiceResource] = []
    resourceToTagIds: dict[str, list[int]] = {}


class AuditFilter(Wire):
    """A rule of `ranger.plugin.audit.filters`, in a service's configuration."""

    accessResult: str = ""
    resources: dict[str, PolicyResource] = {}
    accessTypes: list[str] = []
    actions: list[str] = []
    users: list[str] = []
    groups: list[str] = []
    roles: list[str] = []
    isAudited: bool | None = None


_T = TypeVar("_T")
# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_LEARNT = [
    msgspec.json.Decoder(kind) for kind in (ServicePolicies, RangerRoles, ServiceTags, UserStore, Policy, AuditFilter)
]


def decode_service_policies(data: bytes) -> ServicePolicies:
    """The envelope of a policy download; its policies stay undecoded.

    Raises:
        PolicySetError: the envelope is not readable.
    """
    return _decode(data, ServicePolicies, "the downloaded policies")


def decode_roles(data: bytes) -> RangerRoles:
    """A role download. Raises PolicySetError where it is not readable."""
    return _decode(data, RangerRoles, "the downloaded roles")


def decode_service_tags(data: bytes) -> ServiceTags:
    """A tag download. Raises PolicySetError where it is not readable."""
    return _decode(data, ServiceTags, "the downloaded tags")


def decode_user_store(data: bytes) -> UserStore:
    """A user store download. Raises PolicySetError where it is not readable."""
    return _decode(data, UserStore, "the downloaded users")


def decode_policy(raw: msgspec.Raw | bytes, *, lenient: bool = True) -> Policy:
    """One policy; `lenient` drops every null, as Ranger does, else only those of fields.

    Raises:
        Unusable: it is not readable.
    """
    try:
        return msgspec.json.decode(raw, type=Policy)
    except (ValueError, RecursionError):
        pass
    try:
        known = msgspec.json.decode(raw)
        return convert_policy(without_any_null(known) if lenient else known)
    except (ValueError, RecursionError) as e:
        raise Unusable([Doubt(ProblemCode.UNREADABLE_POLICY, "", f"it cannot be read: {one_line(e)}")]) from None


def convert_policy(known: Any) -> Policy:
    """Decoded JSON as a policy. Raises Unusable, with each part that is not readable."""
    try:
        return msgspec.convert(without_nulls(known, Policy), Policy, strict=False)
    except (ValueError, RecursionError):
        code = ProblemCode.UNREADABLE_POLICY
        found = unreadable(known, Policy)
        raise Unusable([Doubt(code, place, f"it cannot be read: {why}") for place, why in found]) from None


def convert_resource(known: Any) -> PolicyResource | None:
    """Decoded JSON as one level of a resource; None where it is not readable."""
    try:
        return msgspec.convert(without_nulls(known, PolicyResource), PolicyResource, strict=False)
    except (ValueError, RecursionError):
        return None


def replaced(struct: _T, **changes: Any) -> _T:
    """A copy with some fields changed."""
    return msgspec.structs.replace(struct, **changes)  # type: ignore[type-var]


def _decode(data: bytes | msgspec.Raw, type_: type[_T], what: str) -> _T:
    try:
        value = msgspec.json.decode(data, type=type_)
    except (ValueError, RecursionError):
        # Second reading: nulls, and numbers or booleans in quotes, cost this only where they occur.
        try:
            without = msgspec.json.encode(without_nulls(msgspec.json.decode(data), type_))
            return msgspec.json.decode(without, type=type_, strict=False)
        except (ValueError, RecursionError) as e:
            raise PolicySetError(f"{what} cannot be read: {shown(one_line(e))}") from None
    return value
