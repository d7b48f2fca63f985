"""A real Elasticsearch 7.17 or OpenSearch 2.19 on loopback, asked as Ranger's *Access* page asks."""

from __future__ import annotations

import subprocess
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import requests

from tests.differential.java_engine import java_command
from tests.short_lived_java import QUICK_JAVA, end

JVM: Final = Path(__file__).parents[2] / "jvm"
MAIN: Final = {"elasticsearch": "rangercdap.ElasticsearchNode", "opensearch": "rangercdap.OpensearchNode"}
START_SECONDS: Final = 120
INDEX: Final = "ranger_audits"

# Names and types as in Ranger 2.9.0's own mapping (security-admin/contrib/elasticsearch_for_audit_setup), written anew;
# and strict, unlike there: a field that is not in it is an error.
TYPES: Final = {
    "keyword": "access action agent agentHost cliIP cluster enforcer id logType repo reqUser resType resource zoneName",
    "text": "reason reqData",
    "date": "evtTime",
    "integer": "repoType result",
    "long": "event_count event_dur_ms policy policyVersion seq_num",
}
MAPPING: Final = {
    "dynamic": "strict",
    "properties": {name: {"type": kind} for kind, names in TYPES.items() for name in names.split()},
}


def missing_part(kind: str) -> str | None:
    """The sentence that says what is not there, None where it can be started."""
    class_path = JVM / kind / "target" / "classpath.txt"
    jars = class_path.read_text(encoding="utf-8").strip().split(":") if class_path.exists() else [str(class_path)]
    is_there = java_command() and all(Path(jar).exists() for jar in jars)
    return None if is_there else f"needs a real {kind}, built by `make test-elasticsearch`"


class SearchNode(AbstractContextManager["SearchNode"]):
    """One node with the index of Ranger's audits."""

    def __init__(self, kind: str, directory: Path) -> None:
        self._kind = kind
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> SearchNode:
        target = JVM / self._kind / "target"
        class_path = f"{target / 'classes'}:{(target / 'classpath.txt').read_text(encoding='utf-8').strip()}"
        options = ["-XX:+UseSerialGC", "-Xmx512m", QUICK_JAVA["JAVA_TOOL_OPTIONS"].split()[0], "-cp", class_path]
        with (self._directory / "log").open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [java_command() or "java", *options, MAIN[self._kind], str(self._directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        too_long = threading.Timer(START_SECONDS, self._process.kill)
        too_long.start()
        port = self._process.stdout.readline().strip()
        too_long.cancel()
        assert port, (self._directory / "log").read_text(encoding="utf-8", errors="replace")[-4000:]
        self.url = f"http://127.0.0.1:{port}"
        self.make(INDEX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        end(self._process)

    def make(self, index: str, **settings: Any) -> None:
        """Make an index with Ranger's fields."""
        self.ask("PUT", f"/{index}", {"mappings": MAPPING, "settings": {"number_of_replicas": 0, **settings}})

    def page(self, index: str = INDEX, **filters: Any) -> list[dict[str, Any]]:
        """What the page shows, the latest first: found by terms, then fetched by their ids, as Ranger Admin does it."""
        self.ask("POST", f"/{index}/_refresh")
        query = {"bool": {"must": [{"match": {name: value}} for name, value in filters.items()]}}
        asked = {"query": query, "sort": [{"evtTime": "desc"}], "size": 1000, "_source": False}
        ids = [hit["_id"] for hit in self.ask("POST", f"/{index}/_search", asked)["hits"]["hits"]]
        found = self.ask("POST", f"/{index}/_mget", {"ids": ids})["docs"] if ids else []
        return [one["_source"] for one in found]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed."""
        answer = requests.request(method, self.url + path, json=body, timeout=60)
        assert answer.ok, answer.text
        return answer.json()
