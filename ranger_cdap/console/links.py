"""Links of the console's pages: from each name to the question about it, and from a policy to Ranger's web UI."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
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
_KINDS: Final[Mapping[str | None, str]] = {
    "user": "user",
    "group": "group",
    "role": "role",
    "in": "group",
    "for": "user",
    "from": "user",
    "remove": "user",
    None: "user",
}
"""The kind of the names that follow a word of a sentence; None: at its beginning."""
_LONGEST: Final = 100
"""Characters of a name that is found in a sentence."""
_NAMED: Final = re.compile(
    rf"\bpolicy (?P<policy>\d+)|\b(?:{'|'.join(entity_types())}):[\w$.*/@-]*[\w$*/@-]"
    rf"|(?:\b(?P<word>user|group|role|in|for|from|remove) `?|(?P<next>, )|^)(?=(?P<names>.{{1,{_LONGEST}}}))",
    re.ASCII | re.DOTALL,
)
_END: Final = re.compile('(?=[ ,:;)"`])|$')


def about(kind: str, name: str) -> str:
    """Return the address of the question about a name: a user, a group, a role, a namespace or another entity."""
    view, field_name = _FIELDS.get(kind, (ConsoleView.WHO, "entity"))
    is_type = kind in entity_types() and kind not in _FIELDS
    return f"{PATHS[view]}?{urlencode({field_name: f'{kind}:{name}' if is_type else name})}"


@dataclass(frozen=True, slots=True)
class Links:
    """Links of one page: `base` is the address of Ranger's web UI, empty if there is none.

    `known` are the names that are linked in sentences, with their kinds: `user alice`, `group etl`, `role ops`.
    """

    base: str
    engine: PolicyEngine | None
    known: Collection[str] = ()
    _services: dict[int, dict[int, int]] = field(default_factory=dict)

    def policy(self, policy_id: int) -> str:
        """Return the URL of a policy, as in Ranger's React UI (2.4 on); empty if it is not known."""
        if self.engine is None or not self.base.startswith(("http://", "https://")):
            return ""
        known = remembered(self._services, policy_id, partial(self.engine.service_ids, (policy_id,)))
        service = known.get(policy_id)
        return "" if service is None else f"{self.base}/index.html#/service/{service}/policies/{policy_id}/edit"

    def linked(self, text: object) -> Markup:
        """Return a text of an answer, escaped, with links at its users, groups, roles, entities and policies."""
        shown, found, end, kind = str(text), Markup(), 0, ""
        for match in _NAMED.finditer(shown):
            names = match["names"]
            of_another_list = match["next"] and match.start() > end
            if match.start() < end or of_another_list:
                continue
            if not match["next"]:
                kind = "entity" if names is None else _KINDS[match["word"]]
            start = match.start() if names is None else match.end()
            name = match[0] if names is None else self._first(kind, names)
            address = self.policy(int(match["policy"])) if match["policy"] else name and about(kind, name)
            if address:
                found += escape(visible(shown[end:start], keep=""))
                found += Markup('<a href="{}" rel="noreferrer">{}</a>').format(address, visible(name, keep=""))
                end = start + len(name)
        return found + escape(visible(shown[end:], keep=""))

    def _first(self, kind: str, names: str) -> str:
        """Return the longest known name that a list begins with, empty if there is none."""
        ends = [one.start() for one in _END.finditer(names)]
        return next((names[:end] for end in reversed(ends) if f"{kind} {names[:end]}" in self.known), "")
