"""The tables `[groups]` and `[ldap]`: sources of users' groups in addition to Ranger's user store."""

from __future__ import annotations

from typing import Literal

import msgspec

from ranger_cdap.config.secret import Secret
from ranger_cdap.config.table import Table


class GroupSettings(Table, frozen=True):
    """Sources of users' groups besides Ranger's user store ([how](../how-to/take-groups-from-ldap.md)); default: none.

    If a source fails, the user counts as a member of every group named in a deny, and of no group of these sources.
    """

    sources: tuple[str, ...] = ()
    """`ldap` (the directory in `[ldap]`) and `posix` (the accounts of this machine), in that order or the other."""
    combined: bool = True
    """Use the groups of all sources; if false, those of the first source that has any."""
    static: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Groups by user, which replace those of the sources: `static = { etl = ["batch"], guest = [] }`."""
    ttl: float = 60.0
    """Seconds for which the groups of a user are used before they are looked up again; greater than zero."""
    negative_ttl: float = 30.0
    """The same for a user that no source knows."""
    deadline: float = 2.0
    """Maximum seconds that a decision waits for groups, half of it for one server; greater than zero."""


class LdapSettings(Table, frozen=True):
    """The directory of the source `ldap`. The default filters are those of Active Directory."""

    urls: tuple[str, ...] = ()
    """Servers like `ldaps://dc1.example`; one that does not answer is followed by the next."""
    start_tls: bool = False
    """Encrypt connections to `ldap://` by StartTLS before anything is sent."""
    bind_dn: str = ""
    """The account that searches, as a distinguished name; in Active Directory also `name@domain`."""
    bind_password: Secret = Secret("")
    """Its password."""
    anonymous: bool = False
    """Search without an account; `bind_dn` is then empty."""
    user_base: str = ""
    """The entry below which users are."""
    user_filter: str = "(&(objectClass=user)(sAMAccountName={user}))"
    """The filter for one user; the name, escaped, replaces `{user}`."""
    group_base: str = ""
    """The entry below which groups are; default: `user_base`."""
    group_filter: str = "(objectClass=group)"
    """The filter for groups, to which the condition for members is added."""
    member_attribute: str = "member"
    """The attribute of a group that holds its members."""
    member_value: str = "dn"
    """The form of its values: `dn`, or an attribute of the user that is used instead, like `uid`."""
    name_attribute: str = "cn"
    """The attribute of a group that holds the name used in policies."""
    name_case: Literal["keep", "lower", "upper"] = "keep"
    """The case of group names: as in the directory, or converted."""
    gid_attribute: str = ""
    """The attribute of users and groups with the number of the primary group, like `gidNumber`; default: none."""
    memberof_attribute: str = ""
    """The attribute of a user that holds the names of the groups, like `memberOf`, which saves a search."""
    nested_depth: int = 0
    """Levels of groups in groups that are followed; 0: none."""
    in_chain: bool = False
    """Active Directory resolves groups in groups itself, at every depth (`LDAP_MATCHING_RULE_IN_CHAIN`)."""
