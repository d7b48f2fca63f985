"""Files of any bytes where policies, or what accompanies them, are expected.

Law: there is an answer or one error of one sentence, and the same bytes always give the same; policies that are read
decide, or are refused as a whole; a stranger is allowed nothing.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_file import accompanying, policies_of, zones_of
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.tag import ServiceTags
from tests.engine.fixtures import SAFE
from tests.fuzz.harness import QUIET, drive, spoiled, torn

STRANGER: Final = AccessRequest({"instance": "cdap", "namespace": "ns1"}, "read", user="f4a9-nobody")
LEVELS: Final = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}}
READERS: Final = [{"users": ["alice"], "accesses": [{"type": "read"}]}]
POLICY: Final = {
    "id": 4,
    "name": "p",
    "service": "s",
    "serviceType": "cdap",
    "resources": LEVELS,
    "policyItems": READERS,
}
ZONES: Final = [{"name": "z", "services": {"s": {"resources": [{"namespace": ["ns1"]}]}}, "tagServices": ["t"]}]
DOCUMENTS: Final[tuple[Any, ...]] = (
    POLICY,
    [POLICY, {**POLICY, "name": "q", "zoneName": "z"}],
    {"policies": [POLICY, {**POLICY, "name": "h", "service": "h", "serviceType": "hive"}]},
    {"serviceName": "s", "serviceDef": {"name": "t"}, "policies": [POLICY]},
    {"service": {"service": "s", "type": "cdap", "zones": {}}, "policies": [POLICY], "tagPolicies": []},
    ZONES,
    {"securityZones": ZONES},
    {"serviceName": "s", "tagVersion": 1, "isDelta": True, "tags": {}, "serviceResources": []},
    {"rangerRoles": [{"name": "r"}]},
    {"userGroupMapping": {"alice": ["etl"]}},
    {"statusCode": 1, "msgDesc": "denied"},
)


def _is_sentence(error: Exception) -> bool:
    said = str(error)
    return bool(said) and said == " ".join(said.split())


def _answer(read: Callable[[], Any]) -> Any:
    """Return what is read, or the error."""
    try:
        return read()
    except (InvalidInput, PolicySetError) as e:
        return e


def _engine_of(content: bytes, suffix: str, service: str) -> PolicyEngine:
    found = policies_of(content, suffix, service)
    if isinstance(found, PolicyCollection):
        assert not service or found.service.service in ("", service)
        found = found.download("s")
    return PolicyEngine.build(decode_service_policies(found), tags=ServiceTags(service_name="s"), options=SAFE)


@QUIET
@given(
    spoiled(DOCUMENTS) | st.sampled_from(DOCUMENTS).flatmap(lambda one: torn(json.dumps(one).encode("utf-16"))),
    st.sampled_from([".json", ".yaml", ""]),
    st.sampled_from(["", "s", "h"]),
    st.sampled_from([bytes, gzip.compress, lambda content: b"<html>" + content]),
)
def LAW(content: bytes, suffix: str, service: str, packed: Callable[[bytes], bytes]) -> None:  # noqa: N802
    """Hold the law for one file."""
    content = packed(content)
    found = _answer(lambda: _engine_of(content, suffix, service))
    if isinstance(found, PolicyEngine):
        assert not found.evaluate(STRANGER).allowed or "public" in repr(content) or "{USER}" in repr(content)
    else:
        assert str(_answer(lambda: _engine_of(content, suffix, service))) == str(found)
    more = (_answer(lambda: accompanying(content)), _answer(lambda: zones_of(content)))
    assert all(_is_sentence(one) for one in (found, *more) if isinstance(one, Exception)), (found, more)


if __name__ == "__main__":
    drive(LAW)
