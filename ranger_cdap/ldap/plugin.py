"""Groups from LDAP as a plugin: the source `ldap`, and its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ranger_cdap.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from ranger_cdap.config import Settings
    from ranger_cdap.directory.group_directory import GroupSource, GroupSourceFactory
    from ranger_cdap.doctor.finding import Finding


@hookimpl
def ranger_cdap_group_sources() -> Mapping[str, GroupSourceFactory]:
    """Return the source `ldap`."""
    return {"ldap": _ldap_groups}


@hookimpl
def ranger_cdap_doctor_checks(settings: Settings) -> Iterator[Finding]:
    """Check the directory, if it is a source of groups."""
    from ranger_cdap.ldap.checks import examine_ldap

    return examine_ldap(settings)


def _ldap_groups(settings: Settings) -> GroupSource:
    from ranger_cdap.ldap.groups import LdapGroups

    return LdapGroups(settings.ldap, settings.groups.deadline, settings.network.ca_file)
