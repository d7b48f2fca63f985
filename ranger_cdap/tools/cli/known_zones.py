"""The security zones that policies come with, for those that a command proposes."""

from __future__ import annotations

from typing import Final

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.policy_files import PolicyFiles
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.tools.analysis.policy_zones import PolicyZones

_UNKNOWN: Final = (
    "note: no security zones are known here, and a policy outside zones has no effect on an entity in one;"
    " `--policies ranger:` takes those of Ranger, `FILE,zones.json` those of a file"
)


def known_zones(invocation: Invocation, files: PolicyFiles | None, engine: PolicyEngine | None) -> PolicyZones | None:
    """Return the zones of policies; None, with a note, if they may have others: there are no policies, or only files.

    Whatever is denied because a zone is unreadable is said.
    """
    view, say = engine.view if engine else None, invocation.messages.print
    if view is None or not view.policies.zones_known or not (view.zones or files is None or files.path is None):
        say(_UNKNOWN)
        return None
    for issue in view.zone_table.issues:
        say(f"warning: {issue.place}: {issue.message}")
    return PolicyZones(view.model, view.zone_table)
