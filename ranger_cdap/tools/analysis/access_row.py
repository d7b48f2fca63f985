"""One row of access, or of a change of access: who, which access types, where, by which item of which policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ranger_cdap.engine.view import Path
from ranger_cdap.ranger_model.policy import policy_text
from ranger_cdap.tools.analysis.example_request import ExampleRequest
from ranger_cdap.tools.analysis.row_text import SIDES, LevelText


class AccessRow(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"side": "list", "exceptions": "except", "doubts": "undecided"},  # Ranger's word, and those of the text
):
    """Access that an item gives on one resource, or takes away where it is not `gained`.

    Access is the change from no policies at all. `policy_id` is None for super users; `item` is None for them and for a
    policy that denies all else. The access is on `resource`, whose values are `levels`: that of the item or, where
    `item_resource` is given, a part of it. `whole` is true if the item covers all resources asked about, apart from the
    exceptions; `partial` if `levels` also have requests that do not change. A row with `doubts` could not be decided;
    any other has an example for each access type. `times` counts the recorded requests of a replay.
    """

    gained: bool
    policy_id: int | None
    policy_name: str = ""
    side: str = ""
    item: int | None = None
    tag: str = ""
    zone: str = ""
    who: tuple[str, ...]
    accesses: tuple[str, ...]
    path: Path
    levels: tuple[LevelText, ...]
    resource: str
    item_resource: str = ""
    whole: bool = False
    partial: bool = False
    conditions: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    examples: Mapping[str, ExampleRequest]
    times: int = 0

    @property
    def by(self) -> str:
        """The policy and item, as a person finds them in Ranger."""
        if self.policy_id is None:
            return "super users of the service configuration"
        where = f", which is on {self.item_resource}" if self.item_resource else ""
        return item_text(self.policy_id, self.policy_name, self.side, self.item, (self.tag,), self.zone) + where


def item_text(policy_id: int, policy_name: str, side: str, item: int | None, tags: Iterable[str], zone: str) -> str:
    """Return `policy 7 "readers", deny item 2, by the tag PII, in zone finance`."""
    what = "deny all else" if item is None else f"{SIDES[side]} item {item}"
    by_tags = "".join(f", by the tag {tag}" for tag in tags if tag)
    return f"{policy_text(policy_id, policy_name)}, {what}{by_tags}{f', in zone {zone}' if zone else ''}"
