"""`ranger-cdap policies refresh`: download the current policies into the cache."""

from __future__ import annotations

import click
from msgspec.structs import replace

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.errors import CacheError
from ranger_cdap.plugins.manager import engine_options, plugin_manager
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.sign_in import AccountSource
from ranger_cdap.ranger.client.versions import NO_VERSION, Versions
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher


@click.command(
    "refresh",
    cls=Command,
    examples=("ranger-cdap policies refresh", "ranger-cdap policies refresh --allow-older"),
    exits={ExitCode.OK: "the cache is up to date"},
)
@click.option(
    "--allow-older",
    is_flag=True,
    help="Accept policies older than those this host has used, after Ranger was restored from a backup.",
)
@pass_invocation
def refresh_command(invocation: Invocation, *, allow_older: bool) -> None:
    """Download the policies into the cache, and show their versions.

    Policies, roles, tags and users older than those this host has already used are refused, because they could bring
    back a revoked privilege. After Ranger was restored from a backup, review what was lost, then accept the older
    version once with --allow-older. A running service picks it up with its next download. If the sync job writes
    grants, run `ranger-cdap sync run` first, then `ranger-cdap sync reconcile`.
    """
    settings = invocation.settings
    options = engine_options(settings.plugin, plugin_manager())
    rows = []
    for name in dict.fromkeys((settings.ranger.service, *settings.service.ranger_services)):
        of_service = replace(settings, ranger=replace(settings.ranger, service=name))
        admin = RangerAdmin.connect(
            settings, settings.plugin.username, settings.plugin.password, source=AccountSource.PLUGIN
        )
        with PolicyRefresher(admin, of_service, options=options, allow_older=allow_older) as refresher:
            snapshot = refresher.refresh_now()
            if snapshot.cache_problem:
                raise CacheError(snapshot.cache_problem)
            rows.append((name, snapshot.versions))
    if allow_older:
        invocation.messages.print(
            "if the sync job writes grants, run `ranger-cdap sync run` where it runs: it revokes those that a restore "
            "brought back and writes those that it lost; `ranger-cdap sync reconcile` then lists the rest"
        )
    invocation.show_table(
        [{"service": name} | _numbers(versions) for name, versions in rows],
        ["service", *_numbers(Versions())],
        [[name, *_texts(versions)] for name, versions in rows],
    )


def _numbers(versions: Versions) -> dict[str, int | None]:
    found = {
        "policies": versions.policies,
        "roles": versions.roles,
        "tags": versions.tags,
        "users": versions.users,
    }
    return {what: None if number == NO_VERSION else number for what, number in found.items()}


def _texts(versions: Versions) -> list[str]:
    return ["-" if number is None else str(number) for number in _numbers(versions).values()]
