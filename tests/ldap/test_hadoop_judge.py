"""Hadoop's own class as the judge: one core-site.xml, one directory, the same groups."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ranger_cdap.config import read_configuration
from ranger_cdap.directory.group_directory import GroupDirectory
from ranger_cdap.directory.posix_groups import PosixGroups
from ranger_cdap.errors import GroupLookupFailed
from ranger_cdap.ldap.plugin import ranger_cdap_group_sources
from tests.config.test_core_site import LDAP, MAPPING, SECURITY, composite, configuration, core_site
from tests.differential.java_engine import java_command
from tests.ldap.slapd_server import PASSWORD, READER, SlapdServer

pytestmark = pytest.mark.java

NESTED = 2
"""The mapping that follows one level of groups in groups."""
USERS = ("alice", "bob", "carl", "lonely", "stranger", "pat", "root", "*", "alice)(cn=*")


def mappings(server: SlapdServer) -> list[dict[str, str]]:
    base = {
        MAPPING: f"{SECURITY}LdapGroupsMapping",
        f"{LDAP}url": server.ldap,
        f"{LDAP}bind.user": READER,
        f"{LDAP}bind.password": PASSWORD,
        f"{LDAP}base": "dc=example",
    }
    posix = {
        **base,
        f"{LDAP}search.filter.user": "(&(objectClass=posixAccount)(uid={0}))",
        f"{LDAP}search.filter.group": "(objectClass=posixGroup)",
        f"{LDAP}search.attr.member": "memberUid",
    }
    provider = {key.replace(LDAP, f"{MAPPING}.provider.dir.ldap."): value for key, value in base.items() if LDAP in key}
    both = composite(("unix", "ShellBasedUnixGroupsMapping"), ("dir", "LdapGroupsMapping"), **provider)
    return [
        base,
        {**base, f"{LDAP}search.attr.memberof": "memberOf"},
        {**base, f"{LDAP}search.group.hierarchy.levels": "1"},
        {**base, f"{LDAP}search.group.hierarchy.levels": "4", f"{LDAP}search.attr.memberof": "memberOf"},
        {**base, f"{LDAP}search.filter.group": "(&(objectClass=group)(cn=S*))"},
        {**base, f"{LDAP}userbase": "OU=People,dc=example", f"{LDAP}groupbase": "OU=Groups,dc=example"},
        {**base, MAPPING: f"{SECURITY}RuleBasedLdapGroupsMapping", f"{LDAP}conversion.rule": "to_upper"},
        posix,
        {**posix, f"{LDAP}posix.attr.uid.name": "uid"},
        both,
        {**both, f"{MAPPING}.providers.combined": "false"},
        {MAPPING: f"{SECURITY}NullGroupsMapping"},
    ]


@pytest.fixture
def server(tmp_path: Path) -> SlapdServer:
    found = SlapdServer(tmp_path / "slapd")
    found.start()
    found.fill()
    alice, bob = found.add_user("alice", cn="Smith, Alice (EMEA)"), found.add_user("bob")
    carl = found.add_user("carl")
    found.add_user("lonely")
    found.add_user("root")
    found.add_group("All", [found.add_group("North, Area", [found.add_user("dave")])])
    found.add_group("Sales, EMEA", [alice])
    sales = found.add_group("Sales", [alice])
    middle = found.add_group("Sales-Field", [sales, bob])
    found.add_group("Top", [middle, carl])
    loop = found.add_group("Staff", [bob, carl])
    found.change(loop, member=[bob, carl, loop])
    found.add("uid=pat,OU=People,dc=example", "account", "posixAccount", uid="pat", cn="pat", uidNumber="1001",
              gidNumber="2001", homeDirectory="/")  # fmt: skip
    for name, number, members in (("own", 2001, []), ("ops", 2002, ["pat"]), ("dev", 2003, ["1001"])):
        more = {"memberUid": members} if members else {}
        found.add(f"cn={name},OU=Groups,dc=example", "posixGroup", cn=name, gidNumber=str(number), **more)
    return found


def known(directory: GroupDirectory | None, user: str) -> list[str]:
    """Return the groups found; where Hadoop says *none*, ours may be unknown."""
    try:
        return sorted(directory.groups_of(user) or ()) if directory is not None else []
    except GroupLookupFailed:
        return []


def test_groups_are_those_that_hadoop_finds(server: SlapdServer, tmp_path: Path) -> None:
    java = java_command()
    if java is None:
        pytest.skip("Java is not installed")
    pyspark = pytest.importorskip("pyspark")
    jars = Path(pyspark.__file__).parent / "jars"
    try:
        files: list[str] = []
        ours: list[list[str]] = []
        daves = []
        for n, properties in enumerate(mappings(server)):
            folder = tmp_path / str(n)
            folder.mkdir()
            configuration(folder, properties)
            settings = read_configuration(folder / "ranger-cdap.toml", {}).settings
            assert settings.hadoop.core_site is not None
            files.append(str(core_site(folder, properties)))
            found = GroupDirectory.of(settings, {**ranger_cdap_group_sources(), "posix": lambda _: PosixGroups()})
            ours += [known(found, user) for user in USERS]
            daves.append(known(found, "dave"))
        judge = Path(__file__).with_name("GroupJudge.java")
        ran = subprocess.run(
            [java, "-cp", f"{jars}/*", str(judge), ",".join(files), *USERS, "dave"],
            capture_output=True,
            text=True,
            check=False,
        )
        theirs = [sorted(line.split("\t")[1:]) for line in ran.stdout.splitlines() if line.startswith("groups\t")]
        assert len(theirs) == len(files) * (len(USERS) + 1), ran.stderr[-3000:]
        by_mapping = [theirs[n : n + len(USERS) + 1] for n in range(0, len(theirs), len(USERS) + 1)]
        assert [[one for one in groups if one] for found in by_mapping for groups in found[:-1]] == ours
        assert sum(map(len, ours)) > 40
        # Hadoop does not escape the names of groups whose groups it searches, and so misses those around them.
        assert (by_mapping[NESTED][-1], daves[NESTED]) == (["North, Area"], ["All", "North, Area"])
    finally:
        server.close()
