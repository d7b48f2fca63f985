"""Checks of the sources of groups: every server of the directory, its account, and the entries that are searched."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ranger_cdap.config import LdapSettings, Settings
from ranger_cdap.config.address import is_loopback
from ranger_cdap.config.group_checks import ldap_server
from ranger_cdap.doctor.finding import Finding, failed, note, skipped, well
from ranger_cdap.errors import ConfigError, GroupLookupFailed, GroupSourceUnavailable
from ranger_cdap.ldap.connection import ConnectionFailed
from ranger_cdap.ldap.groups import LdapGroups


def examine_ldap(settings: Settings) -> Iterator[Finding]:
    """Check the directory in `[ldap]`; nothing is reported if it is no source of groups."""
    groups, ldap = settings.groups, settings.ldap
    if "ldap" not in groups.sources:
        return
    if problem := ldap.bind_password.problem:
        yield skipped("directory", f"not tried: {problem}")
        return
    try:
        source = LdapGroups(ldap, groups.deadline, settings.network.ca_file)
    except ConfigError as e:
        yield failed("directory", str(e), "correct `[ldap]`")
        return
    for url in ldap.urls:
        scheme, host, _ = ldap_server(url)
        if scheme == "ldap" and not ldap.start_tls and not is_loopback(host):
            yield note(
                f"encryption of directory {url}",
                "unencrypted: anyone on the network path can read the password and forge groups",
                "use ldaps://, and take the host out of `network.plain_hosts`",
            )
        yield from _examine_server(source, ldap, url, settings.groups.deadline)


def _examine_server(source: LdapGroups, ldap: LdapSettings, url: str, seconds: float) -> Iterator[Finding]:
    check = f"directory {url}"
    deadline = time.monotonic() + seconds
    try:
        connection = source.connect(url, deadline)
    except ConnectionFailed as e:
        yield failed(check, str(e), "start the server, or correct `ldap.urls` and `network.ca_file`")
        return
    except (GroupSourceUnavailable, ConfigError) as e:
        yield failed(check, str(e), "correct the account in `[ldap]`")
        return
    try:
        yield well(check, "connected, and the account is accepted" if ldap.bind_dn else "connected, without an account")
        for setting in ("user_base", "group_base"):
            base = getattr(ldap, setting)
            if base and not connection.has_entry(base, deadline):
                yield failed(
                    check,
                    f"the account sees no entry `{base}`",
                    f"correct `ldap.{setting}`, or let the account read it",
                )
        if ldap.in_chain and not connection.is_active_directory(deadline):
            yield failed(check, "it is not Active Directory", "set `ldap.nested_depth` instead of `ldap.in_chain`")
    except (ConnectionFailed, GroupLookupFailed) as e:
        yield failed(check, str(e), "look at the log of the directory")
    finally:
        connection.close()
