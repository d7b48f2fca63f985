"""Files in Hadoop's XML, drawn from a number: in all forms that the real classes take, and some that they do not.

`python -m tests.config.hadoop_files N` compares the first N, as the real classes read them and as we do.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from ranger_cdap.config.core_site import core_site_layer
from ranger_cdap.config.hadoop_xml import Dialect, read_properties
from ranger_cdap.errors import ConfigError
from tests.config.test_core_site import MAPPING, SECURITY, STATIC, core_site
from tests.differential.fuzz.die import Die
from tests.differential.java_engine import HarnessError, JavaEngine

XI: Final = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
KEYS: Final = (
    "ranger.plugin.cdap.service.name",
    "hadoop.security.group.mapping",
    "instance.name",
    "xasecure.audit.is.enabled",
)
VALUES: Final = ("prod", "test", "a, b", " a ", "\n  a\n", " ", "true", "${user.name}", "ö&<>", "x" * 5_000, "\u00a0a")
FINALS: Final = ("true", "true", "true", "false", " true ", "TRUE", "", "<![CDATA[true]]>", "tr<!-- c -->ue")
HEADS: Final = (
    *[""] * 8,
    '<?xml version="1.0"?>\n<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>\n',
    '<?xml version="1.0" encoding="UTF-8" standalone="no"?>',
    "<!-- a comment -->\n",
    "\ufeff",
)
ODD_HEADS: Final = (
    '<?xml version="1.1"?>',
    '<?xml version="1.0" encoding="windows-1252"?>',
    '<!DOCTYPE configuration [<!ENTITY e "prod">]>',
    "<!DOCTYPE configuration>",
    "\n<?xml version='1.0'?>",
)
ODD_HREFS: Final = ("", ".", "sub/a.xml", "../a.xml", "a.xml#x", "a%2Exml", "http://127.0.0.1:1/a.xml", "broken.xml")
DIFFERENT: Final = "DIFFERENT"
SHOWN: Final = 5
"""Differences of a kind that are printed."""
MAIN: Final = ("first.xml", "second.xml")
BESIDE: Final = ("a.xml", "b.xml")


class Drawing:
    """One draw: the main files, and those that they may include."""

    def __init__(self, die: Die) -> None:
        self.die = die
        self.beside: tuple[str, ...] = ()
        self.is_odd = die.chance(30)

    def odd(self, percent: int) -> bool:
        """Whether an odd form is drawn here, in one of the draws that have such forms."""
        return self.is_odd and self.die.chance(percent)

    def files(self) -> dict[str, bytes]:
        names = [*MAIN[: self.die.one((1, 1, 2))], *self.die.some(BESIDE, 2)]
        return {name: self._file(name).encode() for name in names} | {"broken.xml": b"<configuration>"}

    def _file(self, name: str) -> str:
        """One that includes none before it: a stack that overflows spoils a JVM."""
        self.beside = (*(one for one in BESIDE if name in MAIN or one > name), "none.xml")
        die = self.die
        head = die.one(ODD_HEADS) if self.odd(8) else die.one(HEADS)
        root = "config" if self.odd(3) else "configuration"
        more = die.one(("", "", "", ' xmlns="urn:x"', ' xmlns:xi="urn:x"')) if self.odd(8) else f" {XI} xmlns:p='urn:p'"
        text = f"{head}<{root}{more}>{self._some(6)}</{root}>\n"
        if self.odd(6):
            place = die.between(0, len(text) - 1)
            text = text[:place] + text[place + 1 :]
        return text

    def _some(self, most: int) -> str:
        return "".join(self.die.one(("", "\n  ")) + self._child() for _ in range(self.die.between(1, most)))

    def _child(self) -> str:
        die = self.die
        if die.chance(78):
            return self._property()
        if self.odd(15):
            return f"<group>{self._some(2)}</group>"
        match die.between(0, 5):
            case 0:
                return "<!-- a comment -->"
            case 1:
                return f"<configuration>{self._some(2)}</configuration>"
            case 2 if self.is_odd:
                return die.one(("text", "<![CDATA[text]]>", "<?pi x?>", "<p:a/>", "<fallback/>", "<xi:fallback/>"))
            case _:
                return self._include()

    def _include(self) -> str:
        die = self.die
        tag = die.one(("xi:include", "xi:include", "xi:include", "include"))
        href = die.one(ODD_HREFS) if self.odd(20) else die.one(self.beside)
        attributes = "" if self.odd(5) else f" href={quoteattr(href)}"
        attributes += die.one((' parse="xml"', ' parse="text"', ' xpointer="x"', ' a="b"')) if self.odd(8) else ""
        inner = ""
        if die.chance(50):
            name = "xi:fallback" if tag == "xi:include" or self.odd(30) else "fallback"
            inner = f"<{name}>{self._instead() if die.chance(60) else ''}</{name}>" * (2 if self.odd(10) else 1)
        if self.odd(8):
            inner += self._property()
        return f"<{tag}{attributes}>{inner}</{tag}>"

    def _instead(self) -> str:
        return self._some(2) if self.odd(30) else self._property()

    def _property(self) -> str:
        die = self.die
        tag = die.one(("item", "p:property", "Property")) if self.odd(8) else "property"
        given = {"name": die.one(KEYS), "value": die.one((*VALUES[:4], "")), "final": die.one(FINALS[:6])}
        names = die.some(tuple(given), 3, 1) if die.chance(15) else []
        attributes = "".join(f" {'p:' if self.odd(8) else ''}{name}={quoteattr(given[name])}" for name in names)
        parts = {"name": self._name, "value": self._value, "final": self._final}
        elements = [draw() for name, draw in parts.items() if name not in names or self.odd(30)] + self._others()
        if die.chance(10):
            elements = die.some(elements, len(elements))
        if self.odd(8):
            elements.insert(die.between(0, len(elements)), die.one((self._name, self._value, self._nested))())
        space = die.one(("", "\n    ", "<!-- c -->"))
        return f"<{tag}{attributes}>{space}{space.join(elements)}{space}</{tag}>"

    def _nested(self) -> str:
        die = self.die
        return self._include() if die.chance(30) else f"<property>{self._name()}{self._value()}</property>"

    def _name(self) -> str:
        die = self.die
        name = die.one(KEYS)
        if die.chance(8):
            one, other = name[:4], name[4:]
            forms = (f" {name}\n", "", " ", f"<!-- c -->{name}", f"<![CDATA[{name}]]>")
            split = (f"{one}<!-- c -->{other}", f"{one}<![CDATA[{other}]]>", f"\u00a0{name}")
            name = die.one((f"{name}<b/>", f"<b/>{name}")) if self.odd(10) else die.one((*forms, *split))
        return f"<name>{name}</name>"

    def _value(self) -> str:
        die = self.die
        if die.chance(12):
            return die.one(
                ("<value/>", "<value></value>", "<value><!-- c --></value>", "", "<value><![CDATA[]]></value>")
            )
        value = die.one(VALUES[:2]) if die.chance(60) else die.one(VALUES)
        return f"<p:value>{value[:4]}</p:value>" if self.odd(3) else f"<value>{self._text(value)}</value>"

    def _text(self, value: str) -> str:
        die, text, place = self.die, escape(value), self.die.between(0, len(value))
        one, other = escape(value[:place]), escape(value[place:])
        if die.chance(65):
            return text
        forms = (
            f"<![CDATA[{value}]]>",
            f"{one}<![CDATA[{value[place:]}]]>",
            f"<![CDATA[{value[:place]}]]>{other}",
            f"{one}<![CDATA[&]]>{other}",
            f"{one}<!-- c -->{other}",
            f"<!-- c -->{text}",
            "".join(f"&#{ord(letter)};" for letter in value),
            f"{one}&amp;&#x41;{other}",
            f"<![CDATA[{value}]]><![CDATA[&]]>",
            f"{one}<![CDATA[]]>{other}",
            f"{one}\r\n{other}\r",
        )
        odd = (f"{one}<?pi x?>{other}", f"{one}<b>{other}</b>", f"<b/>{text}", f"<value>{text}</value>x",
               f"{one}<description>y</description>{other}", f"{text}<name>{die.one(KEYS)}</name>z")  # fmt: skip
        return die.one(odd) if self.odd(25) else die.one(forms)

    def _final(self) -> str:
        return f"<final>{self.die.one(FINALS)}</final>" if self.die.chance(30) else ""

    def _others(self) -> list[str]:
        others = (
            "<description>some <b>words</b></description>",
            "<source>x</source>",
            "<tag>x</tag>",
            "text",
            "<?pi x?>",
        )
        odd = ("<activation/>", "<activation><jdk>1</jdk></activation>", f"<description>{self._name()}</description>")
        return [self.die.one(odd if self.odd(40) else others)] if self.die.chance(8) else []


@dataclass(frozen=True, slots=True)
class Compared:
    """What the real class and ours make of the files of one number; the sentence where ours refuses them."""

    files: dict[str, bytes]
    what: str
    theirs: dict[str, Any] | None
    ours: dict[str, Any] | None
    refused: str = ""

    @property
    def kind(self) -> str:
        if self.ours is None:
            return "refused by both" if self.theirs is None else "refused here only"
        return "the same" if self.ours == self.theirs else DIFFERENT


def compare(java: JavaEngine, numbers: Iterable[int], seed: int = 1) -> Iterator[Compared]:
    """Compare the files of each number in both dialects."""
    for number in numbers:
        drawn = Drawing(Die(seed, number)).files()
        with tempfile.TemporaryDirectory() as directory:
            for name, content in drawn.items():
                Path(directory, name).write_bytes(content)
            main = [Path(directory, name) for name in MAIN if name in drawn]
            for dialect in Dialect:
                yield _compared(java, drawn, main, dialect)


def _compared(java: JavaEngine, drawn: dict[str, bytes], main: list[Path], dialect: Dialect) -> Compared:
    asked: dict[str, Any] = {"command": "configuration", "reader": dialect.value, "files": [*map(str, main)]}
    theirs = _told(java, asked)
    try:
        found = read_properties(*main, dialect=dialect)
    except ConfigError as e:
        return Compared(drawn, dialect.value, theirs and theirs["values"], None, str(e))
    return Compared(drawn, dialect.value, theirs and theirs["values"], {key: one.value for key, one in found.items()})


def _told(java: JavaEngine, command: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return java.ask(command)
    except HarnessError:
        return None


PROVIDERS: Final = {
    "a": "ShellBasedUnixGroupsMapping",
    "b": "NullGroupsMapping",
    "c": "JniBasedUnixGroupsMappingWithFallback",
}


class Lists:
    """One draw of static groups and of providers, mostly without blanks."""

    def __init__(self, die: Die) -> None:
        self.die = die

    def static(self) -> str:
        odd = ("", "=g", "alice==g", "a=b=c", "=", " ")
        mappings = self.die.several(lambda: self.die.one(odd) if self.die.chance(4) else self._mapping(), 4, 1)
        return ";".join(mappings) + self.die.one(("", "", "", "", "", ";", ";", ";\n"))

    def providers(self) -> str:
        return self._list((*PROVIDERS, *PROVIDERS, *PROVIDERS, *PROVIDERS, "d", ""))

    def _mapping(self) -> str:
        user = self._padded(self.die.one(("alice", "bob", "domain users", "ö")))
        return f"{user}={self._list(('g1', 'g2', 'domain users', ''))}" if self.die.chance(85) else user

    def _list(self, of: tuple[str, ...]) -> str:
        return ",".join(self._padded(self.die.one(of)) for _ in range(self.die.between(1, 4)))

    def _padded(self, name: str) -> str:
        before, after = self.die.one(((" ", ""), ("", " "), ("\n", ""), ("\u00a0", "")))
        return f"{before}{name}{after}" if self.die.chance(2) else name


def compare_lists(java: JavaEngine, numbers: Iterable[int], seed: int = 1) -> Iterator[Compared]:
    """Compare static groups and providers of each number, in a `core-site.xml`."""
    for number in numbers:
        lists = Lists(Die(seed, number))
        properties = {STATIC: lists.static(), f"{MAPPING}.providers": lists.providers()}
        properties[MAPPING] = f"{SECURITY}CompositeGroupsMapping"
        properties |= {f"{MAPPING}.provider.{name}": f"{SECURITY}{of}" for name, of in PROVIDERS.items()}
        with tempfile.TemporaryDirectory() as directory:
            file = core_site(Path(directory), properties)
            told = _told(java, {"command": "groups", "file": str(file)})
            content = {file.name: file.read_bytes()}
            theirs = told and {"static": told["static"], "posix": any("Unix" in name for name in told["providers"])}
            ours, refused = None, ""
            try:
                groups = core_site_layer(file)[0].tables["groups"]
                ours = {"static": groups["static"], "posix": "posix" in groups["sources"]}
            except ConfigError as e:
                refused = str(e)
        yield Compared(content, "lists", theirs, ours, refused)


def main(count: str, seed: str = "1") -> int:
    """Compare so many; say how many of each kind, and the first differences."""
    kinds: Counter[str] = Counter()
    with JavaEngine() as java:
        numbers = range(int(count))
        for one in chain(compare(java, numbers, int(seed)), compare_lists(java, numbers, int(seed))):
            kinds[f"{one.what}: {one.kind}"] += 1
            if one.kind == DIFFERENT and kinds[f"{one.what}: {one.kind}"] <= SHOWN:
                sys.stdout.write(f"{one.what}: {one.files}\ntheirs {one.theirs}\nours {one.ours}\n")
    sys.stdout.write("".join(f"{kind}: {number}\n" for kind, number in sorted(kinds.items())))
    return int(any(kind.endswith(DIFFERENT) for kind in kinds))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
