"""`audit.chain`: whatever is done to chained records is found, and what the writer itself does is not."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ranger_cdap.audit import AuditRecord
from ranger_cdap.audit.chain import NO_LINK, Link, chained, read_line
from ranger_cdap.audit.file import FileSink, last_line
from ranger_cdap.audit.verify import Break, ChainVerifier, lines_of, rotated_files, verify_lines
from tests.disk_faults import ended_well, full_disk, in_a_child

HOSTILE = ("alice", 'x","seq":7,"prev":"' + "0" * 64 + '","hash":"' + "f" * 64 + '"}', "a\nb\r\u2028", "", "}" * 40)


def record(user: str) -> AuditRecord:
    return AuditRecord(
        repo="cdapdev",
        reqUser=user,
        evtTime=1,
        access="dataset.get",
        resource="cdap/ns1/kv",
        resType="dataset",
        action="read",
        result=1,
        policy=7,
        agentHost="h",
        id="e",
    )


def chain(users: Sequence[str]) -> list[bytes]:
    lines, link = [], NO_LINK
    for user in users:
        document = json.dumps({"reqUser": user}).encode()
        line, link = chained(document, link)
        lines.append(line + b"\n")
    return lines


def links(lines: Sequence[bytes]) -> list[Link]:
    found = [read_line(line[:-1]) for line in lines]
    return [each.link for each in found if each is not None]


def breaks(data: bytes, *expected: Link) -> list[Break]:
    verifier = ChainVerifier(expected)
    return list(verify_lines(verifier, lines_of(BytesIO(data), "f")))


USERS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), min_size=1, max_size=12)


@pytest.mark.slow
@given(USERS)
def test_untouched_records_are_one_chain(users: list[str]) -> None:
    lines = chain(users)
    assert breaks(b"".join(lines), links(lines)[0], links(lines)[-1]) == []
    assert [each.number for each in links(lines)] == list(range(1, len(users) + 1))


def changed(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data) - 1))
    return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]


def dropped(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    first = draw(st.integers(0, len(lines) - 1))
    return b"".join(lines[:first] + lines[draw(st.integers(first + 1, len(lines))) :])


def swapped(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    one, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def duplicated(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(lines)))
    return b"".join(lines)


def cut(draw: st.DrawFn, data: bytes) -> bytes:
    first = draw(st.integers(0, len(data) - 1))
    return data[:first] + data[draw(st.integers(first + 1, len(data))) :]


def inserted(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    forged = chain(["mallory"])[0]
    return data[:at] + draw(st.binary(min_size=1, max_size=20) | st.just(forged)) + data[at:]


TAMPERINGS: dict[str, Callable[[st.DrawFn, bytes], bytes]] = {
    each.__name__: each for each in (changed, dropped, swapped, duplicated, cut, inserted)
}


@st.composite
def tampered(draw: st.DrawFn) -> tuple[list[bytes], bytes]:
    lines = chain(draw(USERS))
    data = b"".join(lines)
    for _ in range(draw(st.integers(1, 3))):
        assume(data)
        data = TAMPERINGS[draw(st.sampled_from(sorted(TAMPERINGS)))](draw, data)
    assume(data != b"".join(lines))
    return lines, data


@given(tampered())
def test_whatever_is_changed_is_found_by_who_kept_the_first_and_the_last_hash(case: tuple[list[bytes], bytes]) -> None:
    lines, data = case
    assert breaks(data, links(lines)[0], links(lines)[-1])


@given(tampered())
def test_without_a_kept_hash_only_a_missing_beginning_or_end_is_not_found(case: tuple[list[bytes], bytes]) -> None:
    lines, data = case
    if not breaks(data):
        assert data in b"".join(lines)
        left = data.splitlines(keepends=True)
        assert left == [] or lines[lines.index(left[0]) :][: len(left)] == left


@pytest.mark.parametrize("kind", sorted(TAMPERINGS))
@given(data=st.data())
def test_each_single_tampering_inside_is_found_without_any_kept_hash(kind: str, data: st.DataObject) -> None:
    lines = chain(["alice"] * 6)
    inner = b"".join(lines[1:-1])
    other = TAMPERINGS[kind](lambda strategy: data.draw(strategy), inner)
    assume(other != inner)
    assert breaks(lines[0] + other + lines[-1])


@pytest.mark.parametrize(
    ("made", "line", "what"),
    [
        (lambda x: [*x[:2], x[2].replace(b"u2", b"u9"), *x[3:]], 3, "record 3 was changed"),
        (lambda x: x[:1] + x[3:], 2, "records 2 to 3 missing before record 4"),
        (lambda x: [x[0], x[2], x[1], *x[3:]], 3, "record 2 is repeated or out of order"),
        (lambda x: [*x[:3], x[2], *x[3:]], 4, "record 3 is repeated or out of order"),
        (lambda x: [*x[:3], b"{}\n", *x[3:]], 4, "is not a record of the chain"),
        (lambda x: [*x[:4], x[4][:30]], 5, "is cut off: it has no line end"),
        (lambda x: x + x, 6, "another chain begins after record 5"),
        (lambda x: [*x[:4], chained(b'{"a":1}', Link(4, "0" * 64))[0] + b"\n"], 5, "does not follow the record before"),
        (lambda x: x[:4], 4, "record 5 with the expected hash is not in these files"),
    ],
)
def test_the_line_and_what_is_wrong_with_it_are_said(
    made: Callable[[list[bytes]], list[bytes]], line: int, what: str
) -> None:
    lines = chain([f"u{n}" for n in range(5)])
    found = breaks(b"".join(made(lines)), links(lines)[-1])
    assert any(each.place.line == line and what in each.what and not each.is_benign for each in found), found


def test_who_can_rewrite_the_whole_file_is_found_only_by_a_kept_hash() -> None:
    kept = links(chain(["alice", "bob", "carol"]))[-1]
    rewritten = b"".join(chain(["alice", "mallory", "carol"]))
    assert breaks(rewritten) == []
    assert breaks(rewritten, kept)


def test_the_hash_is_that_of_the_bytes_before_it_as_any_other_program_computes_it() -> None:
    (line,) = chain(["alice"])
    before, _, end = line.rpartition(b',"hash":"')
    assert sha256(before).hexdigest() == json.loads(line)["hash"] == end[:64].decode()


# --- the writer -----------------------------------------------------------------------------------------------------


def verified(path: Path) -> tuple[list[Break], ChainVerifier]:
    def lines() -> Iterator[object]:
        for file in rotated_files(path):
            with file.open("rb") as opened:
                yield from lines_of(opened, file.name)

    verifier = ChainVerifier()
    return list(verify_lines(verifier, lines())), verifier  # type: ignore[arg-type]


def test_a_chain_goes_on_over_rotation_and_restarts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for start in range(4):
        sink = FileSink(path, max_bytes=3000, keep=50, chain=True)
        for n in range(5):
            sink.write([record(f"user{start}-{n}"), record("bob")])
        sink.close()
    found, verifier = verified(path)
    assert found == []
    assert verifier.first is not None
    assert (verifier.first.number, verifier.records) == (1, 41), "40 records and the one that begins the chain"
    assert len(rotated_files(path)) > 5


def test_processes_that_write_at_once_make_one_chain_and_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def work(number: int) -> None:
        sink = FileSink(path, max_bytes=20_000, keep=100, chain=True)
        for n in range(60):
            sink.write([record(f"{number}-{n}")] * 3)

    children = [in_a_child(partial(work, number)) for number in range(4)]
    assert [ended_well(child) for child in children] == [True] * 4
    found, verifier = verified(path)
    assert (found, verifier.records) == ([], 4 * 60 * 3 + 1)
    written = [
        json.loads(line).get("reqUser") for file in rotated_files(path) for line in file.read_bytes().splitlines()
    ]
    assert sorted(filter(None, written)) == sorted([f"{p}-{n}" for p in range(4) for n in range(60)] * 3)


def test_threads_of_one_process_make_one_chain(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "a", max_bytes=5000, keep=100, chain=True)
    threads = [threading.Thread(target=lambda: [sink.write([record("x")]) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verified(tmp_path / "a")[0] == []


@given(cut_off=st.integers(1, 300))
def test_a_line_that_a_crash_cut_off_stops_nobody_and_is_reported_as_what_it_is(
    tmp_path_factory: pytest.TempPathFactory, cut_off: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    first = FileSink(path, chain=True)
    first.write([record("alice"), record("bob")])
    first.close()
    os.truncate(path, path.stat().st_size - cut_off)
    before, _ = verified(path)
    assert [each.is_benign for each in before] == [False], "nobody has acknowledged it"
    again = FileSink(path, chain=True)
    again.write([record("carol")])
    again.close()
    found, verifier = verified(path)
    if cut_off == 1:
        assert (found, verifier.records) == ([], 4), "only the line end was missing"
    else:
        assert [(each.is_benign, each.place.line) for each in found] == [(True, 3)]
        assert "a crash cut off" in found[0].what
    assert json.loads(path.read_bytes().splitlines()[-1])["reqUser"] == "carol"


def test_a_write_that_fails_leaves_the_chain_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    sink = FileSink(path, chain=True)
    sink.write([record("alice")])
    with full_disk(path.stat().st_size + 10), pytest.raises(OSError, match="File too large"):
        sink.write([record("bob")])
    sink.write([record("carol")])
    assert verified(path)[0] == []
    users = [json.loads(line).get("reqUser") for line in path.read_bytes().splitlines()]
    assert users == [None, "alice", "carol"]


def test_whoever_cuts_the_end_off_under_a_running_writer_leaves_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    sink = FileSink(path, chain=True)
    for user in ("alice", "bob", "carol"):
        sink.write([record(user)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    sink.write([record("dave")])
    found, _ = verified(path)
    assert [each.what for each in found] == ["record 4 missing before record 5"]


def test_records_from_before_the_chain_are_put_away_and_the_chain_names_the_last(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    plain = FileSink(path)
    plain.write([record("alice"), record("bob")])
    plain.close()
    sink = FileSink(path, chain=True)
    sink.write([record("carol")])
    start, carol = path.read_bytes().splitlines()
    old = (tmp_path / "a.jsonl.1").read_bytes().splitlines()
    assert json.loads(start)["chain"] == "start"
    assert json.loads(start)["follows"] == sha256(old[-1]).hexdigest()
    assert json.loads(carol)["reqUser"] == "carol"


def test_a_piece_without_a_chain_does_not_swallow_the_next_record(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"repo": "cut o')
    FileSink(path).write([record("alice")])
    assert json.loads(path.read_bytes().splitlines()[-1])["reqUser"] == "alice"


@given(st.binary(max_size=200_000), st.binary(max_size=20))
def test_the_last_line_is_found_from_the_end(tmp_path_factory: pytest.TempPathFactory, data: bytes, end: bytes) -> None:
    path = tmp_path_factory.mktemp("tail") / "f"
    path.write_bytes(data + b"\n" + end)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        *whole, piece = (data + b"\n" + end).split(b"\n")
        assert last_line(descriptor) == (whole[-1], piece)
    finally:
        os.close(descriptor)
