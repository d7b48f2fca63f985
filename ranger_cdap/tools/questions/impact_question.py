"""Two sets of policies to compare, as engines of one service and one type."""

from __future__ import annotations

from collections.abc import Sequence

from ranger_cdap.engine import ADMIN_ACCESS, EngineOptions, PolicyEngine
from ranger_cdap.errors import InvalidInput
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger.refresh.fixed import FixedPolicies


def compared_engine(documents: Documents, service: str) -> PolicyEngine:
    """Return the engine of one set; `service` is its service if it names none.

    Raises:
        PolicySetError: a document is unreadable or belongs to another service, or the engine rejects them.
    """
    options = EngineOptions(conditions=condition_factories(plugin_manager()))
    engine = FixedPolicies.of(documents, service=service, options=options).snapshot.engine
    assert engine is not None  # such a set is always compiled
    return engine


def refuse_unlike(old: str, before: PolicyEngine, new: str, after: PolicyEngine) -> None:
    """Refuse sets that cannot be compared; `old` and `new` name them, like "those of `old.json`".

    Raises:
        InvalidInput: they are of two services, or of two service types.
    """
    kinds = [
        ("of service", before.service_name, after.service_name),
        ("for the service type", before.service_def.name, after.service_def.name),
    ]
    for what, one, other in kinds:
        if one != other:
            raise InvalidInput(f"the policies cannot be compared: {old} are {what} `{one}`, {new} {what} `{other}`")


def compared_accesses(given: Sequence[str], *engines: PolicyEngine) -> tuple[str, ...]:
    """Return the access types that are compared; empty: all.

    Raises:
        InvalidInput: none of the sets has such an access type.
    """
    known = {access.name for engine in engines for access in engine.service_def.access_types} | {ADMIN_ACCESS}
    for name in given:
        if name not in known:
            raise InvalidInput(f"there is no access type `{name}`; there are {', '.join(sorted(known))}")
    return tuple(given)
