"""Roles of Ranger that give what roles of Sentry gave in CDAP. Pure.

Law: a member of a group may do with an entity exactly what `WildcardPolicy.isAllowed` of CDAP's Sentry binding says. A
privilege is for entities with as many parts as it has: nothing is inherited. Of a name, `*` stands for any characters,
none included, and `?` for one; the case counts, except in the type of a program (`WildcardAuthorizable`).
Ranger reads these wildcards the same way, but takes a single `*` for the level above as well; `?*` it does not.

Two differences, each towards less: a check of a program with a dot in its name was one of the name up to the dot
(`AuthBinding.toSentryAuthorizables`), here it is of the whole name; and a pattern of programs without a type, which
Sentry matches with `Worker.` and the name, is taken only if it has wildcards alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from ranger_cdap.cdap.entity import LONGEST_PART, EntityType, entity_types
from ranger_cdap.ranger.changes.role_members import LONGEST_LABEL, RoleMembers, member_label
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.setup.setup_policies import EVERY_NAME
from ranger_cdap.tools.roles.role_plan import (
    FoundRoles,
    RoleRights,
    WantedRole,
    is_there,
    plan,
)
from ranger_cdap.tools.sentry.sentry_file import LeftOut, SentryFile, SentryPrivilege, SentryRole

_LEVELS: Final = {"securekey": "secure_key"}
"""Keys of Sentry that are not named like the level in Ranger."""
_PROGRAM_TYPES: Final = ("mapreduce", "workflow", "service", "spark", "worker")
_EVERYONE: Final = "public"
_LONGEST_NAME: Final = 255
_NOT_IN_A_NAME: Final = frozenset("/\\%;,{}*?")


@dataclass(frozen=True, slots=True)
class SentryImport:
    """The roles to make in Ranger, roles of the file of which nothing is left, and what of the file is left out."""

    roles: tuple[WantedRole, ...]
    emptied: tuple[WantedRole, ...]
    left_out: tuple[LeftOut, ...]
    made_for: str

    @property
    def names(self) -> frozenset[str]:
        """The names of all roles of the file."""
        return frozenset(role.name for role in (*self.roles, *self.emptied))


def sentry_roles(file: SentryFile, *, service: str, instance: str) -> SentryImport:
    """Return the roles of the file for this instance of CDAP and this service of Ranger, and what is left out."""
    left_out, roles, emptied = list(file.left_out), list[WantedRole](), list[WantedRole]()
    made_for = f"Made by ranger-cdap: imported from Sentry for instance {instance}, service {service}."
    for role in file.roles:
        if not _is_name(role.name):
            left_out.append(LeftOut(role.place, f"role `{role.name}`", "Ranger has no such names of roles"))
        elif rights := _rights(role, instance, left_out):
            members = RoleMembers(groups=tuple(_groups(role, left_out)))
            roles.append(WantedRole(role.name, made_for, members, rights, follows=True))
        else:
            left_out.append(LeftOut(role.place, f"role `{role.name}`", "no privilege is left of it"))
            emptied.append(WantedRole(role.name, made_for, follows=True))
    left_out.sort(key=lambda one: one.place)
    return SentryImport(tuple(roles), tuple(emptied), tuple(left_out), made_for)


def sentry_plan(found: SentryImport, there: FoundRoles, *, delete: bool = False) -> tuple[Step, ...]:
    """Return the steps by which Ranger's roles follow the file; `delete` takes out imported roles it does not have.

    `there` has the roles of the file and those that the policies were given rights for, as far as they exist.
    """
    others = [WantedRole(name, found.made_for) for name in sorted(there.roles.keys() - found.names)]
    gone = [role for role in others if is_there(role, there)]
    emptied = [role for role in found.emptied if is_there(role, there)]
    steps = plan([*found.roles, *emptied], there, gone if delete else ())
    return steps if delete else (*steps, *(_kept(role.name, there) for role in gone))


def _kept(role: str, there: FoundRoles) -> Step:
    members = RoleMembers.of(there.roles[role])
    has = f"its rights and members ({members})" if members else "its rights"
    why = f"it was imported before and the file does not have it; it keeps {has}, and `--delete` removes it"
    return Step(StepChange.KEEP, "role", role, why)


def _groups(role: SentryRole, left_out: list[LeftOut]) -> Iterable[str]:
    for group in role.groups:
        what = f"group `{group}` of role `{role.name}`"
        if group == _EVERYONE:
            left_out.append(LeftOut(role.place, what, "in Ranger it is everyone who can sign in"))
        elif not _is_name(group):
            left_out.append(LeftOut(role.place, what, "Ranger has no such names of groups"))
        elif len(member_label(role.name, "group", group)) > LONGEST_LABEL:
            left_out.append(LeftOut(role.place, what, "both names are too long for the label that records the member"))
        else:
            yield group


def _is_name(name: str) -> bool:
    return (
        bool(name)
        and name == name.strip()
        and name.isprintable()
        and len(name) <= _LONGEST_NAME
        and not _NOT_IN_A_NAME.intersection(name)
    )


def _rights(role: SentryRole, instance: str, left_out: list[LeftOut]) -> tuple[RoleRights, ...]:
    given: dict[tuple[tuple[str, str], ...], frozenset[str]] = {}
    for privilege in role.privileges:
        try:
            resource = _resource(privilege, instance)
        except ValueError as e:
            left_out.append(LeftOut(role.place, f"`{privilege.text}` of role `{role.name}`", str(e)))
            continue
        given[resource] = given.get(resource, frozenset()) | privilege.actions
    return tuple(RoleRights(_policy_name(on), dict(on), accesses) for on, accesses in given.items())


def _policy_name(resource: tuple[tuple[str, str], ...]) -> str:
    return f"sentry: {' '.join(f'{level}={value}' for level, value in resource)}"


def _resource(privilege: SentryPrivilege, instance: str) -> tuple[tuple[str, str], ...]:
    """Return the value of each level.

    Raises:
        ValueError: it is of no entity of CDAP's, of another instance, or has a name that none can have.
    """
    path = tuple(_LEVELS.get(key, key) for key, _ in privilege.parts)
    kind = next((one for one in entity_types().values() if one.path == path), None)
    if kind is None:
        raise ValueError(f"no entity of CDAP has the parts {', '.join(key for key, _ in privilege.parts) or '(none)'}")
    (_, of), *below = privilege.parts
    if not fnmatchcase(instance, of.replace("[", "[[]")):
        raise ValueError(f"it is for instance `{of}`; `cdap.instance` is `{instance}`")
    resource = ("instance", instance), *_values(kind, [name for _, name in below])
    if len(_policy_name(resource)) > 2 * _LONGEST_NAME:
        raise ValueError("its names are too long for the name of a policy in Ranger")
    return resource


def _values(kind: EntityType, names: list[str]) -> Iterable[tuple[str, str]]:
    for level, allowed, name in zip(kind.path[1:], kind.patterns, names, strict=True):
        value = re.sub(r"\*+", "*", _program(name) if level == "program" else name)
        example = value.replace("*", "a").replace("?", "a")
        if len(value) > LONGEST_PART or not (value.strip("*?") == "" or allowed.fullmatch(example)):
            raise ValueError(f"CDAP has no {level} with a name like `{name}`")
        yield level, EVERY_NAME if value == "*" else value


def _program(name: str) -> str:
    kind, dot, rest = name.partition(".")
    if not dot and name.strip("*?"):
        raise ValueError(f"`{name}` has no program type, like `worker.{name}`")
    if dot and kind.lower() not in _PROGRAM_TYPES:
        raise ValueError(f"there is no program type `{kind}`: it is one of {', '.join(_PROGRAM_TYPES)}")
    return f"{kind.lower()}.{rest}" if dot else name
