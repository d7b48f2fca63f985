"""`start_telemetry`: the telemetry of this process, if the environment asks for it.

Law: without it no module of OpenTelemetry is loaded; and whatever is wrong with it is logged, never raised: a program
that decides does not depend on one that watches.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ranger_cdap.telemetry.choice import choice_of
from ranger_cdap.telemetry.sdk_log import shorten_sdk_log

if TYPE_CHECKING:
    from ranger_cdap.telemetry.sdk import Telemetry

logger = logging.getLogger(__name__)

INSTALL: Final = "pip install 'ranger-cdap[telemetry]'"


def start_telemetry(name: str, environment: Mapping[str, str] | None = None) -> Telemetry | None:
    """Return the telemetry of the service of that name; None if the environment asks for none, or it cannot be."""
    choice = choice_of(os.environ if environment is None else environment)
    telemetry, problems = None, list(choice.problems)
    if choice.any:
        try:
            from ranger_cdap.telemetry.sdk import Telemetry

            shorten_sdk_log()
            telemetry = Telemetry(name, choice)
        except ModuleNotFoundError as e:
            problems.append(f"`{e.name}` is not installed; install it with: {INSTALL}")
        except Exception as e:
            # Only the SDK's sentences about values are known to be without secrets.
            why = f": {e}" if type(e) is ValueError else ""
            problems.append(f"a value of an `OTEL_*` variable cannot be used ({type(e).__name__}{why})")
    for problem in problems:
        logger.warning("OpenTelemetry is asked for, and not all of it is sent: %s", problem)
    return telemetry
