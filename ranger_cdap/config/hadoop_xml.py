"""Hadoop's XML files, read as the real classes read them: `Configuration` of Hadoop, `CConfiguration` of CDAP.

Law: the properties are those that the real class finds, or there is an error. Included files are read if they are
beside the file, by their plain names; there are no entities, as there is no document type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from itertools import takewhile
from pathlib import Path
from typing import Final
from xml.parsers.expat import ExpatError, ParserCreate

import msgspec

from ranger_cdap.config.named_file import read_regular
from ranger_cdap.errors import ConfigError, reason

_MOST_BYTES: Final = 1 << 20
_MOST_CONFIGURATIONS: Final = 50
"""Files and inner configurations, beside each other and in each other."""
_BLANKS: Final = "\t\n\r "
_XINCLUDE: Final = "http://www.w3.org/2001/XInclude"
_BESIDE: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_ENCODINGS: Final = (None, "utf-8", "us-ascii", "iso-8859-1")
_PARTS: Final = ("name", "value", "final")
_AROUND: Final = ("configuration", "property", "include", "fallback")


class Dialect(Enum):
    """The class whose dialect a file is in."""

    HADOOP = "hadoop"
    CDAP = "cdap"


class Property(msgspec.Struct, frozen=True):
    """A value as it is written, with the file it is in."""

    value: str
    file: Path


class _Element(msgspec.Struct):
    """Element with what is between its tags: texts, elements, and `None` at each end of a CDATA section."""

    space: str
    name: str
    attributes: Mapping[str, str]
    inner: list[str | _Element | None]

    @property
    def elements(self) -> list[_Element]:
        return [one for one in self.inner if isinstance(one, _Element)]


def read_properties(*paths: Path, dialect: Dialect = Dialect.HADOOP) -> dict[str, Property]:
    """Return the properties of files that are read one after the other.

    The last value of a name counts, but none after a final one, and an element without text has none.

    Raises:
        ConfigError: a file cannot be read, is none of Hadoop's, or has a form that is not certain to be read alike.
    """
    reading = _Reading(dialect)
    for path in paths:
        try:
            reading.read(path)
        except OSError as e:
            raise _unreadable(path, e) from None
    return reading.found


class _Reading:
    """Properties so far, and what may still be read."""

    def __init__(self, dialect: Dialect) -> None:
        self.found: dict[str, Property] = {}
        self._final: set[str] = set()
        self._is_hadoop = dialect is Dialect.HADOOP
        self._bytes_left = _MOST_BYTES
        self._configurations_left = _MOST_CONFIGURATIONS

    def read(self, path: Path) -> None:
        """Read a file.

        Raises:
            OSError: it cannot be opened.
        """
        content = read_regular(path, self._bytes_left + 1)
        self._bytes_left -= len(content)
        if self._bytes_left < 0:
            raise ConfigError(
                f"Hadoop configuration file `{path}` is larger than {_MOST_BYTES} bytes, with the files before it"
            )
        self._configuration(_parsed(content, path), path)

    def _configuration(self, configuration: _Element, path: Path) -> None:
        self._configurations_left -= 1
        if self._configurations_left < 0:
            raise _refused(path, f"more than {_MOST_CONFIGURATIONS} includes or inner configurations")
        for child in configuration.elements:
            if child.name == "include" and (child.space or self._is_hadoop):
                self._include(child, path)
            elif child.space or child.name not in ("configuration", "property"):
                raise _refused(path, f"an element `{child.name}` beside its properties")
            elif child.name == "configuration":
                self._configuration(child, path)
            else:
                self._add(self._parts(child, path), path)

    def _include(self, include: _Element, path: Path) -> None:
        """Read an included file, or if it does not exist the fallback."""
        fallback = include.elements
        if len(fallback) > 1 or any((one.space, one.name) != (include.space, "fallback") for one in fallback):
            raise _refused(path, "an include with more in it than one `fallback`")
        instead = fallback[0].elements if fallback else []
        if any((one.space, one.name) != ("", "property") for one in instead):
            raise _refused(path, "a `fallback` with more in it than properties")
        href = include.attributes.get("href", "")
        if include.attributes.keys() != {"href"} or not _BESIDE.fullmatch(href):
            raise _refused(path, "an include of more than a file beside it, by its plain name in `href`")
        parts = [self._parts(one, path) for one in instead]
        try:
            self.read(path.parent / href)
        except FileNotFoundError:
            if not fallback:
                raise ConfigError(f"`{path}` includes `{href}`, which does not exist") from None
            for one in parts:
                self._add(one, path)
        except OSError as e:
            raise _unreadable(path.parent / href, e) from None

    def _parts(self, element: _Element, path: Path) -> dict[str, str]:
        found = {key: text for key, text in element.attributes.items() if key in _PARTS and self._is_hadoop}
        for part in element.elements:
            if part.name == "activation" or part.name in _AROUND or part.space:
                raise _refused(path, f"an element `{part.name}` in a property")
            if part.name in _PARTS:
                if part.elements or part.name in found:
                    raise _refused(path, f"a `{part.name}` with elements in it, or a second one")
                text = self._text(part)
                if text is not None:
                    found[part.name] = text.strip(_BLANKS) if part.name == "name" else text
        return found

    def _text(self, part: _Element) -> str | None:
        """Return the whole text for Hadoop, and for CDAP the first piece, a CDATA section or what is before one."""
        if self._is_hadoop:
            return "".join(one for one in part.inner if isinstance(one, str)) or None
        pieces = part.inner[1:] if part.inner[:1] == [None] else part.inner
        return "".join(map(str, takewhile(lambda one: one is not None, pieces))) if part.inner else None

    def _add(self, parts: Mapping[str, str], path: Path) -> None:
        name = parts.get("name")
        if name is None:
            return
        if "value" in parts and name not in self._final:
            self.found[name] = Property(parts["value"], path)
        if parts.get("final") == "true":
            self._final.add(name)


def _parsed(content: bytes, path: Path) -> _Element:
    none = ConfigError(f"`{path}` is not a Hadoop configuration file: XML with `configuration` around properties")
    document = _Element("", "", {}, [])
    opened = [document]

    def declared(version: str, encoding: str | None, _: int) -> None:
        if version != "1.0" or (encoding and encoding.lower()) not in _ENCODINGS:
            raise none

    def started(tag: str, attributes: dict[str, str]) -> None:
        space, _, name = tag.rpartition(" ")
        if space not in ("", _XINCLUDE) or (name == "property" and any(" " in key for key in attributes)):
            raise _refused(path, f"an element `{name}` in a namespace")
        if opened[-1].name not in ("", *_AROUND) and name in (*_PARTS, *_AROUND):
            raise _refused(path, f"an element `{name}` in `{opened[-1].name}`")
        element = _Element(space, name, attributes, [])
        opened[-1].inner.append(element)
        opened.append(element)

    def no_document_type(*_: object) -> None:
        raise none

    def instruction(*_: object) -> None:
        if opened[-1].name in _PARTS:
            raise _refused(path, f"a processing instruction in a `{opened[-1].name}`")

    parser = ParserCreate(namespace_separator=" ")
    parser.XmlDeclHandler = declared
    parser.StartDoctypeDeclHandler = no_document_type
    parser.StartElementHandler = started
    parser.EndElementHandler = lambda _: opened.pop()
    parser.CharacterDataHandler = lambda text: opened[-1].inner.append(text)
    parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = lambda: opened[-1].inner.append(None)
    parser.ProcessingInstructionHandler = instruction
    try:
        parser.Parse(content, True)
    except (ExpatError, ValueError, LookupError):
        raise none from None
    [root] = document.elements
    if (root.space, root.name) != ("", "configuration"):
        raise none
    return root


def _refused(path: Path, what: str) -> ConfigError:
    return ConfigError(f"`{path}` has {what}; write its properties without it")


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"Hadoop configuration file `{path}` cannot be read: {reason(error)}")
