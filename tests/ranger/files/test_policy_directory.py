"""A directory of policies: stable names, nothing outside of it, nothing overlooked in it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.files import policy_directory
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_directory import (
    directory_files,
    file_stem,
    read_directory,
    write_directory,
)
from ranger_cdap.ranger.files.strict_text import write_json, write_yaml

Json = dict[str, Any]
ODD_NAMES = (
    *("kv", "KV", "Kv", "k v", "k.v", "k-v", "k_v", "..", ".", "/", "a/b", "a\\b", "../../etc/passwd", "-rf", "~", "."),
    *(
        "con",
        "CON",
        "nul x",
        "x" * 300,
        "x" * 299 + "y",
        "\U0001f600",
        "\U0001f601",
        "e\u0301",
        "\u00e9",
        " ",
        "a ",
        " a",
    ),
    *("a  b", "service", "a\x00b", "a\nb", "kv-0123456789abcdef", "\u212a", "k", "\u2028", "all - namespace"),
)
names = st.one_of(st.sampled_from(ODD_NAMES), st.text(min_size=1, max_size=30), st.text("aA /.-\\", min_size=1))


def policy(name: str = "kv", **more: Any) -> Json:
    resources = {"instance": {"values": ["cdap"]}, "namespace": {"values": [name]}}
    return {
        "name": name,
        "resources": resources,
        "policyItems": [{"users": ["a"], "accesses": [{"type": "read"}]}],
        **more,
    }


def collection(*policies: Json, **service: Any) -> PolicyCollection:
    return PolicyCollection.of_document({"policies": list(policies), "service": service})


def written(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@given(st.lists(names, unique=True, min_size=2))
def test_no_two_names_have_one_file_on_any_system(several: list[str]) -> None:
    stems = [file_stem(name) for name in several]
    assert len({stem.casefold() for stem in stems}) == len(several)


@given(names)
def test_a_file_name_is_safe_on_any_system(name: str) -> None:
    stem = file_stem(name)
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_.-]{0,120}", stem)
    assert ".." not in stem
    assert not re.fullmatch(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", stem)


@given(names)
def test_a_name_made_like_the_file_of_another_one_has_its_own(name: str) -> None:
    stem = file_stem(name)
    imitation = stem.replace(".", " ")
    assert imitation == name or file_stem(imitation) != stem


def test_a_plain_name_stays_readable() -> None:
    assert [file_stem(n) for n in ("kv", "readers of ns1", "all - namespace", "Kv")] == [
        "kv",
        "readers.of.ns1",
        "all.-.namespace",
        f"kv-{policy_directory.hashlib.sha256(b'Kv').hexdigest()[:16]}",
    ]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_same_policies_make_the_same_bytes_in_any_order(form: Any, tmp_path: Path) -> None:
    several = [policy(name) for name in dict.fromkeys(ODD_NAMES)]
    write_directory(tmp_path / "one", collection(*several), form)
    write_directory(tmp_path / "two", collection(*reversed([{**one, "id": 5, "version": 7} for one in several])), form)
    assert written(tmp_path / "one") == written(tmp_path / "two")
    assert read_directory(tmp_path / "one") == collection(*several)


def test_a_renamed_policy_is_a_renamed_file_and_nothing_else(tmp_path: Path) -> None:
    write_directory(tmp_path, collection(policy("a"), policy("b")))
    before = written(tmp_path)
    write_directory(tmp_path, collection({**policy("a"), "name": "c"}, policy("b")))
    after = written(tmp_path)
    assert (before.keys() - after.keys(), after.keys() - before.keys()) == ({"policies/a.json"}, {"policies/c.json"})
    assert all(before[name] == after[name] for name in before.keys() & after.keys())


def test_zones_and_tags_have_their_folders(tmp_path: Path) -> None:
    zones = {"Fin/ance": {"resources": [{"namespace": ["fin"]}]}}
    document = {
        "policies": [policy("a"), policy("a", zoneName="Fin/ance")],
        "tagPolicies": [policy("a")],
        "service": {"zones": zones, "tags": {"service": "tags"}},
    }
    found = PolicyCollection.of_document(document)
    write_directory(tmp_path, found)
    zone = file_stem("Fin/ance")
    assert written(tmp_path).keys() == {"policies/a.json", f"policies/{zone}/a.json", "service.json", "tags/a.json"}
    assert read_directory(tmp_path) == found


def test_the_format_of_a_directory_stays_and_can_be_changed(tmp_path: Path) -> None:
    write_directory(tmp_path, collection(policy()), "yaml")
    (tmp_path / "README.md").write_text("ours")
    write_directory(tmp_path, collection(policy()))
    assert written(tmp_path).keys() == {"README.md", "policies/kv.yaml", "service.yaml"}
    write_directory(tmp_path, collection(policy()), "json")
    assert written(tmp_path).keys() == {"README.md", "policies/kv.json", "service.json"}


def test_a_directory_of_something_else_is_not_touched(tmp_path: Path) -> None:
    for name in ("notes.json", "photo.jpg"):
        (tmp_path / name).write_text("{}")
        with pytest.raises(InvalidInput):
            write_directory(tmp_path, collection(policy()))
        assert written(tmp_path) == {name: b"{}"}
        (tmp_path / name).unlink()
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "kv.json").write_text("{}")
    with pytest.raises(InvalidInput, match="no directory of policies"):
        write_directory(tmp_path, collection(policy()))


def test_a_folder_without_policies_goes(tmp_path: Path) -> None:
    zones = {"z": {"resources": []}}
    write_directory(tmp_path, collection(policy("a", zoneName="z"), policy("b"), zones=zones))
    write_directory(tmp_path, collection(policy("b"), zones=zones))
    assert not (tmp_path / "policies" / "z").exists()


def put(root: Path, files: dict[str, bytes | str]) -> None:
    write_directory(root, collection(policy()))
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())


OTHER = write_json(policy("other"))
IN_A, IN_B = (write_json(policy(name, service=name)) for name in "ab")


@pytest.mark.parametrize(
    ("files", "name", "said"),
    [
        ({"policies/x.json": b"\xff"}, "policies/x.json", "it is not UTF-8"),
        ({"policies/x.yaml": "a: *b"}, "policies/x.yaml", "alias"),
        ({"policies/x.json": "{}"}, "policies/x.json", "no name"),
        ({"policies/x.json": "[]"}, "policies/x.json", "not a JSON object"),
        ({"policies/x.json": write_json(policy())}, "policies/x.json", "`policies/kv.json` has a policy of the"),
        ({"policies/x.yml": write_yaml(policy())}, "policies/x.yml", "of the same name"),
        ({"policies/x.jsn": OTHER}, "policies/x.jsn", "neither a policy nor a note"),
        ({"policies/x.json.bak": OTHER}, "policies/x.json.bak", "neither a policy nor a note"),
        ({"policy/x.json": OTHER}, "policy", "no folder of policies"),
        ({"x.json": OTHER}, "x.json", "is in no folder"),
        ({"service.yaml": "service: s"}, "service.yaml", "another file of the service"),
        ({"service.json": '{"servce": "s"}'}, "service.json", "`servce`"),
        ({"policies/x.yaml": "name: x\nresources: {instance: {}}"}, "policies/x.yaml", "no `values` for `instance`"),
        ({"policies/x.json": '{"name": "x", "resources": {"instance": {"values": null}}}'}, "x.json", "no `values`"),
        ({"policies/x.json": write_json(policy("x", zoneName="z"))}, "", "zone `z`, which the service does not have"),
        ({"policies/x.json": IN_B, "policies/y.json": IN_A},
         "", "services, `a` and `b`"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named(files: Any, name: str, said: str, tmp_path: Path) -> None:
    put(tmp_path, files)
    if "zone" in said:
        (tmp_path / "service.json").write_text('{"zones": {}}')
    with pytest.raises(InvalidInput) as e:
        read_directory(tmp_path)
    assert name in str(e.value)
    assert said in str(e.value)
    assert "\n" not in str(e.value)


def test_notes_and_hidden_files_are_no_policies(tmp_path: Path) -> None:
    put(tmp_path, {"README.md": "x", "expectations.toml": "x", ".git/x.json": "x", "policies/.x.json.partial": "x"})
    assert [one["name"] for one in read_directory(tmp_path).policies] == ["kv"]


def test_a_suffix_in_capitals_is_read(tmp_path: Path) -> None:
    put(tmp_path, {"policies/deep/er/X.JSON": OTHER})
    assert [one["name"] for one in read_directory(tmp_path).policies] == ["kv", "other"]


@pytest.mark.parametrize("place", ["policies/link.json", "policies/folder", "service.json"])
def test_a_link_is_refused_before_it_is_followed(place: str, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    put(root, {})
    put(outside, {})
    (root / place).unlink(missing_ok=True)
    (root / place).symlink_to(outside if place.endswith("folder") else outside / "service.json")
    with pytest.raises(InvalidInput, match="is a symbolic link") as e:
        read_directory(root)
    assert place in str(e.value)
    before = written(outside)
    with pytest.raises(InvalidInput, match="is a symbolic link"):
        write_directory(root, collection(policy("new")))
    assert written(outside) == before


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    put(tmp_path, {})
    os.mkfifo(tmp_path / "policies" / "pipe.json")
    with pytest.raises(InvalidInput, match=r"pipe\.json` is not a regular file"):
        read_directory(tmp_path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    put(tmp_path, {})
    with (tmp_path / "policies" / "huge.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InvalidInput, match=r"huge\.json` is larger than 64 MB"):
        read_directory(tmp_path)


@pytest.mark.parametrize("path", ["nowhere", "file"])
def test_what_is_no_directory_is_named(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=f"{path}` is not a directory"):
        read_directory(tmp_path / path)


def test_names_with_one_hash_are_refused_and_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_directory, "file_stem", lambda name: "same")
    with pytest.raises(InvalidInput, match="would both be the file"):
        directory_files(collection(policy("A"), policy("B")), "json")


def test_what_was_written_halfway_is_whole_after_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several = [policy(f"p{n}") for n in range(4)]
    put(tmp_path, {})
    real, left = Path.replace, [2]

    def failing(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(InvalidInput, match="No space left"):
        write_directory(tmp_path, collection(*several))
    monkeypatch.undo()
    assert json.loads((tmp_path / "policies" / "kv.json").read_text())["name"] == "kv"
    write_directory(tmp_path, collection(*several))
    assert read_directory(tmp_path) == collection(*several)
