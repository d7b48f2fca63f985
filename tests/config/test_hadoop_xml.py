"""Hadoop's XML in two dialects: the properties are those of the real class, or there is a sentence."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.config.hadoop_xml import Dialect, read_properties
from ranger_cdap.errors import ConfigError
from tests.config.hadoop_files import DIFFERENT, XI, compare, compare_lists
from tests.differential.java_engine import JavaEngine, missing_tool

K = "<name>k</name>"
ROWS = {
    "the last": (f"<property>{K}<value>a</value></property><property>{K}<value>b</value></property>", "b", "b"),
    "a final one": (
        f"<property>{K}<value>a</value><final>true</final></property><property>{K}<value>b</value></property>",
        "a",
        "a",
    ),
    "a final one with blanks": (
        f"<property>{K}<value>a</value><final> true </final></property><property>{K}<value>b</value></property>",
        "b",
        "b",
    ),
    "a final one without a value": (
        f"<property>{K}<value>a</value></property><property>{K}<final>true</final></property>"
        f"<property>{K}<value>b</value></property>",
        "a",
        "a",
    ),
    "an empty later one": (f"<property>{K}<value>a</value></property><property>{K}<value/></property>", "a", "a"),
    "attributes": ('<property name="k" value="a" final="true"/><property name="k" value="b"/>', "a", None),
    "an empty attribute": (f'<property>{K}<value>a</value></property><property name="k" value=""/>', "", "a"),
    "CDATA": (f"<property>{K}<value><![CDATA[x&y]]></value></property>", "x&y", "x&y"),
    "CDATA within": (f"<property>{K}<value>x<![CDATA[&]]>y</value></property>", "x&y", "x"),
    "a comment within": (f"<property>{K}<value>a<!-- c -->b</value></property>", "ab", "ab"),
    "blanks": ("<property><name> k\n</name><value>\n a </value></property>", "\n a ", "\n a "),
    "an inner configuration": (f"<configuration><property>{K}<value>a</value></property></configuration>", "a", "a"),
    "an include": (f'<xi:include {XI} href="beside.xml"/>', "of beside", "of beside"),
    "an include before": (
        f'<xi:include {XI} href="beside.xml"/><property>{K}<value>a</value></property>',
        "a",
        "a",
    ),
    "an include after a final one": (
        f'<property>{K}<value>a</value><final>true</final></property><xi:include {XI} href="beside.xml"/>',
        "a",
        "a",
    ),
    "a fallback not needed": (
        f'<xi:include {XI} href="beside.xml"><xi:fallback><property>{K}<value>a</value></property></xi:fallback>'
        "</xi:include>",
        "of beside",
        "of beside",
    ),
    "a fallback": (
        f'<xi:include {XI} href="none.xml"><xi:fallback><property>{K}<value>a</value></property></xi:fallback>'
        "</xi:include>",
        "a",
        "a",
    ),
}
"""What stands in a file, and the value of `k` for Hadoop and for CDAP."""


def written(folder: Path, inner: str) -> Path:
    (folder / "beside.xml").write_text(
        f"<configuration><property>{K}<value>of beside</value></property></configuration>"
    )
    file = folder / "site.xml"
    file.write_text(f"<configuration>{inner}</configuration>")
    return file


@pytest.mark.parametrize("what", ROWS)
def test_a_file_says_what_the_class_of_its_dialect_reads(tmp_path: Path, what: str) -> None:
    inner, hadoop, cdap = ROWS[what]
    file = written(tmp_path, inner)
    for dialect, value in {Dialect.HADOOP: hadoop, Dialect.CDAP: cdap}.items():
        found = read_properties(file, dialect=dialect).get("k")
        assert (found and found.value) == value, dialect


def test_the_file_of_a_property_is_the_included_one(tmp_path: Path) -> None:
    found = read_properties(written(tmp_path, '<include href="beside.xml"/>'))
    assert found["k"].file == tmp_path / "beside.xml"


REFUSED = {
    "a document type": ("<!DOCTYPE configuration><configuration/>", "is not a Hadoop configuration file"),
    "an entity": (
        "<!DOCTYPE c [<!ENTITY e SYSTEM 'beside.xml'>]><configuration>&e;</configuration>",
        "is not a Hadoop",
    ),
    "another encoding": ('<?xml version="1.0" encoding="utf-7"?><configuration/>', "is not a Hadoop"),
    "another root": ("<property/>", "is not a Hadoop"),
    "no file": ('<include href="none.xml"/>', "includes `none.xml`, which does not exist"),
    "a pipe": ('<include href="pipe"/>', "pipe` cannot be read: it is not a regular file"),
    "itself": ('<include href="site.xml"/>', "more than 50 includes or inner configurations"),
    "too many": ('<include href="beside.xml"/>' * 60, "more than 50 includes or inner configurations"),
    "too much": ('<include href="large.xml"/>' * 2, "large.xml` is larger than"),
    "two fallbacks": ('<include href="none.xml"><fallback/><fallback/></include>', "more in it than one `fallback`"),
    "an include in a fallback": (
        '<include href="none.xml"><fallback><include href="beside.xml"/></fallback></include>',
        "a `fallback` with more in it than properties",
    ),
    "a stray fallback": ("<fallback/>", "an element `fallback` beside its properties"),
    "another element": ("<group/>", "an element `group` beside its properties"),
    "an inner property": (f"<property>{K}<property/></property>", "an element `property` in a property"),
    "a hidden one": (f"<property><description>{K}</description></property>", "an element `name` in `description`"),
    "two values": (f"<property>{K}<value>a</value><value>b</value></property>", "or a second one"),
    "another namespace": ('<property xmlns="urn:x"/>', "an element `property` in a namespace"),
    "an instruction": ("<property><value><?a b?></value></property>", "a processing instruction in a `value`"),
    "a fragment": ('<include href="beside.xml" xpointer="k"/>', "an include of more than a file beside it"),
    "no name": ("<include/>", "an include of more than a file beside it"),
    **{
        f"the address {href}": (f'<include href="{href}"/>', "an include of more than a file beside it")
        for href in ("http://127.0.0.1/a.xml", "file:beside.xml", "/etc/a.xml", "../a.xml", "..", "beside%2Exml", "")
    },
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_forms_are_refused_with_a_sentence(tmp_path: Path, what: str) -> None:
    inner, told = REFUSED[what]
    file = written(tmp_path, inner)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large.xml").write_text(f"<configuration>{' ' * 600_000}</configuration>")
    if what in ("a document type", "an entity", "another encoding", "another root"):
        file.write_text(inner)
    with pytest.raises(ConfigError) as caught:
        read_properties(file)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


REFUSED_OF_CDAP = {
    "an activation": (
        f"<property>{K}<value>a</value><activation/></property>",
        "an element `activation` in a property",
    ),
    "a plain include": ('<include href="beside.xml"/>', "an element `include` beside its properties"),
    "an unknown form": (f'<xi:include {XI} href="beside.xml" parse="text"/>', "an include of more than a file"),
}


@pytest.mark.parametrize("what", REFUSED_OF_CDAP)
def test_other_forms_for_cdap_are_refused_with_a_sentence(tmp_path: Path, what: str) -> None:
    inner, told = REFUSED_OF_CDAP[what]
    with pytest.raises(ConfigError, match=told):
        read_properties(written(tmp_path, inner), dialect=Dialect.CDAP)


@pytest.fixture(scope="module")
def java() -> Iterator[JavaEngine]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    with JavaEngine() as engine:
        yield engine


@pytest.mark.java
def test_the_real_classes_read_the_rows_so(tmp_path: Path, java: JavaEngine) -> None:
    wrong = []
    for what, (inner, hadoop, cdap) in ROWS.items():
        file = written(tmp_path, inner)
        for reader, value in {"hadoop": hadoop, "cdap": cdap}.items():
            read = java.ask({"command": "configuration", "reader": reader, "files": [str(file)]})["values"]
            if read.get("k") != value:
                wrong.append(f"{what}: {reader} reads {read}")
    assert not wrong


@pytest.mark.java
def test_drawn_files_are_read_as_by_the_real_class_or_refused(java: JavaEngine) -> None:
    kinds: Counter[str] = Counter()
    for one in (*compare(java, range(500)), *compare_lists(java, range(500))):
        kinds[one.kind] += 1
        assert one.kind != DIFFERENT, one
        assert "\n" not in one.refused
    assert kinds["the same"] > 700, kinds
