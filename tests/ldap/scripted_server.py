"""An LDAP server that answers as a test says: shapes that OpenLDAP lacks, and answers that no server should give."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import Any, Final

from ranger_cdap.ldap.connection import ldap_library

ldap3: Final[Any] = ldap_library()

from ldap3.protocol import rfc4511 as wire  # noqa: E402 - after its import without warnings
from ldap3.utils.asn1 import encode  # noqa: E402

_BIND, _SEARCH = 0x60, 0x63
_AND, _OR, _EQUAL, _PRESENT = 0xA0, 0xA1, 0xA3, 0x87
SUCCESS, SIZE_LIMIT, REFERRAL = 0, 4, 10
Values = dict[str, Sequence[str]]


class ScriptedEntry:
    """An entry of an answer."""

    def __init__(self, dn: str, **attributes: Sequence[str]) -> None:
        self.dn = dn
        self.attributes: Values = attributes


class ScriptedServer:
    """The server: it accepts every bind, and `answer` says what a search with a base, filter and attributes returns.

    A result is entries and a code; bytes are sent as they are, and then the connection is closed.
    """

    def __init__(self, answer: Callable[[str, str, list[str]], tuple[list[ScriptedEntry], int] | bytes]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"ldap://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked: list[tuple[str, str, list[str]]] = []
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for one in (self._listener, *self._connections):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), closing(connection):
            data = b""
            while received := connection.recv(65_536):
                data += received
                while len(data) > 1 and (size := _size(data)) <= len(data):
                    ((_, message),) = _elements(data[:size])
                    data = data[size:]
                    if not self._reply(connection, message):
                        return

    def _reply(self, connection: socket.socket, message: bytes) -> bool:
        (_, identity), (tag, operation), *_ = _elements(message)
        number = int.from_bytes(identity, "big")
        if tag == _BIND:
            connection.sendall(_message(number, "bindResponse", _result(wire.BindResponse(), SUCCESS)))
            return True
        if tag != _SEARCH:
            return False
        fields = _elements(operation)
        attributes = [one.decode() for _, one in _elements(fields[7][1])]
        asked = (fields[0][1].decode(), _text(*fields[6]), attributes)
        self.asked.append(asked)
        answer = self._answer(*asked)
        if isinstance(answer, bytes):
            connection.sendall(answer)
            return False
        entries, code = answer
        parts = [_message(number, "searchResEntry", _entry(one)) for one in entries]
        parts.append(_message(number, "searchResDone", _result(wire.SearchResultDone(), code)))
        connection.sendall(b"".join(parts))
        return True


def _size(data: bytes) -> int:
    if data[1] < 128:
        return data[1] + 2
    octets = data[1] - 128
    return int.from_bytes(data[2 : 2 + octets], "big") + 2 + octets if len(data) >= 2 + octets else 1 << 30


def _message(number: int, name: str, operation: Any) -> bytes:
    message = wire.LDAPMessage()
    message["messageID"] = wire.MessageID(number)
    message["protocolOp"] = wire.ProtocolOp().setComponentByName(name, operation)
    encoded: bytes = encode(message)
    return encoded


def _result(result: Any, code: int) -> Any:
    result["resultCode"] = wire.ResultCode(code)
    result["matchedDN"] = wire.LDAPDN("")
    result["diagnosticMessage"] = wire.LDAPString("")
    return result


def _entry(one: ScriptedEntry) -> Any:
    entry = wire.SearchResultEntry()
    entry["object"] = wire.LDAPDN(one.dn)
    attributes = wire.PartialAttributeList()
    for n, (name, values) in enumerate(one.attributes.items()):
        attribute = wire.PartialAttribute()
        attribute["type"] = wire.AttributeDescription(name)
        vals = wire.Vals()
        for i, value in enumerate(values):
            vals[i] = wire.AttributeValue(value)
        attribute["vals"] = vals
        attributes[n] = attribute
    entry["attributes"] = attributes
    return entry


def _elements(data: bytes) -> list[tuple[int, bytes]]:
    """Return the elements of an encoded text (BER), each with its tag."""
    found = []
    while data:
        size = _size(data)
        head = 2 if data[1] < 128 else 2 + data[1] - 128
        found.append((data[0], data[head:size]))
        data = data[size:]
    return found


def _text(tag: int, content: bytes) -> str:
    """Return a filter as text, as far as these tests have them."""
    if tag in (_AND, _OR):
        return f"({'&' if tag == _AND else '|'}{''.join(_text(*one) for one in _elements(content))})"
    if tag == _PRESENT:
        return f"({content.decode()}=*)"
    parts = [one.decode() for _, one in _elements(content)]
    return f"({parts[0]}={parts[1]})" if tag == _EQUAL else f"({parts[1]}:{parts[0]}:={parts[2]})"
