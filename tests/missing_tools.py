"""What a test may be skipped for: a tool or a variable that is missing, named in the reason. Nothing else skips a test.

So a clone with nothing beside it runs every test whose tools are installed.
"""

from __future__ import annotations

import re
from typing import Final

NAMES: Final = {
    "RANGER_CDAP_TESTED_WHEEL": "the wheel that `make test-wheel` has installed",
    "RANGER_CDAP_OTHER_SPARK": "a Python with another version of PySpark, which `make test-oldest-spark` has installed",
    "RANGER_SOURCE": "a checkout of apache/ranger",
    "RANGER_URL": "a real Ranger Admin",
    "make test-helm": "helm, which that command builds",
    "make test-cdap": "a real CDAP, which that command fetches",
    "make test-elasticsearch": "a real Elasticsearch and OpenSearch, which that command fetches",
    "make test-cluster": "HDFS and an S3 server, which that command fetches and builds",
    "make bundle": "the archive for YARN, which that command makes",
    "make test-kafka": "a real Kafka, which that command fetches",
    "make test-proxies": "HAProxy and nginx, which that command unpacks",
    "make test-solr": "a real Solr, which that command fetches",
    "could not import": "an optional dependency",
    "Java": "a Java runtime",
    "javap": "the JDK",
    "Maven": "Maven, to build what is not built yet",
    "slapd": "OpenLDAP's server, which `make setup` unpacks",
    "openssl": "the program that makes certificates",
    "bash": "the shell whose completion is tried",
    "Chromium": "the browser",
    "unshare": "Linux's namespaces",
    "Python without GIL": "a free-threaded Python",
    "Python of this version": "a Python that other users can run",
    "root": "being root, or not being root",
    "/proc": "Linux's process file system",
    "/dev/full": "Linux's full device",
}
"""Every tool and variable, with what it is."""

_NAMED = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in NAMES))


def names_a_missing_tool(reason: str) -> bool:
    """Whether the reason of a skip names something of the list."""
    return _NAMED.search(reason) is not None
