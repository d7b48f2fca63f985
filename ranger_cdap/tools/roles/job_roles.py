"""A job role in Ranger: the preset of a job for a namespace, as a role with its policies. Pure.

Law: the rights are those of the preset in that namespace, each on every name of a level (`?*`), which never reaches
the level above it. The role's description names preset, namespace, instance and service: another one of these never
takes it for its own, though Ranger's roles belong to all services.
"""

from __future__ import annotations

from typing import Final

from ranger_cdap.cdap.entity import entity_id, entity_type
from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.cdap.presets import SYSTEM_NAMESPACE, Preset, PresetRight
from ranger_cdap.config import CdapSettings
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.role_members import RoleMembers
from ranger_cdap.ranger.setup.setup_policies import EVERY_NAME
from ranger_cdap.tools.roles.role_plan import RoleRights, WantedRole

_USUAL_INSTANCE: Final = CdapSettings().instance
_EVERYONE: Final = "public"


def job_role(
    preset: Preset,
    namespace: str,
    *,
    service: str,
    instance: str,
    members: RoleMembers = RoleMembers(),  # noqa: B008 a frozen value
    name: str = "",
) -> WantedRole:
    """Return the role of a job in a namespace; its name is `role_name` unless another one is given.

    Raises:
        InvalidInput: CDAP allows no such namespace, or it is CDAP's own; or a member is the group of everyone.
    """
    entity = entity_id("namespace", (namespace,))
    if namespace == SYSTEM_NAMESPACE:
        raise InvalidInput(f"the namespace `{SYSTEM_NAMESPACE}` is CDAP's own, and no job is done in it")
    if _EVERYONE in members.groups:
        raise InvalidInput(f"the group `{_EVERYONE}` is everyone who can sign in; name the groups that have the job")
    for user in members.users:
        check_grantee(user, non_creators=())
    return WantedRole(
        name=name or role_name(preset.name, namespace, instance),
        made_for=f"Made by ranger-cdap: {preset.name} in {entity} of instance {instance}, service {service}.",
        members=members,
        rights=tuple(_rights(one, namespace, instance) for one in preset.rights),
    )


def role_name(preset: str, namespace: str, instance: str) -> str:
    """Return `sales_developer`; with the instance in front, unless it has the default name (`dev_sales_developer`)."""
    parts = (namespace, preset) if instance == _USUAL_INSTANCE else (instance, namespace, preset)
    return "_".join(parts).replace("-", "_")


def _rights(right: PresetRight, namespace: str, instance: str) -> RoleRights:
    where = SYSTEM_NAMESPACE if right.is_system else namespace
    _, _, *inner = entity_type(right.type).path
    levels = {**dict.fromkeys(inner, EVERY_NAME), **({inner[-1]: right.name} if right.name else {})}
    what = f"{right.type} {right.name}" if right.name else f"every {right.type}"
    name = f"roles: {what} in namespace {where} of {instance}" if inner else f"roles: namespace {where} of {instance}"
    return RoleRights(name, {"instance": instance, "namespace": where, **levels}, frozenset(right.accesses))
