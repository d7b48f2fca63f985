"""Check of the transformation of names: it can be Ranger's, and the users that it makes one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ranger_cdap.config import Settings
from ranger_cdap.doctor.finding import Finding, failed, note, well
from ranger_cdap.engine import NameTransformation, UncertainName
from ranger_cdap.engine.view import name_transformation
from ranger_cdap.errors import PolicySetError, RangerAdminError
from ranger_cdap.plugins.manager import engine_options
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.decode import decode_user_store
from ranger_cdap.ranger_model.download import ServicePolicies

_SHOWN = 3


def examine_names(
    settings: Settings, policies: ServicePolicies, admin: RangerAdmin, by: Downloader
) -> Iterator[Finding]:
    """Check what becomes of CDAP's names; nothing if the settings transform none."""
    check, plugin = "names of users", settings.plugin
    if not (plugin.transform_names or plugin.email_to_user):
        return
    users = None
    with suppress(RangerAdminError, PolicySetError):  # the checks of rights report them
        users = decode_user_store(
            admin.download_user_store(settings.ranger.service, last_known_version=-1, by=by) or b"{}"
        )
    try:
        names = name_transformation(engine_options(settings.plugin), policies.service_config, users)
    except PolicySetError as e:
        yield failed(check, str(e), "until then downloaded policies are refused")
        return
    if not names.changes:
        yield well(check, "transformed, but the service's configuration in Ranger changes none")
        return
    sync = settings.sync
    known = {settings.master.name, *sync.non_creators, *sync.mapped, *sync.mapped.values()}
    pairs = _one_user(names, known | set(users.user_group_mapping if users is not None else ()))
    shown = f", for example {'; '.join(pairs[:_SHOWN])}" if pairs else ""
    yield note(
        check,
        f"Ranger's configuration changes {', '.join(names.changes)}: names in CDAP that become the same in Ranger are"
        f" one user, and to the sync job one owner{shown}",
        "make sure that no two people have such names",
    )


def _one_user(names: NameTransformation, known: set[str]) -> list[str]:
    """Return the known names that become the same, as `BOB and bob are bob`."""
    found: dict[str, list[str]] = {}
    for name in sorted(known):
        with suppress(UncertainName):
            found.setdefault(names.user(name), []).append(name)
    return [f"{' and '.join(several)} are {user}" for user, several in found.items() if len(several) > 1]
