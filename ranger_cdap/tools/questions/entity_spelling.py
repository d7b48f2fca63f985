"""Resources of rows as CDAP's entities, spelled as every command takes them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import product

from ranger_cdap.cdap.entity import entity_types
from ranger_cdap.cdap.pattern import STAR, entity_pattern
from ranger_cdap.engine.view import Path
from ranger_cdap.errors import InvalidEntity
from ranger_cdap.ranger.setup.setup_policies import EVERY_NAME
from ranger_cdap.tools.analysis.row_text import LevelText, Spelling, resource_text


def entity_spelling(instance: str) -> Spelling:
    """Return the spelling of resources for questions about this instance: `dataset:ns1.sales*`."""
    return partial(_spelled, instance)


def _spelled(instance: str, path: Path, levels: Sequence[LevelText]) -> str:
    """Return the entities or patterns of a resource, as many as a level has values.

    A resource that is more or less than these stays as the analysis writes it: of another instance or several, with
    excluded values, with several values on several levels, with `?` (apart from `?*`, every name), a macro or
    characters that CDAP has in no name, and of another service, whose definition has other levels.
    """
    kind = entity_types().get(path[-1]) if path else None
    several = sum(len(level.values) > 1 for level in levels)
    plain = several <= 1 and not any(level.excludes for level in levels)
    if kind is not None and kind.path == path and levels[0] == LevelText((instance,)) and plain:
        values = [[STAR if value == EVERY_NAME else value for value in level.values] for level in levels[1:]]
        with suppress(InvalidEntity):
            return ", ".join(str(entity_pattern(kind.name, parts)) for parts in product(*values))
    return resource_text(path, levels)
