"""Initial content of a database: built-in users and group, the administrator's password, the tag definition."""

from __future__ import annotations

from ranger_cdap.testing.admin.api.definition_api import refresh_tag_definition
from ranger_cdap.testing.admin.model.documents import Group, User
from ranger_cdap.testing.admin.store.principals import ADMIN_ROLE
from ranger_cdap.testing.admin.store.tables import Tables

ADMIN = "admin"
_USER_ROLE = "ROLE_USER"
BUILT_IN_USERS: tuple[tuple[str, str, str], ...] = (
    (ADMIN, "Admin", ADMIN_ROLE),
    ("rangerusersync", "rangerusersync", ADMIN_ROLE),
    ("keyadmin", "keyadmin", "ROLE_KEY_ADMIN"),
    ("rangertagsync", "rangertagsync", ADMIN_ROLE),
    ("{OWNER}", "", _USER_ROLE),
    ("{USER}", "", _USER_ROLE),
)
"""Name, first name, role in Ranger. Only the administrator gets a password, so no other can sign in."""
PUBLIC_GROUP = "public"


def prepare(tables: Tables, admin_password_hash: str, now: int) -> None:
    """Create missing entries and set the administrator's password."""
    principals = tables.principals
    missing = set(principals.missing("users", [name for name, _, _ in BUILT_IN_USERS]))
    for name, first_name, role in BUILT_IN_USERS:
        if name in missing:
            principals.insert_user(
                User(name=name, first_name=first_name, description=name, user_role_list=[role]), None, None, now
            )
    if principals.groups.by_name(PUBLIC_GROUP) is None:
        principals.insert_group(Group(name=PUBLIC_GROUP, description="public group"), None, now)
    principals.set_password(ADMIN, admin_password_hash)
    refresh_tag_definition(tables, now)
