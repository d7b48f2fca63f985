"""`AppState`: the state that the handlers of one decision service share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, Metric

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.checks.checks import Unknown
from ranger_cdap.config import Settings
from ranger_cdap.service.decisions.policy_generation import PolicyGeneration
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.events.events import Events
from ranger_cdap.service.grants.grant_forwarder import GrantForwarder
from ranger_cdap.service.grants.role_forwarder import RoleForwarder
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.metrics import ServiceMetrics, gauge, state_metrics
from ranger_cdap.service.state.handshake import SettingsDrift

if TYPE_CHECKING:
    from ranger_cdap.telemetry.sdk import Telemetry


@dataclass(frozen=True, slots=True)
class AppState:
    """Ranger services by name (CDAP's first), CDAP's enforcer over the first, and the counters."""

    settings: Settings
    authorizer: Authorizer
    enforcer: AccessEnforcer
    services: Mapping[str, RangerService]
    metrics: ServiceMetrics
    events: Events | None
    grant_forwarder: GrantForwarder | None
    role_forwarder: RoleForwarder | None
    telemetry: Telemetry | None
    generation: PolicyGeneration = field(default_factory=PolicyGeneration)
    limits: ServiceLimits = ServiceLimits()  # noqa: RUF009 - immutable
    settings_drift: SettingsDrift = field(default_factory=SettingsDrift)

    def pending(self, answers: Iterable[Answer]) -> str:
        """Return the sentence to add to a denial about an entity that the denied user created recently."""
        return self.events.creations.pending_grant(answers) if self.events is not None else ""

    def reason(self, reason: str, answers: Iterable[Answer]) -> str:
        """Return the reason of these answers, and the pending grants."""
        return "; ".join(filter(None, (reason, self.pending(answers))))

    def close(self) -> None:
        """Publish the stored events, stop the refreshes, deliver the audit records, then the spans still to be sent."""
        if self.events is not None:
            self.events.store.close()
        if self.grant_forwarder is not None:
            self.grant_forwarder.close()
        for service in self.services.values():
            service.refresher.close()
        self.authorizer.close()
        if self.telemetry is not None:
            self.telemetry.close()

    def read_metrics(self) -> Iterable[Metric]:
        """Yield the metrics that are read on demand."""
        snapshots = {service.name: service.snapshot for service in self.services.values()}
        for name, snapshot in snapshots.items():
            yield from state_metrics(name, snapshot)
        loaded = sum(snapshot.state.decides for snapshot in snapshots.values())
        yield gauge("ranger_pdp_loaded_services_count", "Services with usable policies.", loaded)
        unknown = CounterMetricFamily(
            "ranger_cdap_unknown_checks", "Checks with an unknown element, by kind.", labels=["what"]
        )
        counted = self.enforcer.unknown
        for what in Unknown:  # zeros too: a counter that starts above zero shows no increase
            unknown.add_metric([what.value], counted.get(what, 0))
        yield unknown
        audit = next(iter(self.services.values())).audit
        yield CounterMetricFamily("ranger_cdap_audit_lost", "Audit records dropped.", value=audit.lost)
        yield CounterMetricFamily(
            "ranger_cdap_audit_refused",
            "Audit records that could not be written; their operations were denied.",
            value=audit.refused,
        )
        if self.events is not None:
            yield gauge(
                "ranger_cdap_checks_open", "Allowed creations whose end is not known.", len(self.events.journal.open)
            )
            yield gauge(
                "ranger_cdap_journal_age_seconds",
                "Seconds since the watermark of records and journalled checks; NaN without one.",
                self.events.store.age,
            )
        enforcement = self.authorizer.decider.config.enforcement
        mode = "all" if enforcement.everything else enforcement.outside.value
        yield gauge(
            "ranger_cdap_enforced",
            "1 if every operation is enforced, 0 if some are only reported or denied.",
            enforcement.everything,
            mode=mode,
        )
