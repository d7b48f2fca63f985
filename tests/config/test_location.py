"""Locations: paths of this machine, and URLs of the shared file systems that were tried; no others, no secrets."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.config import StoreUrl, for_spark, load_settings, location, named
from ranger_cdap.errors import ConfigError

SECRET = "marked-secret-0123"


@pytest.mark.parametrize(
    ("text", "found", "spark"),
    [
        ("/var/lib/x", Path("/var/lib/x"), "/var/lib/x"),
        ("x/*.log", Path("x/*.log"), "x/*.log"),
        ("file:///var/lib/x", Path("/var/lib/x"), "/var/lib/x"),
        ("hdfs://namenode:8020/a/b/", StoreUrl("hdfs://namenode:8020", "a/b"), "hdfs://namenode:8020/a/b"),
        ("hdfs://ha", StoreUrl("hdfs://ha", ""), "hdfs://ha/"),
        ("s3://bucket/a/*.jsonl", StoreUrl("s3://bucket", "a/*.jsonl"), "s3a://bucket/a/*.jsonl"),
        ("s3a://my.bucket/a[0-9]/?", StoreUrl("s3://my.bucket", "a[0-9]/?"), "s3a://my.bucket/a[0-9]/?"),
    ],
)
def test_what_a_text_names(text: str, found: Path | StoreUrl, spark: str) -> None:
    assert location(text) == found
    assert for_spark(found) == spark
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        f"abfs://key:{SECRET}@account/x", "gs://bucket/x", "https://host/x", "HDFS://host/x", "file://host/x",
        f"hdfs://user:{SECRET}@host/x", f"s3://KEY:{SECRET}@bucket/x", "hdfs:/x", "s3:/bucket", "hdfs:///x",
        "s3://bucket/../x", "s3://bucket/./x", "s3://bucket//x", f"s3://bucket/x#{SECRET}", "s3://bucket/a b",
        "s3://bucket/a%20b", "s3://bucket/x\n", "s3a://", "hdfs://host:port/x", f"s3://bucket/x@{SECRET}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["state_dir", "sources"])
def test_anything_else_is_refused_in_a_sentence_without_it(tmp_path: Path, text: str, key: str) -> None:
    table = "[sync]\nstate_dir" if key == "state_dir" else "[[sync.sources]]\nname = 'a'\nkind = 'audit'\npath"
    file = tmp_path / "c.toml"
    file.write_text(f"{table} = {json.dumps(text)}\n")
    with pytest.raises(ConfigError) as raised:
        load_settings(file, {})
    assert ("state_dir" in str(raised.value)) == (key == "state_dir")
    assert SECRET not in str(raised.value)
    assert "is not supported" in str(raised.value) or "an address is like" in str(raised.value)


PARTS = st.text(st.characters(blacklist_characters="/\x00", blacklist_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(PARTS, max_size=4), st.sampled_from(["s3://bucket", "hdfs://host:8020", "file://"]))
def test_a_file_of_any_name_is_named_by_its_text(parts: list[str], root: str) -> None:
    at = StoreUrl(root, "")
    for part in parts:
        at = at / part
    assert named(str(at)) == at
    assert named("/" + "/".join(parts)) == Path("/" + "/".join(parts))
