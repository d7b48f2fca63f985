"""The file that `ranger-cdap policies test` reads: expected decisions, as TOML."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec

from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import Profile
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.json_text import UNREADABLE, Undecodable, convert, why

_LARGEST: Final = 16 << 20
ALLOWED: Final = "allowed"


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expected decision: a user with groups is allowed, or denied, an operation on an entity."""

    number: int
    user: str
    groups: tuple[str, ...]
    operation: str
    entity: EntityId
    context: Context
    allowed: bool
    note: str

    def __str__(self) -> str:
        return f"{self.user} {self.operation} on {self.entity}"

    def must_be_about(self, profile: Profile, names: KnownNames, file: str) -> None:
        """Raise InvalidInput if the profile has no such operation, or not on such an entity, or a name is not known.

        An entity that a wildcard of a policy matches may be named: such an expectation tests the wildcard.
        """
        try:
            row = profile.operation(self.operation, self.entity.type)
            plan(row, self.entity, self.user, self.context)
        except InvalidInput as e:
            raise _refused(file, self.number, str(e)) from None
        for one in names.unknown_in(row, self.user, self.groups, self.entity, self.context):
            if not one.covered:
                raise _refused(file, self.number, str(one))


class _Expect(msgspec.Struct, forbid_unknown_fields=True, rename={"takes_part": "with"}):
    """A table of the file, as written."""

    user: Annotated[str, msgspec.Meta(min_length=1)]
    operation: str
    entity: str
    expected: Literal["allowed", "denied"]
    groups: list[str] = []
    note: str = ""
    impersonate: str | None = None
    takes_part: dict[str, list[str]] = {}


def read_expectations(content: bytes, file: str) -> tuple[Expectation, ...]:
    """Return the expectations of a file, in order; one invalid expectation rejects the file.

    An empty file is rejected as well: a test that tests nothing looks like one that passed.

    Raises:
        InvalidInput: an expectation is invalid; the message has its number and the reason.
    """
    if len(content) > _LARGEST:
        raise InvalidInput(f"`{file}` is larger than {_LARGEST >> 20} MB; split it into several files")
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except UNREADABLE as e:
        raise InvalidInput(f"`{file}` is not a TOML file: {why(e)}") from None
    if unknown := [name for name in table if name != "expect"]:
        raise InvalidInput(f"`{file}` has an unknown key `{unknown[0]}`; expectations are written as `[[expect]]`")
    expects = table.get("expect", [])
    if not isinstance(expects, list) or not expects:
        raise InvalidInput(f"`{file}` has no expectations; write each as a table `[[expect]]`")
    return tuple(_expectation(file, number, given) for number, given in enumerate(expects, 1))


def _expectation(file: str, number: int, given: object) -> Expectation:
    try:
        written = convert(given, _Expect)
        related = {role: tuple(map(parse_pattern, entities)) for role, entities in written.takes_part.items()}
        context = Context(related, written.impersonate)
        entity = parse_entity(written.entity)
    except (Undecodable, InvalidInput) as e:
        raise _refused(file, number, why(e)) from None
    groups = tuple(written.groups)
    return Expectation(
        number, written.user, groups, written.operation, entity, context, written.expected == ALLOWED, written.note
    )


def _refused(file: str, number: int, why: str) -> InvalidInput:
    return InvalidInput(f"`{file}`, expectation {number}: {why}; nothing was tested")
