"""What is tested without HTTP: our definition, a policy changed by Ranger's field names, and policies of any kind."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from ranger_cdap.testing.admin.model.documents import AdminPolicy, AdminServiceDef
from ranger_cdap.testing.admin.rules.definitions import complete
from servicedef import service_definition
from tests.testing.admin import caller as embedded_caller

OURS = complete(msgspec.convert(service_definition(), AdminServiceDef))
ALICE_READS = {"users": ["alice"], "accesses": [{"type": "read"}]}


def policy(**fields: Any) -> AdminPolicy:
    """A policy that breaks no rule, changed by Ranger's field names."""
    return msgspec.convert({**embedded_caller.policy(), **fields}, AdminPolicy)


USERS = st.sampled_from(["alice", "bob", "carol"])
TYPES = st.lists(st.sampled_from(["read", "write", "admin"]), max_size=3, unique=True)
ITEMS = st.lists(
    st.builds(
        lambda users, types, delegate: {
            "users": users,
            "accesses": [{"type": name} for name in types],
            "delegateAdmin": delegate,
        },
        st.lists(USERS, min_size=1, max_size=3),
        TYPES,
        st.booleans(),
    ),
    max_size=3,
)
POLICIES = st.builds(
    lambda a, d, x, y: policy(policyItems=a, denyPolicyItems=d, allowExceptions=x, denyExceptions=y),
    ITEMS,
    ITEMS,
    ITEMS,
    ITEMS,
)
