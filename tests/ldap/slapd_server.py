"""A real LDAP server: OpenLDAP's slapd as a process on loopback, with the shapes of Active Directory."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from ranger_cdap.ldap.connection import ldap_library
from tests.certificates import Authority, put

ldap3: Final[Any] = ldap_library()

UNPACKED: Final = Path(sys.prefix) / "slapd" / "root"
"""Where `make setup` unpacks the server if it is not installed."""

ROOT_DN, ROOT_PASSWORD = "cn=root,dc=example", "root-secret"
READER, PASSWORD = "cn=reader,dc=example", "reader-secret"

AD_SCHEMA = """\
attributetype ( 1.3.6.1.4.1.99999.1.1 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.1.2 NAME 'primaryGroupID' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.1.3 NAME 'objectSid' EQUALITY octetStringMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.99999.2.1 NAME 'user' SUP organizationalPerson STRUCTURAL
  MAY ( sAMAccountName $ primaryGroupID $ objectSid $ mail $ uid ) )
objectclass ( 1.3.6.1.4.1.99999.2.2 NAME 'group' SUP top STRUCTURAL MUST cn
  MAY ( member $ sAMAccountName $ objectSid ) )
"""

CONFIGURATION = """\
include {schemas}/core.schema
include {schemas}/cosine.schema
include {schemas}/inetorgperson.schema
include {schemas}/nis.schema
include {folder}/ad.schema
modulepath {modules}
moduleload back_mdb
moduleload memberof
pidfile {folder}/slapd.pid
TLSCACertificateFile {folder}/ca.pem
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
TLSVerifyClient never
{more}
database mdb
suffix "dc=example"
rootdn "{root}"
rootpw {password}
directory {folder}/data
overlay memberof
memberof-group-oc group
memberof-member-ad member
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by * none
"""


def slapd_program() -> Path:
    """Return the server; skips the test if there is none."""
    installed = shutil.which("slapd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if installed:
        return Path(installed)
    unpacked = UNPACKED / "usr/sbin/slapd"
    if not unpacked.is_file():
        pytest.skip("slapd is not installed, and `make setup` could not unpack it")
    return unpacked


class SlapdServer:
    """The server; it can be stopped, killed and started again with its data."""

    def __init__(self, folder: Path, *, more: str = "") -> None:
        self.folder = folder
        program = slapd_program()
        base = UNPACKED if program.is_relative_to(UNPACKED) else Path("/")
        libraries = ":".join(map(str, (base / "usr/lib").glob("*-linux-gnu*")))
        self._environment = {"LD_LIBRARY_PATH": libraries} if base == UNPACKED else {}
        self._program = program
        self._ports = _free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "data").mkdir(parents=True)
        (folder / "ad.schema").write_text(AD_SCHEMA)
        self.authority = Authority("directory")
        self.ca_file = put(folder / "ca.pem", self.authority.pem)
        self.authority.server().put(folder / "server.pem", folder / "server.key")
        (folder / "slapd.conf").write_text(
            CONFIGURATION.format(
                schemas=base / "etc/ldap/schema",
                modules=base / "usr/lib/ldap",
                folder=folder,
                root=ROOT_DN,
                password=ROOT_PASSWORD,
                reader=READER,
                more=more,
            )
        )

    @property
    def ldap(self) -> str:
        return f"ldap://127.0.0.1:{self._ports[0]}"

    @property
    def ldaps(self) -> str:
        return f"ldaps://127.0.0.1:{self._ports[1]}"

    @property
    def port(self) -> int:
        return self._ports[0]

    def start(self) -> None:
        log = (self.folder / "slapd.log").open("ab")
        with closing(log):
            self._process = subprocess.Popen(
                [self._program, "-f", self.folder / "slapd.conf", "-h", f"{self.ldap} {self.ldaps}", "-d", "0"],
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + 20
        while not all(_listens(port) for port in self._ports):
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError((self.folder / "slapd.log").read_text())
            time.sleep(0.01)

    def kill(self) -> None:
        self._send(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()
        self._process = None

    def hang(self) -> None:
        """Accept connections, by the kernel, and answer nothing."""
        self._send(signal.SIGSTOP)

    def limit(self, entries: str) -> None:
        """Start again with a limit of entries that a search returns."""
        self.close()
        configuration = self.folder / "slapd.conf"
        lines = [line for line in configuration.read_text().splitlines() if not line.startswith("sizelimit")]
        configuration.write_text("\n".join([f"sizelimit {entries}", *lines, ""]))
        self.start()

    def go_on(self) -> None:
        self._send(signal.SIGCONT)

    def close(self) -> None:
        if self._process is not None:
            self.go_on()
            self.kill()

    def add(self, dn: str, *classes: str, **attributes: Any) -> None:
        with self.root() as root:
            assert root.add(dn, list(classes), attributes or None), root.result

    def change(self, dn: str, **changes: Any) -> None:
        """Replace the values of attributes."""
        with self.root() as root:
            replaced = {name: [(ldap3.MODIFY_REPLACE, values)] for name, values in changes.items()}
            assert root.modify(dn, replaced), root.result

    def add_group(self, name: str, members: Iterable[str], *, dn: str | None = None, **attributes: Any) -> str:
        """Add a group of Active Directory's shape; its name is written in the DN as RFC 4514 wants it."""
        dn = dn or f"CN={rdn_value(name)},OU=Groups,dc=example"
        member = list(members)
        self.add(dn, "group", cn=name, **({"member": member} if member else {}), **attributes)
        return dn

    def add_user(self, name: str, *, cn: str = "", **attributes: Any) -> str:
        dn = f"CN={rdn_value(cn or name)},OU=People,dc=example"
        self.add(dn, "user", cn=cn or name, sn="x", sAMAccountName=name, **attributes)
        return dn

    def fill(self) -> None:
        """Add the account that searches, and the two units."""
        self.add("dc=example", "dcObject", "organization", dc="example", o="Example")
        self.add(READER, "organizationalRole", "simpleSecurityObject", cn="reader", userPassword=PASSWORD)
        for unit in ("People", "Groups"):
            self.add(f"OU={unit},dc=example", "organizationalUnit", ou=unit)

    @contextmanager
    def root(self) -> Iterator[Any]:
        server = ldap3.Server("127.0.0.1", self._ports[0], get_info=ldap3.NONE, connect_timeout=5)
        root = ldap3.Connection(server, ROOT_DN, ROOT_PASSWORD, auto_bind=True, check_names=False)
        try:
            yield root
        finally:
            root.unbind()

    def _send(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)


def sid(rid: int) -> bytes:
    """Return a SID of one domain, as Active Directory stores it."""
    numbers = (21, 1004336348, 1177238915, 682003330, rid)
    return bytes((1, len(numbers), 0, 0, 0, 0, 0, 5)) + b"".join(number.to_bytes(4, "little") for number in numbers)


def rdn_value(text: str) -> str:
    """Return a text as a value in a distinguished name (RFC 4514)."""
    return "".join(f"\\{letter}" if letter in ',+"\\<>;=#' else letter for letter in text)


def settings_for(server: SlapdServer, **more: Any) -> Mapping[str, Any]:
    """Return a table `[ldap]` for Active Directory's shapes."""
    return {
        "urls": [server.ldap],
        "bind_dn": READER,
        "bind_password": PASSWORD,
        "user_base": "OU=People,dc=example",
        "group_base": "OU=Groups,dc=example",
        **more,
    }


def _free_ports(count: int) -> list[int]:
    with closing(socket.socket()) as one, closing(socket.socket()) as other:
        for found in (one, other)[:count]:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in (one, other)[:count]]


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
