"""Users and groups that must exist in Ranger before anything is given to them."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.client.ranger_admin import RangerAdmin


def require_known(admin: RangerAdmin, users: Iterable[str], groups: Iterable[str] = ()) -> None:
    """Require that Ranger knows these users and groups; changes nothing.

    Raises:
        InvalidInput: it names all that are missing.
        RangerAdminError: a request to Ranger Admin failed.
    """
    missing = {
        "user": [f"`{name}`" for name in dict.fromkeys(users) if not admin.user_exists(name)],
        "group": [f"`{name}`" for name in dict.fromkeys(groups) if not admin.group_exists(name)],
    }
    named = [f"{kind}{'s' * (len(names) > 1)} {', '.join(names)}" for kind, names in missing.items() if names]
    if named:
        raise InvalidInput(
            f"Ranger has no {' and '.join(named)}; create them in Ranger Admin, or let user sync bring them; "
            "nothing was changed"
        )
