"""Law: the documents at a time are those kept last before it, whatever was written, killed or removed in between."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.errors import CacheError, InvalidInput
from ranger_cdap.ranger.refresh.documents import Documents, pieces
from ranger_cdap.ranger.refresh.history import PolicyHistory, policies_at
from ranger_cdap.ranger.refresh.policy_text import PolicyText

SERVICE = "cdapdev"
PLENTY = 10_000_000
Json = dict[str, Any]

policies = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 3), "name": st.text(max_size=3)}), max_size=4
)  # some have one id twice
downloads = st.fixed_dictionaries(
    {"policyVersion": st.integers(0, 3)},
    optional={"serviceName": st.just(SERVICE), "securityZones": st.dictionaries(st.text(max_size=2), st.integers())},
)


@st.composite
def documents(draw: st.DrawFn) -> Documents:
    def text(value: Json) -> bytes:
        return json.dumps(value, indent=draw(st.sampled_from([None, 1])), ensure_ascii=draw(st.booleans())).encode()

    download = {**draw(downloads), "policies": draw(policies)}
    others = [draw(st.none() | st.dictionaries(st.sampled_from("ab"), st.text(max_size=3))) for _ in range(2)]
    tags, users = (None if one is None else text(one) for one in others)
    return Documents(text(download), text({"roleVersion": draw(st.integers(0, 2))}), tags, users)


steps = st.lists(st.tuples(documents(), st.integers(1, 3), st.sampled_from(["go on", "restart"])), min_size=1)


def content(found: Documents) -> list[Any]:
    download = json.loads(b"".join(pieces(found.policies)))
    download["policies"] = sorted(download["policies"], key=json.dumps)
    return [download, *(None if one is None else json.loads(one) for one in (found.roles, found.tags, found.users))]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(documents(), st.integers(1, 3), st.sampled_from(["go on", "restart"])), min_size=1), st.data()
)
def test_the_documents_at_a_time_are_those_kept_last(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Documents, int, str]], data: st.DataObject
) -> None:
    directory, at = tmp_path_factory.mktemp("history"), 1_000
    history, kept = PolicyHistory(directory, SERVICE, PLENTY), list[tuple[int, Documents]]()
    for found, later, then in steps:
        at += later
        history.keep(found, at)
        kept.append((at, found))
        if then == "restart":
            history = PolicyHistory(directory, SERVICE, PLENTY)
    moment = data.draw(st.integers(1_000, at + 5))
    before = [(since, found) for since, found in kept if since <= moment]
    if not before:
        with pytest.raises(InvalidInput, match="so old: it begins at 1970-01-01 00:00:0"):
            policies_at(directory, SERVICE, moment)
        return
    found = policies_at(directory, SERVICE, moment)
    assert content(found.documents) == content(before[-1][1])
    assert found.since <= before[-1][0]


def document(version: int, *names: str) -> Documents:
    listed = [{"id": number, "name": name * 40} for number, name in enumerate(names)]
    return Documents(json.dumps({"policyVersion": version, "policies": listed}).encode(), b"{}")


def filled(directory: Path, versions: int, max_bytes: int = PLENTY) -> PolicyHistory:
    history = PolicyHistory(directory, SERVICE, max_bytes)
    for version in range(1, versions + 1):
        history.keep(document(version, *"abcdefgh"), version * 1_000)
    return history


def version_at(directory: Path, at: int) -> int:
    found = json.loads(b"".join(pieces(policies_at(directory, SERVICE, at).documents.policies)))["policyVersion"]
    assert isinstance(found, int)
    return found


def files(directory: Path) -> list[Path]:
    return sorted((directory / SERVICE).iterdir())


def test_a_version_holds_only_what_changed(tmp_path: Path) -> None:
    filled(tmp_path, 4)
    (file,) = files(tmp_path)
    first, *others = file.read_bytes().splitlines()
    assert len(others) == 3
    assert all(10 * len(line) < len(first) for line in others)


@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_used_again_is_kept_once(tmp_path: Path, indent: int | None) -> None:
    text = json.dumps({"policyVersion": 1, "policies": [{"id": 1, "name": "a"}]}, indent=indent).encode()
    for at in (1, 2, 3):
        PolicyHistory(tmp_path, SERVICE, PLENTY).keep(Documents(text, b"{\n}"), at)
    assert len(files(tmp_path)) == 1
    assert policies_at(tmp_path, SERVICE, 3).since == 1


def test_deltas_are_kept_as_the_policies_they_make(tmp_path: Path) -> None:
    history = filled(tmp_path, 1)
    text = PolicyText.of(bytes(document(1, *"abcdefgh").policies))  # type: ignore[arg-type]
    history.keep(Documents(PolicyText(text.members, {**text.policies, 99: msgspec.Raw(b'{"id":99}')}), b"{}"), 5_000)
    (file,) = files(tmp_path)
    assert len(file.read_bytes().splitlines()) == 2
    assert b'"id":99' in bytes(policies_at(tmp_path, SERVICE, 5_000).documents.policies)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_a_kill_at_any_byte_loses_the_unfinished_version_only(tmp_path: Path, seed: int) -> None:
    filled(tmp_path, 3)
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    ends = [n + 1 for n, byte in enumerate(whole) if byte == 10]
    size = Random(seed).randrange(ends[0], len(whole))
    file.write_bytes(whole[:size])
    complete = sum(end - 1 <= size for end in ends)
    assert version_at(tmp_path, 9_000) == complete
    history = PolicyHistory(tmp_path, SERVICE, PLENTY)
    history.keep(document(7, "z"), 8_000)
    assert version_at(tmp_path, 8_000) == 7
    assert version_at(tmp_path, 7_999) == complete


@pytest.mark.parametrize("garbage", [b"x\n", b"{}\n", b"[" * 100_000 + b"\n", b'{"at":5,"parts":7}\n', b"\xff\n"])
def test_garbage_is_no_version_and_stops_nothing(tmp_path: Path, garbage: bytes) -> None:
    filled(tmp_path, 2)
    (tmp_path / SERVICE / f"{9_000:013}-{'0' * 32}.jsonl").write_bytes(garbage)
    (tmp_path / SERVICE / "notes.txt").write_text("mine")
    assert version_at(tmp_path, 4_000) == 2
    filled(tmp_path, 3)
    assert version_at(tmp_path, 4_000) == 3


def test_the_oldest_versions_make_room(tmp_path: Path) -> None:
    filled(tmp_path, 200, max_bytes=20_000)
    assert sum(file.stat().st_size for file in files(tmp_path)) <= 20_000
    assert version_at(tmp_path, 200_000) == 200
    with pytest.raises(InvalidInput, match="has no policies of service `cdapdev` so old: it begins at"):
        version_at(tmp_path, 1_000)


def test_the_newest_version_stays_however_large_it_is(tmp_path: Path) -> None:
    filled(tmp_path, 3, max_bytes=1)
    assert version_at(tmp_path, 3_000) == 3


def test_a_file_that_another_process_removed_is_begun_again(tmp_path: Path) -> None:
    history = filled(tmp_path, 2)
    for file in files(tmp_path):
        file.unlink()
    history.keep(document(3, *"abcdefgh"), 3_000)
    assert version_at(tmp_path, 3_000) == 3


def test_two_processes_keep_their_versions_side_by_side(tmp_path: Path) -> None:
    one, other = PolicyHistory(tmp_path, SERVICE, PLENTY), PolicyHistory(tmp_path, SERVICE, PLENTY)
    for version in range(1, 10):
        (one if version % 2 else other).keep(document(version, "a"), version * 1_000)
    assert [version_at(tmp_path, version * 1_000 + 500) for version in range(1, 10)] == [*range(1, 10)]


def test_services_have_directories_of_their_own_inside_the_history(tmp_path: Path) -> None:
    directory = tmp_path / "history"
    for service in ("../up", "a/b", "cdapdev"):
        PolicyHistory(directory, service, PLENTY).keep(document(1, service[0]), 1)
        assert policies_at(directory, service, 1).since == 1
    assert [path.name for path in tmp_path.iterdir()] == ["history"]


def test_it_is_private_to_its_owner(tmp_path: Path) -> None:
    directory = tmp_path / "history"
    before = os.umask(0)
    try:
        filled(directory, 2)
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (directory / SERVICE, *files(directory))}
    assert modes == {0o700, 0o600}


def test_a_history_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("a file")
    with pytest.raises(CacheError, match=r"policy history `.*history` cannot be written: "):
        PolicyHistory(tmp_path / "history", SERVICE, PLENTY).keep(document(1, "a"), 1)


def test_nothing_of_the_service_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"has no policies of service `cdapdev`$"):
        policies_at(tmp_path, SERVICE, 1)
