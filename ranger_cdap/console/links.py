"""Links of the console's pages: from each name to the question about it, and from a policy to Ranger's web UI."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import urlencode

from markupsafe import Markup, escape

from ranger_cdap.cdap.entity import entity_types
from ranger_cdap.cli.display import visible
from ranger_cdap.console.forms import PATHS, ConsoleView
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.keyed import remembered

_FIELDS: Final = {
    "user": (ConsoleView.WHAT, "user"),
    "group": (ConsoleView.WHAT, "groups"),
    "role": (ConsoleView.WHAT, "role"),
    "namespace": (ConsoleView.MATRIX, "namespace"),
}
"""The view that answers the question about a name of a kind, and its field; those of entities are about holders."""
_NAMED: Final = re.compile(rf"\bpolicy (?P<policy>\d+)|\b(?:{'|'.join(entity_types())}):[\w$.*/@-]*[\w$*/@-]", re.ASCII)


def about(kind: str, name: str) -> str:
    """Return the address of the question about a name: a user, a group, a role, a namespace or another entity."""
    view, field_name = _FIELDS.get(kind, (ConsoleView.WHO, "entity"))
    is_type = kind in entity_types() and kind not in _FIELDS
    return f"{PATHS[view]}?{urlencode({field_name: f'{kind}:{name}' if is_type else name})}"


@dataclass(frozen=True, slots=True)
class Links:
    """Links of one page: `base` is the address of Ranger's web UI, empty if there is none."""

    base: str
    engine: PolicyEngine | None
    _services: dict[int, dict[int, int]] = field(default_factory=dict)

    def policy(self, policy_id: int) -> str:
        """Return the URL of a policy, as in Ranger's React UI (2.4 on); empty if it is not known."""
        if self.engine is None or not self.base.startswith(("http://", "https://")):
            return ""
        known = remembered(self._services, policy_id, partial(self.engine.service_ids, (policy_id,)))
        service = known.get(policy_id)
        return "" if service is None else f"{self.base}/index.html#/service/{service}/policies/{policy_id}/edit"

    def linked(self, text: object) -> Markup:
        """Return a text of an answer, escaped, with links at its entities and policies."""
        shown, found, end = str(text), Markup(), 0
        for match in _NAMED.finditer(shown):
            policy = match["policy"]
            address = self.policy(int(policy)) if policy else about("entity", match[0])
            found += escape(visible(shown[end : match.start()], keep=""))
            found += Markup('<a href="{}" rel="noreferrer">{}</a>').format(address, match[0]) if address else match[0]
            end = match.end()
        return found + escape(visible(shown[end:], keep=""))
