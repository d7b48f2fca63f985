"""Errors of Ranger's authorization API: its codes and sentences, as of 2.9.0."""

from __future__ import annotations

from enum import Enum

from ranger_cdap.errors import InvalidInput

_SHOWN = 200


class AuthzProblem(Enum):
    """Problem of a request: a stable number, and a sentence with placeholders for the values sent."""

    SERVICE_NOT_FOUND = (1, "{}: service not found")
    SERVICE_TYPE_NOT_FOUND = (2, "{}: service type not found")
    ACCESS_MISSING = (4, "missing access info")
    RESOURCE_MISSING = (5, "missing resource info")
    RESOURCE_NAME_MISSING = (6, "missing resource name")
    MATCH_SCOPE_INVALID = (7, "invalid name match scope {}. For {}, valid scopes are [{}]")
    CONTEXT_MISSING = (8, "missing access context")
    RESOURCE_TYPE_NOT_FOUND = (9, "{}: resource type not found")
    RESOURCE_VALUE_INVALID = (10, "{}: invalid resource value for type {}")
    PERMISSION_NOT_FOUND = (11, "{}: permission not found")
    PERMISSIONS_EMPTY = (12, "permissions is empty. Nothing to authorize")
    SERVICE_MANDATORY = (13, "service name or service type is mandatory")
    RESOURCE_EMPTY = (16, "invalid resource - empty")
    RESOURCE_INVALID = (17, 'invalid resource "{}" - does not match template "{}"')

    def error(self, *sent: str) -> InvalidInput:
        """Return the error to raise; `sent` fills the placeholders."""
        number, sentence = self.value
        return InvalidInput(f"AUTHZ-400-00-{number:03}: {sentence.format(*(text[:_SHOWN] for text in sent))}")
