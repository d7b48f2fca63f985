"""The step of `setup` for the service definition: register it, add what is missing, switch look-up on or off (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ranger_cdap.ranger.changes.step import Step, StepChange
from servicedef import LOOKUP_CLASS, has_lookup, with_lookup

_PARTS: Final = ("resources", "accessTypes", "configs")
_TEXTS: Final = ("label", "description", "uiHint")
"""Texts of a row that Ranger's forms show. Not `validationRegEx`: it could refuse to save a policy that exists."""
_RESTART: Final = "restart Ranger Admin afterwards"


def definition_step(ours: dict[str, Any], theirs: dict[str, Any] | None, *, lookup: bool | None) -> Step:
    """Return the step from the registered definition `theirs` to `ours`; nothing that policies may use is dropped.

    `lookup`: whether names are looked up by the jar in Ranger Admin; None leaves that as it is.
    """
    if theirs is None:
        detail = f"{len(ours['resources'])} resources, 4 access types{', with look-up' if lookup else ''}"
        return _step(StepChange.CREATE, detail, with_lookup(ours) if lookup else ours)
    model = with_lookup(ours) if has_lookup(theirs) else ours
    lacking = {
        part: [row for row in model[part] if row["name"] not in {other["name"] for other in theirs.get(part, ())}]
        for part in _PARTS
    }
    ends = _missing_leaves(ours, theirs)
    grown = {**theirs, **{part: _appended(theirs.get(part, ()), rows) for part, rows in lacking.items()}}
    grown["resources"] = [{**row, "isValidLeaf": True} if row["name"] in ends else row for row in grown["resources"]]
    shown = {**grown, **{part: _with_texts(grown[part], ours[part]) for part in _PARTS}}
    wanted = _switched(ours, shown, lookup=lookup)
    names = [row["name"] for rows in lacking.values() for row in rows]
    parts = [
        f"add {', '.join(names)}" if names else "",
        f"let policies end at {', '.join(ends)}" if ends else "",
        "add the texts that Ranger's forms show" if shown != grown else "",
        _switch_text(theirs, lookup=bool(lookup)) if wanted != shown else "",
    ]
    if not any(parts):
        detail = f"nothing is missing{', look-up is on' if has_lookup(theirs) else ''}"
        return _step(StepChange.KEEP, detail, theirs)
    return _step(StepChange.UPDATE, "; ".join(filter(None, parts)), wanted)


def _step(change: StepChange, detail: str, wanted: dict[str, Any]) -> Step:
    return Step(change, "service definition", wanted["name"], detail, wanted=wanted)


def _switched(ours: dict[str, Any], grown: dict[str, Any], *, lookup: bool | None) -> dict[str, Any]:
    """Return the definition with look-up as wanted; the class of another project is replaced, but not switched off."""
    if lookup is None or (not lookup and not has_lookup(grown)):
        return grown
    switched = with_lookup(grown, on=lookup)
    if lookup:
        texts = {row["name"]: {key: row[key] for key in _TEXTS} for row in ours["configs"]}
        switched["configs"] = [{**row, **texts.get(row["name"], {})} for row in switched["configs"]]
    return switched


def _switch_text(theirs: dict[str, Any], *, lookup: bool) -> str:
    if not lookup:
        return f"switch look-up off; {_RESTART}"
    other = theirs.get("implClass") or LOOKUP_CLASS
    if has_lookup(theirs):
        return "complete the look-up"
    return f"switch look-up on{f' instead of `{other}`' if other != LOOKUP_CLASS else ''}; {_RESTART}"


def _with_texts(theirs: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return their rows with our texts where they have none; a text that people wrote stays."""
    texts = {row["name"]: {key: row[key] for key in _TEXTS if row.get(key)} for row in ours}
    return [
        {**row, **{key: text for key, text in texts.get(row["name"], {}).items() if not row.get(key)}} for row in theirs
    ]


def _missing_leaves(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Return the resources of their definition that are valid leaves in ours, but not in theirs."""
    ending = {row["name"] for row in ours["resources"] if row["isValidLeaf"]}
    return [row["name"] for row in theirs.get("resources", ()) if row["name"] in ending and not row.get("isValidLeaf")]


def _appended(theirs: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Append missing rows of ours with the next free item ids, because an id in use must keep its meaning."""
    last = max((row.get("itemId", 0) for row in theirs), default=0)
    return [*theirs, *({**row, "itemId": last + n} for n, row in enumerate(rows, 1))]
