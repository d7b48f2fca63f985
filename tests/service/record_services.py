"""Ranger services besides CDAP: `records` with a few policies, `things` without any, `people` with a data mask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger_model.decode import decode_service_policies

DATA = Path(__file__).parent / "data"


def _engine(document: dict[str, Any]) -> PolicyEngine:
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))


def records() -> PolicyEngine:
    return _engine(json.loads((DATA / "records.json").read_bytes()))


def things() -> PolicyEngine:
    definition = {"name": "thing", "resources": [{"name": "thing"}], "accessTypes": [{"name": "use"}]}
    return _engine({"serviceName": "things", "policyVersion": 1, "policies": [], "serviceDef": definition})


def people(*, masks: bool = True) -> PolicyEngine:
    person = {"name": "person"}
    definition = {
        "name": "person",
        "resources": [person],
        "accessTypes": [{"name": "see"}],
        "dataMaskDef": {"resources": [person]},
    }
    who = {"users": ["alice"], "accesses": [{"type": "see"}]}
    everybody = {"person": {"values": ["*"]}}
    mask = {
        "id": 2,
        "policyType": 1,
        "name": "names are hidden",
        "resources": everybody,
        "dataMaskPolicyItems": [who | {"dataMaskInfo": {"dataMaskType": "MASK"}}],
    }
    policies = [{"id": 1, "name": "who sees whom", "resources": everybody, "policyItems": [who]}, mask]
    shown = policies if masks else policies[:1]
    return _engine({"serviceName": "people", "policyVersion": 1, "policies": shown, "serviceDef": definition})
