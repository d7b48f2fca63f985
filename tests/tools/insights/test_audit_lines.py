"""Lines of an audit: the forms that are read, those that are rejected, and that every line is counted once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.audit.chain import cut_mark, start_mark
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.audit.solr import document
from ranger_cdap.audit.verify import Place
from ranger_cdap.ranger_model.audit_event import LATEST, MOST_EVENTS, read_audit_line
from ranger_cdap.ranger_model.strict_json import LONGEST, BadLine
from ranger_cdap.tools.insights.facts import MOST_REJECTED, Period, RejectedLine, read_facts
from tests.tools.insights.audit_fixtures import ALWAYS, HDFS, NOON, SERVICE, facts_of, line, undecided

OURS = AuditRecord(
    repo=SERVICE,
    reqUser="alice",
    evtTime=NOON,
    access="dataset.get",
    resource="cdap/ns1/purchases",
    resType="dataset",
    action="read",
    result=1,
    policy=7,
    cliIP="10.0.0.1",
)


def test_the_three_forms_of_one_record_are_the_same_event() -> None:
    import msgspec

    own = read_audit_line(msgspec.json.encode(OURS).decode())
    solr = read_audit_line(json.dumps(document(OURS)))
    hdfs = json.loads(msgspec.json.encode(OURS)) | {"evtTime": f"{datetime.fromtimestamp(NOON / 1000, UTC):%F %T}.000"}
    assert own == solr == read_audit_line(json.dumps(hdfs))
    assert own is not None
    assert (own.user, own.access, own.operation, own.time) == ("alice", "read", "dataset.get", NOON)
    assert (own.type, own.resource, own.allowed, own.policy) == ("dataset", "cdap/ns1/purchases", True, 7)
    assert (own.client_ip, own.count, own.service, own.agent) == ("10.0.0.1", 1, SERVICE, "cdap")


def test_a_line_of_rangers_plugins() -> None:
    event = read_audit_line(HDFS.decode())
    assert event is not None
    assert (event.time, event.count, event.allowed, event.client_ip) == (NOON + 250, 3, False, "10.1.2.3")


def test_a_resource_type_of_hive_and_missing_fields() -> None:
    event = read_audit_line(
        '{"repo":"h","evtTime":"2016-10-12 06:11:45","result":1,"access":"SELECT","resType":"@column"}'
    )
    assert event is not None
    assert (event.type, event.access, event.user, event.resource, event.policy) == ("column", "SELECT", "", "", -1)


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("1970-01-01 00:00:00.000", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00.5+0100", 500),
        ("1970-01-01T00:00:00.123456789Z", 123),
        ("9999-12-31T23:59:59.999Z", LATEST),
        (LATEST, LATEST),
    ],
)
def test_times(written: object, milliseconds: int) -> None:
    event = read_audit_line(line(evtTime=written).decode())
    assert event is not None
    assert event.time == milliseconds


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31)))
def test_a_time_of_ranger_is_in_utc(when: datetime) -> None:
    event = read_audit_line(
        line(evtTime=when.strftime("%Y-%m-%d %H:%M:%S.") + f"{when.microsecond // 1000:03}").decode()
    )
    assert event is not None
    assert event.time == (when - datetime(1970, 1, 1)) // timedelta(milliseconds=1)


DEEP = '{"tags":' + "[" * 100_000 + "]" * 100_000 + "}"
REJECTED = {
    "": "empty line",
    "   ": "empty line",
    "2026-11-18 INFO started": "not one JSON object",
    "[]": "not one JSON object",
    '"a"': "not one JSON object",
    '{"repo":"a"': "not one JSON object",
    '{"repo":"a"} {"repo":"b"}': "not one JSON object",
    '{"repo":"a","repo":"b"}': "field `repo` is repeated",
    '{"repo":"a","\\u0072epo":"b"}': "field `repo` is repeated",
    '{"repo":NaN}': "not one JSON object",
    DEEP: "not one JSON object",
    '{"repo":"a","tags":' + "[" * 70 + "]" * 70 + "}": "nested more than 64 deep",
    '{"a":"' + "x" * LONGEST + '"}': f"longer than {LONGEST} bytes",
    "{}": "object missing required field `repo`",
    '{"chain":"other"}': "unknown mark `other` of an audit chain",
    line(repo=1).decode(): "expected `str`, got `int` - at `repo`",
    line(reqUser={"a": 1}).decode(): "expected `str | null`, got `object` - at `reqUser`",
    line(result=True).decode(): "expected `int`, got `bool` - at `result`",
    line(result="1").decode(): "expected `int`, got `str` - at `result`",
    line(result=2).decode(): "`result` is 2, neither 0 nor 1",
    line(result=1.5).decode(): "expected `int`, got `float` - at `result`",
    line(event_count=0).decode(): f"`event_count` is 0, not between 1 and {MOST_EVENTS}",
    line(event_count=-1).decode(): f"`event_count` is -1, not between 1 and {MOST_EVENTS}",
    line(event_count=MOST_EVENTS + 1).decode(): f"`event_count` is 1000000001, not between 1 and {MOST_EVENTS}",
    line(policy=2**63).decode(): "`policy` is not a 64-bit number",
    line(evtTime=-1).decode(): "`evtTime` is not a time between 1970 and 9999",
    line(evtTime=LATEST + 1).decode(): "`evtTime` is not a time between 1970 and 9999",
    line(evtTime=2**80).decode(): "`evtTime` is not a time between 1970 and 9999",
    line(evtTime="2026-02-30 00:00:00").decode(): "`evtTime` is `2026-02-30 00:00:00`, which no calendar has",
    line(evtTime="2026-11-18").decode(): "`evtTime` is `2026-11-18`, not a date with a time of day",
    line(evtTime="yesterday").decode(): "`evtTime` is `yesterday`, not a date with a time of day",
    line(evtTime="1900-01-01 00:00:00").decode(): "`evtTime` is not a time between 1970 and 9999",
    line(evtTime=None).decode(): "expected `int | str`, got `null` - at `evtTime`",
    line(access="", action=None).decode(): "neither `action` nor `access` names an access type",
}


@pytest.mark.parametrize(("text", "why"), REJECTED.items(), ids=range(len(REJECTED)))
def test_a_line_of_another_shape_is_rejected_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(BadLine) as e:
        read_audit_line(text)
    assert str(e.value) == why


def test_marks_of_a_chain_are_no_accesses() -> None:
    for mark in (start_mark(b"", NOON), cut_mark(b"{", NOON)):
        assert read_audit_line(mark.decode()) is None


GOOD = st.builds(
    line,
    reqUser=st.sampled_from(["alice", "bob"]),
    evtTime=st.integers(0, 10),
    repo=st.sampled_from([SERVICE, "other"]),
    result=st.integers(0, 1),
    event_count=st.integers(1, 9),
)
ANY_LINE = st.one_of(
    GOOD,
    st.binary(max_size=40),
    st.sampled_from([*(text.encode() for text in REJECTED if len(text) < 1000), HDFS, start_mark(b"", 1), b"\xff\xfe"]),
    st.text(max_size=20).map(lambda text: json.dumps(text).encode()),
    st.dictionaries(st.sampled_from(["repo", "evtTime", "result", "action"]), st.integers() | st.text()).map(
        lambda found: json.dumps(found).encode()
    ),
)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), ANY_LINE)), st.integers(0, 10), st.integers(0, 10))
def test_every_line_is_counted_exactly_once(lines: list[tuple[str, bytes]], since: int, until: int) -> None:
    lines.sort(key=lambda pair: pair[0])
    sources = ((Place(file, number), content) for number, (file, content) in enumerate(lines, 1))
    facts = read_facts(sources, Period(SERVICE, since, until), undecided)
    for name, counts in facts.files:
        assert counts.lines == sum(1 for file, _ in lines if file == name)
        assert counts.lines == counts.accepted + counts.rejected + counts.marks + counts.others + counts.outside
    assert min(facts.lines.rejected, MOST_REJECTED) == len(facts.rejected)
    accepted = 0
    for _, content in lines:
        try:
            event = read_audit_line(content.decode())
        except (BadLine, UnicodeDecodeError):
            continue
        if event is not None and event.service == SERVICE and since <= event.time < until:
            accepted += event.count
    assert facts.accesses == accepted
    assert all(since <= use.first <= use.last < until for use in facts.uses)


@pytest.mark.parametrize("times", [(5, 3, 9), (9, 5, 3), (3, 9, 5)])
def test_uses_of_several_files_have_the_first_and_the_last_time_of_all(times: tuple[int, ...]) -> None:
    lines = ((Place(str(n), 1), line(evtTime=time, event_count=time)) for n, time in enumerate(times))
    (use,) = read_facts(lines, ALWAYS, undecided).uses
    assert (use.times, use.first, use.last) == (17, 3, 9)


def test_rejected_lines_have_their_place_and_are_bounded() -> None:
    facts = facts_of([line(), b"no", line(), b"\xff", *[b"again"] * 500])
    assert facts.rejected[:2] == (
        RejectedLine("audit.jsonl", 2, "not one JSON object", "no"),
        RejectedLine("audit.jsonl", 4, "not UTF-8", "\ufffd"),
    )
    assert len(facts.rejected) == MOST_REJECTED
    assert facts.lines.rejected == 502


def test_a_summary_of_several_events_counts_as_many() -> None:
    facts = facts_of([HDFS, HDFS, line(event_count=5)])
    assert [(use.user, use.times) for use in facts.uses] == [("alice", 5), ("bob", 6)]
