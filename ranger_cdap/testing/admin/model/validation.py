"""Ranger's validation rules as a table, and the message of a list of failures.

Codes, texts and order are those of Ranger Admin 2.9.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MISSING = "missing"
INCORRECT = "semantically incorrect"


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of `RULES`: text with numbered placeholders, field, and Ranger's kind of failure."""

    text: str
    field: str
    kind: str = INCORRECT


_INVALID_RESOURCES = "Invalid resources specified. {0} policy "

RULES: dict[int, Rule] = {
    1006: Rule("Missing service name", "name", MISSING),
    1007: Rule("Duplicate service name: name=[{0}]", "name"),
    1008: Rule("Duplicate service name: name=[{0}], id=[{1}]", "id/name"),
    1009: Rule("Missing service def", "type", MISSING),
    1010: Rule("Service def not found: service-def-name=[{0}]", "type"),
    1011: Rule("Missing required configuration parameter(s): missing parameters=[{0}]", "configuration", MISSING),
    2002: Rule("Internal error: missing field[{0}]", "{0}", MISSING),
    2006: Rule("Service def name[{0}] was null/empty/blank", "name", MISSING),
    2007: Rule("service def with the name[{0}] already exists", "name"),
    2009: Rule("implied grant[{0}] contains an unknown access types[{1}]", "implied grants"),
    2016: Rule("Resource graph implied by various resources, e.g. parent value is invalid", "resource graph"),
    2021: Rule("Resource-def levels are not in increasing order in an hierarchy", "resource level"),
    2025: Rule("Display name [{0}] is already used by service def [{1}]", "displayName"),
    3002: Rule("Internal error: missing field[{0}]", "{0}", MISSING),
    3006: Rule("Another policy already exists for this name: policy-id=[{0:,}], service=[{1}]", "policy name"),
    3007: Rule("no service found with name[{0}]", "service name"),
    3008: Rule("at least one policy item must be specified if audit isnt enabled", "policy items", MISSING),
    3010: Rule(
        "Another policy already exists for matching resource: policy-name=[{0}], service=[{1}]",
        "resources",
    ),
    3011: Rule(
        _INVALID_RESOURCES + "can specify values for one of the following resource sets: {1}",
        "policy resources",
    ),
    3012: Rule(
        _INVALID_RESOURCES + "must specify values for one of the following resource sets: {1}",
        "policy resources",
    ),
    3015: Rule("Excludes option not supported: resource-name=[{0}]", "isExcludes"),
    3016: Rule("Insufficient permissions to create excludes policy", "isExcludes"),
    3017: Rule("Recursive option not supported: resource-name=[{0}].", "isRecursive"),
    3018: Rule("Invalid resource specified. A value of [{0}] is not valid for resource [{1}]", "resource-values"),
    3020: Rule(
        "All of users,  user-groups and roles collections on the policy item were null/empty",
        "policy item users/user-groups/roles",
        MISSING,
    ),
    3022: Rule("Invalid access type: access type=[{0}], valid access types=[{1}]", "policy item access type"),
    3023: Rule(
        "Currently deny access types are not supported. Access type is set to deny.",
        "policy item access type allowed",
    ),
    3025: Rule(_INVALID_RESOURCES + "must specify values for the following resources: {1}", "policy resources"),
    3026: Rule(
        "Resource list was empty or contains null. At least one resource must be specified",
        "resource-values",
        MISSING,
    ),
    3027: Rule("attempt to move policy id={0} from service={1} to service={2} is not allowed", "service name"),
    3028: Rule("attempt to change type of policy id={0} from type={1} to type={2} is not allowed", "policy type"),
    3030: Rule("Invalid priority value", "policyPriority"),
    3031: Rule(
        "Invalid service name=[{0}]. It should not be longer than 256 characters and special characters are not "
        "allowed (except underscore and hyphen)",
        "name",
    ),
    3032: Rule("Update of Zone name from={0} to={1} in policy is not supported", "zoneName"),
    3033: Rule("Non-existent Zone name={0} in policy create", "zoneName"),
    3035: Rule("Internal error: missing field[{0}]", "{0}", MISSING),
    3036: Rule("Another security zone already exists for this name: zone-id=[{0}]]", "name", ""),
    3037: Rule("No security zone found for [{0}]", "name", ""),
    3038: Rule(
        "users, user-groups and roles collections for the security zone were null/empty",
        "security zone {0} users/user-groups/roles",
        MISSING,
    ),
    3039: Rule("No resources specified for service [{0}]", "security zone resources", MISSING),
    3040: Rule("Invalid service [{0}]", "security zone resource service-name", ""),
    3042: Rule(
        "Invalid resource hierarchy specified for service:[{0}], resource-hierarchy:[{1}]",
        "security zone resource hierarchy",
        "",
    ),
    3046: Rule("Multiple zones:[{0}] match resource:[{1}]", "null", ""),
    3048: Rule("Service name = {0} is not associated to Zone name = {1}", "zoneName"),
    3049: Rule(
        "Deny or deny-exceptions are not supported if policy has isDenyAllElse flag set to true", "policy items", ""
    ),
    3050: Rule(
        "Invalid service display name [{0}]. It should not be longer than 256 characters, should not start with "
        "space, and should not include special characters (except underscore, hyphen and space)",
        "displayName",
    ),
    3051: Rule("Display name [{0}] is already used by service [{1}]", "displayName"),
    3052: Rule("Resource [{0}] specified more than once in service [{1}]", "security zone resources", ""),
    3053: Rule("policy items user was null", "policy item users", MISSING),
    3054: Rule("policy items group was null", "policy item groups", MISSING),
    3055: Rule("policy items role was null", "policy item roles", MISSING),
    3056: Rule(
        "Values for the resource={0} contained a duplicate value={1}. Ensure all values for a resource are unique",
        "resource-values",
    ),
    4009: Rule(" Invalid service type [{0}] provided for service [{1}]", "service type"),
    4003: Rule("Internal error: RangerRole name passed in was null/empty", "name", MISSING),
}
DUPLICATE_IN_DEFINITION = Rule("duplicate {0}[{1}] in {2}", "{0}")
NO_HIERARCHIES = Rule(RULES[3011].text, "service def resource hierarchies")


@dataclass(frozen=True, slots=True)
class ValidationFailure:
    """A failed rule."""

    code: int
    reason: str
    field: str
    subfield: str | None
    kind: str

    def __str__(self) -> str:
        subfield = "null" if self.subfield is None else self.subfield
        return (
            f"Validation failure: error code[{self.code}], reason[{self.reason}], field[{self.field}], "
            f"subfield[{subfield}], type[{self.kind}]"
        )


def failure(code: int, *values: object, field: str | None = None, subfield: str | None = None) -> ValidationFailure:
    """Return the failure of the rule with that code; `field` only where it differs from the table."""
    return of_rule(code, RULES[code], *values, field=field, subfield=subfield)


def of_rule(
    code: int, rule: Rule, *values: object, field: str | None = None, subfield: str | None = None
) -> ValidationFailure:
    """Return the failure of a rule that shares its code with others, such as code 0."""
    named = rule.field.format(*values) if field is None else field
    return ValidationFailure(code, rule.text.format(*values), named, subfield, rule.kind)


def failure_text(problems: Iterable[ValidationFailure]) -> str:
    """Return all failures in one numbered text, as Ranger's `msgDesc`."""
    return "".join(f"({n}) {found} " for n, found in enumerate(problems))
