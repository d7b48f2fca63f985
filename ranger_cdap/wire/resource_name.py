"""Ranger's names of resources, like `table:db1/t1`: a type and the values of its hierarchy, root first. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from ranger_cdap.ranger_model.service_def import ServiceDef
from ranger_cdap.wire.authz_error import AuthzProblem

_ESCAPE: Final = "\\"
_SEPARATOR: Final = "/"
_SEPARATOR_OPTION: Final = "rrnResourceSepChar"

Resource = dict[str, str]
"""Values by level, from the root down."""


@dataclass(frozen=True, slots=True)
class NameTemplate:
    """Text form of the values of one resource type: `database/table`."""

    levels: tuple[str, ...]
    separator: str = _SEPARATOR

    @classmethod
    def of(cls, definition: ServiceDef, resource_type: str) -> Self:
        """Return the template of a type of the service definition.

        Raises:
            InvalidInput: the definition has no such type.
        """
        parents = {resource.name: resource.parent for resource in definition.resources}
        if resource_type not in parents:
            raise AuthzProblem.RESOURCE_TYPE_NOT_FOUND.error(resource_type)
        levels = [resource_type]
        while parent := parents[levels[0]]:
            levels.insert(0, parent)
        separator = definition.options.get(_SEPARATOR_OPTION)
        return cls(tuple(levels), separator[0] if isinstance(separator, str) and separator else _SEPARATOR)

    def parse(self, text: str) -> Resource:
        """Parse the values in a text; a backslash escapes the next character and is dropped.

        The rest for the last level may contain separators.

        Raises:
            InvalidInput: the text is blank or has fewer values than there are levels.
        """
        if not text.strip():
            raise AuthzProblem.RESOURCE_EMPTY.error()
        values: list[list[str]] = [[]]
        escaped = False
        for c in text:
            if not escaped and c == _ESCAPE:
                escaped = True
                continue
            if not escaped and c == self.separator and len(values) < len(self.levels):
                values.append([])
            else:
                values[-1].append(c)
            escaped = False
        if len(values) < len(self.levels):
            raise AuthzProblem.RESOURCE_INVALID.error(text, str(self))
        return dict(zip(self.levels, map("".join, values), strict=True))

    def format(self, resource: Mapping[str, str]) -> str:
        """Return the text that `parse` reads back as the resource."""
        *above, last = (resource[level].replace(_ESCAPE, _ESCAPE * 2) for level in self.levels)
        return self.separator.join([*(v.replace(self.separator, _ESCAPE + self.separator) for v in above), last])

    def __str__(self) -> str:
        return self.separator.join(self.levels)


def parse_resource(definition: ServiceDef, name: str) -> Resource:
    """Parse a name, `type:value`, into a resource.

    Raises:
        InvalidInput: the definition has no such type, or the value does not fit it.
    """
    resource_type, _, value = name.partition(":")
    return NameTemplate.of(definition, resource_type).parse(value)


def parse_sub_resource(definition: ServiceDef, resource: Resource, name: str) -> Resource:
    """Parse a name, `type:value`, one level below `resource`; the value is taken verbatim.

    Raises:
        InvalidInput: there is no such type directly below, or the value is blank.
    """
    resource_type, _, value = name.partition(":")
    if NameTemplate.of(definition, resource_type).levels != (*resource, resource_type) or not value.strip():
        raise AuthzProblem.RESOURCE_VALUE_INVALID.error(value, resource_type)
    return resource | {resource_type: value}
