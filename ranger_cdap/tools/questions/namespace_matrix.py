"""Matrix of a namespace: entities and people that its policies name, and those that the caller adds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.tools.questions.access_holders import members_of
from ranger_cdap.tools.questions.matrix import MOST_CELLS, Matrix, matrix
from ranger_cdap.tools.questions.matrix_names import named_entities, named_people


@dataclass(frozen=True, slots=True)
class NamespaceMatrix:
    """A matrix, the index of its policies, and the number of members of groups that were too many to show."""

    matrix: Matrix
    index: PolicyIndex
    left_out: int
    unknown: tuple[UnknownName, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what is not shown."""
        return (
            (f"note: the {self.left_out:,} members of the groups are too many columns; not shown",)
            if self.left_out
            else ()
        )


def namespace_matrix(
    authorizer: Authorizer,
    namespace: EntityId,
    *,
    entities: Iterable[EntityId] = (),
    users: Collection[str] = (),
    groups: Collection[str] = (),
    kinds: Iterable[str] = (),
    now: int,
    progress: Callable[[str], None] = lambda _: None,
) -> NamespaceMatrix:
    """Return the matrix of what policies about a namespace name, and of these entities, users and groups.

    Of the entities, those of the namespace are taken; of all, those of these types, if types are given.

    Raises:
        NotReady: there are no policies.
        InvalidInput: no such entity is known, or there are too many cells to read.
    """
    documents = authorizer.snapshot.documents
    if documents is None:
        raise NotReady(authorizer.snapshot.reason)
    index, wanted, there = PolicyIndex.of(documents), frozenset(kinds), tuple(entities)
    unknown = KnownNames.of(authorizer, index, there).unknown(users, groups, [namespace])
    known = named_entities(index, namespace) | {entity for entity in there if entity.is_within(namespace)}
    shown = sorted((entity for entity in known if not wanted or entity.type in wanted), key=_order)
    if not shown:
        raise InvalidInput(
            f"nothing of type {' or '.join(sorted(wanted))} is known in `{namespace.parts[0]}`; give `--inventory`"
        )
    named_users, named_groups = named_people(index, namespace)
    among, within = named_users | set(users), named_groups | set(groups)
    others = set(members_of(documents, None if index.names_the_user else within))
    others |= {part for entity in shown for part in entity.parts} if index.names_the_user else set()
    others -= among
    left_out = len(others) if (1 + len(among) + len(within) + len(others)) * len(shown) > MOST_CELLS else 0
    found = matrix(
        authorizer,
        shown,
        among,
        within,
        others=() if left_out else others,
        index=index,
        now=now,
        progress=progress,
    )
    return NamespaceMatrix(found, index, left_out, unknown)


def _order(entity: EntityId | EntityPattern) -> tuple[bool, str, tuple[str, ...]]:
    """Return a sort key that puts the namespace first."""
    return entity.type != "namespace", entity.type, entity.parts
