"""`LdapGroups`: groups of a directory, over a pool of connections to the first server that answers."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from ranger_cdap.config import LdapSettings
from ranger_cdap.directory.group_directory import MOST_AT_ONCE
from ranger_cdap.errors import GroupLookupFailed, GroupSourceUnavailable
from ranger_cdap.forks import restart_after_fork
from ranger_cdap.ldap.connection import (
    ConnectionFailed,
    LdapConnection,
    LdapEntry,
    ldap_library,
    ldap_tls_context,
)
from ranger_cdap.ldap.names import (
    PRIMARY_GROUP,
    SID,
    domain_of,
    group_name,
    is_of_user,
    members_filter,
    name_attributes,
    primary_group_filter,
    user_filter,
)
from ranger_cdap.ldap.nested_groups import DirectoryGroup, with_parents

IDLE_SECONDS: Final = 60.0
"""Seconds after which an unused connection is replaced: servers and firewalls close idle ones silently."""
AVOID_SECONDS: Final = 30.0
"""Seconds for which a server that did not answer is tried after the others."""

_T = TypeVar("_T")


class LdapGroups:
    """Source of groups; safe to share between threads."""

    name = "ldap"
    is_definitive = True

    def __init__(self, settings: LdapSettings, deadline: float, ca_file: str | None = None) -> None:
        """Open nothing yet; a server gets half of `deadline`, so that another may answer in time.

        Raises:
            ConfigError: the extra `ldap` is not installed, or `network.ca_file` cannot be used.
        """
        ldap_library()
        self._settings = settings
        self._patience = deadline / 2
        self._context: ssl.SSLContext = ldap_tls_context(ca_file)
        self._failed: dict[str, float] = {}
        self.after_fork()
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Leave the connections to the parent."""
        self._lock = threading.Lock()
        self._idle: list[LdapConnection] = []

    def look_up(self, user: str, deadline: float) -> frozenset[str] | None:
        """Return the groups of a user; None if the directory has no such user.

        `deadline` is a time of the monotonic clock.

        Raises:
            GroupLookupFailed: the groups cannot be determined.
            GroupSourceUnavailable: no server answers, or the account is rejected.
        """
        return self._by_any_server(lambda connection: self._groups(connection, user, deadline), deadline)

    def connect(self, url: str, deadline: float) -> LdapConnection:
        """Return a new connection to one server, outside of the pool.

        Raises:
            ConnectionFailed: the server does not answer.
            GroupSourceUnavailable: the account is rejected.
        """
        return LdapConnection(url, self._settings, self._context, deadline, self._patience)

    def close(self) -> None:
        """Close the connections that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _by_any_server(self, run: Callable[[LdapConnection], _T], deadline: float) -> _T:
        """Run on a pooled connection, else on new ones to one server after the other."""
        why = "no answer in time"
        for connection in self._connections(deadline):
            if isinstance(connection, ConnectionFailed):
                why = str(connection)
                continue
            try:
                found = run(connection)
            except ConnectionFailed as e:
                why = str(e)
                connection.close()
                continue
            except GroupSourceUnavailable:
                connection.close()
                raise
            except GroupLookupFailed:
                self._give_back(connection)
                raise
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)
            return found
        raise GroupSourceUnavailable(f"the directory is unavailable: {why}")

    def _connections(self, deadline: float) -> Iterator[LdapConnection | ConnectionFailed]:
        """Yield connections to try, or why there is none to a server; one from the pool may have been closed."""
        pooled = self._take()
        if pooled is not None:
            yield pooled
        for url in self._in_order():
            try:
                connection = self.connect(url, deadline)
            except ConnectionFailed as e:
                with self._lock:
                    self._failed[url] = time.monotonic()
                yield e
                continue
            yield connection
            with self._lock:  # only if it failed, and another is asked for
                self._failed[url] = time.monotonic()

    def _in_order(self) -> Sequence[str]:
        """Return the servers as configured, those that failed lately last."""
        since = time.monotonic() - AVOID_SECONDS
        with self._lock:
            late = {url for url, failed in self._failed.items() if failed > since}
        return sorted(self._settings.urls, key=late.__contains__)

    def _take(self) -> LdapConnection | None:
        """Return the connection used last, if it is not too old; older ones are closed."""
        since = time.monotonic() - IDLE_SECONDS
        with self._lock:
            stale = [one for one in self._idle if one.used < since]
            self._idle = [one for one in self._idle if one.used >= since]
            found = self._idle.pop() if self._idle else None
        for one in stale:
            one.close()
        return found

    def _give_back(self, connection: LdapConnection) -> None:
        with self._lock:
            if len(self._idle) < MOST_AT_ONCE:
                self._idle.append(connection)
                return
        connection.close()

    def _groups(self, connection: LdapConnection, user: str, deadline: float) -> frozenset[str] | None:
        settings = self._settings
        entry = self._user(connection, user, deadline)
        if entry is None:
            return None
        names: frozenset[str] = frozenset()
        if settings.memberof_attribute and not (settings.nested_depth or settings.in_chain):
            names = frozenset(map(self._name_of, entry.attributes.get(settings.memberof_attribute.lower(), ())))
        primary = self._primary(connection, entry, deadline)
        if names:
            names |= {group.name for group in primary}
        else:
            names = self._searched(connection, entry, primary, deadline)
        return frozenset(map(_CASES[settings.name_case], names))

    def _user(self, connection: LdapConnection, user: str, deadline: float) -> LdapEntry | None:
        settings = self._settings
        more = {settings.memberof_attribute, settings.gid_attribute, self._member_attribute, PRIMARY_GROUP, SID} - {""}
        attributes = (*name_attributes(settings.user_filter), *sorted(more))
        found = connection.search(
            settings.user_base, user_filter(settings.user_filter, user), attributes, deadline, most=1
        )
        if not found:
            return None
        if not is_of_user(settings.user_filter, user, found[0].attributes):
            raise GroupLookupFailed("the directory found an entry whose name is not exactly that of the user")
        return found[0]

    @property
    def _member_attribute(self) -> str:
        return "" if self._settings.member_value.lower() == "dn" else self._settings.member_value

    def _primary(self, connection: LdapConnection, entry: LdapEntry, deadline: float) -> list[DirectoryGroup]:
        """Return Active Directory's primary group of a user, which does not name its members; none elsewhere."""
        rid = "".join(entry.attributes.get(PRIMARY_GROUP.lower(), ()))
        if not rid:
            return []
        wanted = primary_group_filter("".join(entry.attributes.get(SID.lower(), ())), rid)
        base = domain_of(entry.dn)
        names = [self._settings.name_attribute]
        found = connection.search(base, wanted, names, deadline, most=1) if wanted and base else []
        if not found:
            raise GroupLookupFailed(f"the primary group of the user is not found by `{PRIMARY_GROUP}` and `{SID}`")
        return [DirectoryGroup(found[0].dn, self._name_in(found[0]))]

    def _searched(
        self, connection: LdapConnection, entry: LdapEntry, primary: list[DirectoryGroup], deadline: float
    ) -> frozenset[str]:
        settings = self._settings
        if settings.in_chain and not connection.is_active_directory(deadline):
            raise GroupSourceUnavailable("`ldap.in_chain` is set, and the directory is not Active Directory")

        def of(search_filter: str) -> list[DirectoryGroup]:
            base = settings.group_base or settings.user_base
            found = connection.search(base, search_filter, [settings.name_attribute], deadline)
            return [DirectoryGroup(one.dn, self._name_in(one)) for one in found]

        def parents(dns: Sequence[str]) -> list[DirectoryGroup]:
            return of(members_filter(settings.group_filter, settings.member_attribute, dns))

        values = entry.attributes.get(self._member_attribute.lower(), ()) if self._member_attribute else (entry.dn,)
        gids = entry.attributes.get(settings.gid_attribute.lower(), ()) if settings.gid_attribute else ()
        if (self._member_attribute and not values) or (settings.gid_attribute and not gids):
            raise GroupLookupFailed("the entry of the user lacks `ldap.member_value` or `ldap.gid_attribute`")
        direct = of(
            members_filter(settings.group_filter, settings.member_attribute, values, in_chain=settings.in_chain)
        )
        if gids:
            direct += of(members_filter(settings.group_filter, settings.gid_attribute, gids))
        direct += primary
        if primary and settings.in_chain:
            direct += of(
                members_filter(settings.group_filter, settings.member_attribute, [primary[0].dn], in_chain=True)
            )
        return with_parents(direct, parents, depth=settings.nested_depth)

    def _name_in(self, group: LdapEntry) -> str:
        names = group.attributes.get(self._settings.name_attribute.lower(), ())
        if not names:
            raise GroupLookupFailed(f"a group of the user has no `{self._settings.name_attribute}`")
        in_dn = group_name(group.dn, self._settings.name_attribute)
        return in_dn if in_dn in names else names[0]

    def _name_of(self, dn: str) -> str:
        name = group_name(dn, self._settings.name_attribute)
        if name is None:
            raise GroupLookupFailed(
                f"a value of `{self._settings.memberof_attribute}` has no `{self._settings.name_attribute}`;"
                " empty `ldap.memberof_attribute` to search the groups instead"
            )
        return name


_CASES: Final[dict[str, Callable[[str], str]]] = {"keep": str, "lower": str.lower, "upper": str.upper}
