"""Options on profiles, from the discussions in the documents' comments; all are off by default."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ranger_cdap.cdap.profile import VISIBLE, Operation, Privilege

_SEEING = ("READ", "WRITE", "ADMIN")


@dataclass(frozen=True, slots=True)
class Options:
    """Variations of a profile's rows.

    `view_details`: WRITE or ADMIN on an entity also shows its details; its data always needs READ (S003-C3).
    `inherit`: READ, WRITE and ADMIN on a parent, up to the instance, count for the entities below it unless a policy
    decides there; never for lists (S003-C1.2.1).
    `list_by_parent`: one of READ, WRITE, ADMIN on the parent lists everything below it (S003-C1.1).
    `visible_only`: a list shows only entities on which, or below which, one has some privilege (S003-C1).
    `list_ancestors`: a list also shows entities that contain one that a list shows (S003-C1); it changes no row.
    """

    view_details: bool = False
    inherit: bool = False
    list_by_parent: bool = False
    visible_only: bool = False
    list_ancestors: bool = False

    def applied_to(self, row: Operation) -> Operation:
        """Return the row with these options applied (`inherit` and `list_ancestors` do not change rows)."""
        if self.view_details and row.shows == "details":
            row = _details_shown(row)
        if self.list_by_parent and row.lists:
            row = _listed_by_parent(row)
        if self.visible_only and row.lists == "parent":
            row = _filtered(row)
        return row


def _details_shown(row: Operation) -> Operation:
    return replace(row, alternatives=tuple(tuple(map(_widened, alternative)) for alternative in row.alternatives))


def _widened(privilege: Privilege) -> Privilege:
    """Widen READ on the entity itself; a privilege on its parent stays."""
    if privilege.target != "entity" or privilege.actions != ("READ",):
        return privilege
    return replace(privilege, actions=_SEEING)


def _listed_by_parent(row: Operation) -> Operation:
    """Require one of the three on the parent; a row that already lists by its parent keeps its targets."""
    if row.lists == "each":
        return replace(row, lists="parent", alternatives=((Privilege(_SEEING, "parent"),),))
    widened = tuple(tuple(replace(p, actions=_SEEING) for p in alternative) for alternative in row.alternatives)
    return replace(row, alternatives=widened)


def _filtered(row: Operation) -> Operation:
    seen = Privilege((VISIBLE,), "entity")
    return replace(row, lists="each", alternatives=tuple((*alternative, seen) for alternative in row.alternatives))
