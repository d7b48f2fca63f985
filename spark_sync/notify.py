"""Notifications of decision services by the sync job: after changes in Ranger, logged once per change of state."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from spark_sync.notification import NotifyResult, check_notify, notify

__all__ = ["NotifyLog", "NotifyResult", "check_notify", "notify"]

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class NotifyLog:
    """Log of notifications over several runs: a problem when it begins or changes, and its end."""

    _problems: dict[int, str] = field(default_factory=dict)

    def add(self, results: Iterable[NotifyResult]) -> None:
        """Log the differences from the results before; none if nothing was sent."""
        for position, result in enumerate(results):
            before, now = self._problems.get(position, ""), str(result) if result.problem else ""
            self._problems[position] = now
            if now and now != before:
                logger.warning("changed grants count at the next poll of a decision service only: %s", now)
            elif before and not now:
                logger.warning("the decision service at `%s` is notified again", result.url)
