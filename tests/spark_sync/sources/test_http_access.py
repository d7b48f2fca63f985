"""The router's access log: what makes an event, and what a client that writes into the log cannot make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranger_cdap.config import Secret, SourceSettings
from ranger_cdap.errors import ConfigError
from tests.spark_sync.sources.reading import Found, found_in, found_in_files, numbered

RECORDED = Path(__file__).parents[2] / "data" / "cdap-http-access.log"
MARKED = RECORDED.with_name("cdap-http-access-marked.log")
MARKER = "Zq7rT2mVx9Kc4LwB"
SECOND = 1795234673000  # 21/Nov/2026:04:17:53 +0000
HEAD = "10.1.2.3 - mallory [21/Nov/2026:04:17:53 +0000]"
FORGED = f'{HEAD} "PUT /v3/namespaces/forged HTTP/1.1" - - 200 46 -'


def marked(entry: str) -> str:
    """As CDAP writes it with the pattern of docs/reference/events.md."""
    return f"{MARKER} {entry} {MARKER}"


def entry(request: str, rest: str, user: str = "alice", time: str = "21/Nov/2026:04:17:53 +0000") -> str:
    return f'10.1.2.3 - {user} [{time}] "{request} HTTP/1.1" {rest}'


RECORD = (
    '{"type":"App","name":"Shop","version":"1f","description":"a } - b","artifact":{"name":"shop-jar","version":"2"}}'
)

COUNTED: dict[str, tuple[str, list[Found]]] = {
    "in another time zone": (
        entry("PUT /v3/namespaces/a2", "- - 200 46 -", time="21/Nov/2026:05:17:53 +0100"),
        [("CREATE", "namespace:a2", "alice", SECOND)],
    ),
    "a deletion": (
        entry("DELETE /v3/unrecoverable/namespaces/a3", "- - 200 - -"),
        [("DELETE", "namespace:a3", "alice", SECOND)],
    ),
    "with a query, names escaped": (
        entry("PUT /v3/namespaces/n/data/datasets/a%24b?x=1", "- - 200 - -"),
        [("CREATE", "dataset:n.a$b", "alice", SECOND)],
    ),
    "nobody": (entry("PUT /v3/namespaces/a4", "- - 200 46 -", user="-"), [("CREATE", "namespace:a4", "", SECOND)]),
    "a schedule": (
        entry("PUT /v3/namespaces/n/apps/App/schedules/daily", '- {"program":{}} 200 - -'),
        [("CREATE", "schedule:n.App.daily", "alice", SECOND)],
    ),
    "a stream": (
        entry("PUT /v3/namespaces/n/streams/clicks", "- - 200 0 -"),
        [("CREATE", "stream:n.clicks", "alice", SECOND)],
    ),
    "a stream's view": (
        entry("PUT /v3/namespaces/n/streams/clicks/views/v1", "- - 201 0 -"),
        [("CREATE", "stream_view:n.clicks.v1", "alice", SECOND)],
    ),
    "a jar that brings an application": (
        entry(
            "POST /v3/namespaces/n/apps", f"{{X-Archive-Name=shop-jar-2.jar}} - 200 120 {RECORD.replace('} - b', 'b')}"
        ),
        [("CREATE", "application:n.Shop", "alice", SECOND), ("CREATE", "artifact:n.shop-jar", "alice", SECOND)],
    ),
    "a response that could be headers": (
        entry("POST /v3/namespaces/n/apps", f"{{X-Archive-Name=shop-jar-2.jar}} - 200 120 {RECORD}"),
        [],
    ),
    "an answer of CDAP until 5, which is no JSON": (
        entry("POST /v3/namespaces/n/apps", "{X-Archive-Name=a-1.jar} - 200 15 Deploy Complete"),
        [],
    ),
    "an answer that was compressed for the client": (
        entry("POST /v3/namespaces/n/apps", "{X-Archive-Name=a-1.0.0.jar} - 200 191 \ufffd\x08 T\ufffd } - x"),
        [],
    ),
    "failed": (entry("PUT /v3/namespaces/n/data/datasets/kv", "- - 409 46 -"), []),
    "denied": (entry("PUT /v3/namespaces/a5", '- {"description":"d"} 403 46 -'), []),
    "broken off before the answer": (entry("PUT /v3/namespaces/a6", '- {"description":"d"} - - -'), []),
    "a list": (entry("GET /v3/namespaces/a7", "- - 200 46 -"), []),
    "all applications deleted: nobody knows which": (entry("DELETE /v3/namespaces/n/apps", "- - 200 - -"), []),
    "one version deleted": (
        entry("DELETE /v3/namespaces/n/apps/App/versions/1", "- - 200 - -"),
        [("DELETE", "application:n.App", "alice", SECOND)],
    ),
    "truncated": (entry("POST /v3/namespaces/n/data/datasets/kv/admin/truncate", "- - 200 - -"), []),
    "metadata removed": (entry("DELETE /v3/namespaces/n/datasets/kv/metadata", "- - 200 - -"), []),
    "properties changed": (entry("PUT /v3/namespaces/a8/properties", "- - 200 46 -"), []),
    # What mallory sends stands in the line, but CDAP's own end follows it.
    "a body that looks like the end of a line": (
        entry("PUT /v3/namespaces/f1", '- {"description":"x"} 200 46 - 403 99 -'),
        [],
    ),
    "the same, and the connection is cut": (entry("PUT /v3/namespaces/f2", "- {} 200 46 - - - -"), []),
    "a body that looks like a line": (entry("PUT /v3/namespaces/f3", f"- {FORGED} 403 99 -"), []),
    "a header that looks like the end of a line": (
        entry("POST /v3/namespaces/n/artifacts/f4", "{Artifact-Version=1} - 200 28 -} - 403 99 -"),
        [],
    ),
    "a header that looks like a response": (
        entry("POST /v3/namespaces/n/apps", f"{{X-Archive-Name=x}} - 200 99 {RECORD}}} - 403 20 no"),
        [],
    ),
    "a URI that looks like a line": (entry('PUT /v3/namespaces/f5"-', "- - 200 46 -"), []),
}

REFUSED = {
    FORGED: "does not begin and end with the source's `marker`",
    f"{MARKER} {FORGED}": "does not begin and end with the source's `marker`",
    f"{FORGED} {MARKER}": "does not begin and end with the source's `marker`",
    "": "does not begin and end with the source's `marker`",
    marked("GET / HTTP/1.1"): "not a line of the access log",
    marked(entry("PUT /v3/namespaces/x", "- - 200 46 -", user="two words")): "not a line of the access log",
    marked(entry("PUT /v3/namespaces/x y", "- - 200 46 -")): "not a line of the access log",
    marked(entry("PUT /v3/namespaces/x", "- - 200 46 -", time="yesterday")): "its time cannot be read",
    marked(entry("PUT /v3/namespaces/%2A", "- - 200 46 -")): "`namespace:*` is not a valid CDAP name",
    marked(entry("PUT /v3/namespaces/%zz", "- - 200 46 -")): "`namespace:%zz` is not a valid CDAP name",
    marked(entry("PUT /v3/namespaces/a%0Ab", "- - 200 46 -")): "`namespace:a\nb` is not a valid CDAP name",
}


def test_what_counts_and_what_is_refused() -> None:
    lines = [*(marked(line) for line, _ in COUNTED.values()), *REFUSED]
    events, dead = found_in("http-access", numbered(lines), marker=Secret(MARKER), path=Path())
    wanted = [found for _, several in COUNTED.values() for found in several]
    if '"-' in COUNTED["a URI that looks like a line"][0]:
        dead = [letter for letter in dead if "f5" not in letter.line]
    assert sorted(events) == sorted(wanted)
    assert [letter.reason for letter in dead] == list(REFUSED.values())
    assert not any(MARKER in letter.line or "46" in letter.line for letter in dead), "no marker, no bodies"


def test_what_cdaps_own_formatter_wrote() -> None:
    lines = [marked(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    events, dead = found_in("http-access", numbered(lines), marker=Secret(MARKER), path=Path())
    assert dead == []
    assert events == [
        ("CREATE", "artifact:ns1.probeapp", "alice", SECOND),
        ("CREATE", "namespace:ns1", "alice", SECOND),
    ]


def test_what_the_router_of_a_real_cdap_wrote() -> None:
    """With the pattern of docs/reference/events.md; one request forged a line in its body and was answered 400."""
    lines = MARKED.read_text(encoding="utf-8").splitlines()
    events, dead = found_in("http-access", numbered(lines), marker=Secret(MARKER), path=Path())
    assert dead == []
    assert [(kind, entity, user) for kind, entity, user, _ in events] == [
        ("CREATE", "dataset:ns1.kv", "alice"),
        ("CREATE", "namespace:ns1", "alice"),
        ("CREATE", "secure_key:ns1.key1", "alice"),
        ("CREATE", "application:ns1.Purchases2", "alice"),
        ("CREATE", "artifact:ns1.lib", "alice"),
        ("DELETE", "dataset:ns1.kv", "alice"),
    ]
    assert any("mallory" in line for line in lines)


def test_a_body_with_line_breaks_makes_no_event(tmp_path: Path) -> None:
    """Mallory asks for a namespace and is denied; he writes whole lines into the body, and splits the real one."""
    body = f'{{}} 200 46 -\n{FORGED}\r\n{FORGED}\r{HEAD} "GET / HTTP/1.1" - -'
    (tmp_path / "access.log").write_text(marked(entry("PUT /v3/namespaces/f1", f"- {body} 403 99 -")) + "\n")
    events, dead = found_in_files("http-access", tmp_path, marker=Secret(MARKER))
    assert events == []
    assert len(dead) == 4


@pytest.mark.parametrize("marker", ["", "short", "a b c d e f g h i j k", "ümläütümläütümläüt"])
def test_without_a_marker_that_nobody_can_guess_nothing_is_read(tmp_path: Path, marker: str) -> None:
    from spark_sync.sources.http_access import check

    settings = SourceSettings(name="log", kind="http-access", path=tmp_path, marker=Secret(marker))
    with pytest.raises(ConfigError, match="needs `marker`"):
        check(settings)
