"""The first threads of a process may read downloads at the same moment."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIRST_READERS = """
import json, sys, threading
from ranger_cdap.ranger_model import decode
from servicedef import service_definition

document = json.dumps({"serviceName": "s", "policies": [], "serviceDef": service_definition()}).encode()
policy = json.dumps({"name": "p", "policyItems": [{"users": ["alice"], "accesses": [{"type": "read"}]}]}).encode()
kinds = (decode.decode_service_policies, decode.decode_roles, decode.decode_service_tags, decode.decode_user_store)
together = threading.Barrier(8)
sys.setswitchinterval(1e-6)

def read():
    together.wait()
    for kind in kinds:
        kind(document)
    decode.decode_policy(policy)

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("attempt", range(8))
def test_threads_that_read_first_do_not_end_the_process(attempt: int) -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_READERS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
