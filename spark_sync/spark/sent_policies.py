"""`SentPolicies`: policies that Spark's driver sends to its executors, where each process compiles them once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.ranger.refresh.documents import Documents, compile_set, pieces


@dataclass(frozen=True, slots=True)
class SentPolicies:
    """Policies in one piece and without the user store; `digest` identifies them.

    `conditions` are the classes of conditions of the driver's plugins.
    """

    service: str
    documents: Documents = field(compare=False)
    conditions: frozenset[str]
    digest: bytes

    @classmethod
    def of(cls, service: str, documents: Documents, conditions: frozenset[str]) -> Self:
        """Return what is sent of these documents."""
        sent = Documents(b"".join(pieces(documents.policies)), documents.roles, documents.tags)
        digest = hashlib.sha256(service.encode())
        for content in (*pieces(sent.policies), sent.roles, sent.tags or b""):
            digest.update(len(content).to_bytes(8))
            digest.update(content)
        return cls(service, sent, conditions, digest.digest())


@lru_cache(maxsize=1)
def compiled(sent: SentPolicies) -> PolicyEngine:
    """Return the policies compiled by this process, which keeps the last ones.

    Raises:
        PluginError: this process has other plugins than the one that loaded the policies.
    """
    makers = condition_factories(plugin_manager())
    if differing := sent.conditions ^ frozenset(makers):
        names = ", ".join(f"`{name}`" for name in sorted(differing))
        raise PluginError(f"Spark's executors and its driver differ in their plugins: conditions {names}")
    return compile_set(sent.documents, sent.service, EngineOptions(conditions=makers)).engine
