"""A real Solr 8.11 of two nodes on loopback (`jvm/solr`), asked as Ranger's *Access* page asks."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import requests

from tests.differential.java_engine import java_command
from tests.short_lived_java import QUICK_JAVA, end

SOLR: Final = Path(__file__).parents[2] / "jvm" / "solr"
CLASSES: Final = SOLR / "target" / "classes"
CLASS_PATH: Final = SOLR / "target" / "classpath.txt"
COLLECTION: Final = "ranger_audits"
START_SECONDS: Final = 120

# `ClientUtils.escapeQueryChars` of SolrJ 8.11.
_SPECIAL: Final = re.compile(r'[\\+\-!():^\[\]"{}~*?|&;/\s]')


def missing_part() -> str | None:
    """The sentence that says what is not there, None where Solr can be started."""
    jars = CLASS_PATH.read_text(encoding="utf-8").strip().split(":") if CLASS_PATH.exists() else [str(CLASS_PATH)]
    is_there = java_command() and CLASSES.is_dir() and all(Path(jar).exists() for jar in jars)
    return None if is_there else "needs a real Solr, built by `make test-solr`"


class SolrCloud(AbstractContextManager["SolrCloud"]):
    """Two nodes, which both have the collection; what they log is in `solr.log` of the directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        self.nodes: list[str] = []

    def __enter__(self) -> SolrCloud:
        class_path = f"{CLASSES}:{CLASS_PATH.read_text(encoding='utf-8').strip()}"
        options = ["-XX:+UseSerialGC", "-Xmx512m", f"-Dsolr.log.dir={self._directory}"]
        with (self._directory / "solr.log").open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [
                    *(
                        java_command() or "java",
                        *options,
                        QUICK_JAVA["JAVA_TOOL_OPTIONS"].split()[0],
                        "-cp",
                        class_path,
                    ),
                    *("rangercdap.SolrCloud", str(self._directory), str(SOLR / "conf"), "2"),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.nodes = [f"http://127.0.0.1:{port}/solr" for port in self._answer().split()]
        self.create(COLLECTION)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        end(self._process)

    def create(self, collection: str, *, replicas: int = 2, node: int = 0) -> None:
        """Make a collection with one shard."""
        query = {"name": collection, "numShards": 1, "replicationFactor": replicas, "waitForFinalState": "true"}
        self._administer(node, action="CREATE", **query, **{"collection.configName": "audits"})

    def alias(self, name: str, collection: str) -> None:
        """Give a collection another name."""
        self._administer(0, action="CREATEALIAS", name=name, collections=collection)

    def stop(self, node: int) -> None:
        """Stop a node."""
        self._command(f"stop {node}")

    def start(self, node: int) -> None:
        """Start it again, at the same port, and wait until it has what it missed."""
        self._command(f"start {node}")
        deadline = time.monotonic() + START_SECONDS
        while set(self._states()) != {"active"} or len(set(self._sizes())) != 1:
            assert time.monotonic() < deadline, (self._states(), self._sizes())
            time.sleep(0.1)

    def _states(self) -> list[str]:
        query = {"action": "CLUSTERSTATUS", "collection": COLLECTION}
        answer = self._ask(0, "/admin/collections", query)["cluster"]
        replicas = answer["collections"][COLLECTION]["shards"]["shard1"]["replicas"].values()
        live = {one["node_name"] in answer["live_nodes"] for one in replicas}
        return [one["state"] for one in replicas] if live == {True} else ["down"]

    def _sizes(self) -> list[int]:
        """How many records each replica has; one that is new again is called active until it begins to recover."""
        query = {"q": "*:*", "rows": 0, "distrib": "false"}
        sizes = []
        for node in range(len(self.nodes)):
            for path, form in (("update", {"commit": "true"}), ("select", query)):
                answer = requests.post(
                    f"{self.nodes[node]}/{COLLECTION}/{path}", data={**form, "wt": "json"}, timeout=60
                )
                if not answer.ok:
                    return [-1, node]
            sizes.append(answer.json()["response"]["numFound"])
        return sizes

    def page(
        self, node: int = 0, rows: int = 1000, collection: str = COLLECTION, **filters: Any
    ) -> list[dict[str, Any]]:
        """What the *Access* page shows, the latest first; it asks as `SolrUtil.searchResources` does."""
        self._ask(node, f"/{collection}/update", {"commit": "true"})
        query = {"q": "*:*", "fq": list(_filters(filters)), "sort": "evtTime desc", "start": 0, "rows": rows}
        found: list[dict[str, Any]] = self._ask(node, f"/{collection}/select", query)["response"]["docs"]
        return found

    def _administer(self, node: int, **query: Any) -> None:
        self._ask(node, "/admin/collections", query)

    def _ask(self, node: int, path: str, form: Mapping[str, Any]) -> Any:
        answer = requests.post(self.nodes[node] + path, data={**form, "wt": "json"}, timeout=60)
        assert answer.ok, answer.text
        return answer.json()

    def _command(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._answer() == "done"

    def _answer(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        too_long = threading.Timer(START_SECONDS, self._process.kill)
        too_long.start()
        try:
            line = self._process.stdout.readline().strip()
        finally:
            too_long.cancel()
        log = self._directory / "solr.log"
        assert line, f"Solr has ended: {log.read_text(encoding='utf-8', errors='replace')[-4000:]}"
        return line


def _filters(filters: Mapping[str, Any]) -> Sequence[str]:
    return [f"{field}:{_escaped(value)}" for field, value in filters.items()]


def _escaped(value: Any) -> str:
    """A value as `SolrUtil.setField` sends it; one within `*` as `setFieldForPartialSearch` does."""
    text = str(value).lower()
    if len(text) > 2 and text[0] == text[-1] == "*":
        return f"*{_escaped(text[1:-1])}*"
    return _SPECIAL.sub(r"\\\g<0>", text.strip())
