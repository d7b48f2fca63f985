"""The page `docs/reference/operations.md`: every operation of every profile, from the data that decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pages import table
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.tools.cli.operations_text import OperationText, differing, lines
from tests.cdap.cdap_coverage import undecided

_HEAD = """\
An operation is allowed if every privilege of one alternative is held. A privilege is one of the actions (`READ|WRITE`:
one of the two) on an entity: the operation's own, one above it, by its type, or a related one: `artifact` (the source
of an application), `jar` (the artifact created from an uploaded jar), `principal` (the user CDAP impersonates),
`datasets`, `modules` and `types` (created or used by a deployment), and those that a running program reads, writes,
creates, uses locally or outside of CDAP. `by effective` is the impersonated user or else the requesting one, `by
executing` the impersonated user or else the CDAP master user. `if given`: only if there is such an entity; `if
impersonated`: only with impersonation. ALL is READ, WRITE, ADMIN and EXECUTE; the sync job grants it to creators.

`program:<namespace>.<application>.*` and other names with a star need policies that cover every such name. An exception
for some of the names is not visible here; it applies when CDAP checks that entity.
"""

_OPTIONS = (
    (
        "view_details",
        "S003-C3",
        "WRITE or ADMIN on an entity shows its details, too ({details}); its data needs READ always",
    ),
    (
        "inherit",
        "S003-C1.2.1",
        "READ, WRITE and ADMIN on a parent are inherited below it, unless a policy decides there, and never list;"
        " ADMIN on the instance then covers everything",
    ),
    ("list_by_parent", "S003-C1.1", "one of READ, WRITE and ADMIN on the parent lists everything below it"),
    ("visible_only", "S003-C1", "a list omits entities on which, and below which, the user has no privilege"),
    ("list_ancestors", "S003-C1", "a list also shows entities that contain one that the user may see"),
)

_UNDECIDED = """\
## Operations that CDAP's calls do not decide

CDAP 6.11 checks something coarser or something else (`approximated`), or nothing (`never asked`); a program that calls
`Authorizer` gets the answer of the row. In brackets: only for the entities in that role.
It follows from the tables and from the recorded calls of a CDAP 6.11.1, which tests compare.
"""

_COLUMNS = ("operation", "needs", "gives", "requirements", "remark")


def page() -> str:
    """Return the default profile, the differences of the others, and what CDAP does not ask."""
    default = load_profile("default")
    parts = [_HEAD, f"## Profile `default`: {default.title}\n", _operations(lines(default))]
    for profile in map(load_profile, profile_names()[1:]):
        parts += [f"## Profile `{profile.name}`: {profile.title}\n", "Differences from `default`:\n"]
        parts.append(_operations(differing(profile, default)))
    parts += ["## Options\n", "Settings of `[cdap]`, off by default; suggested in the comments on document 003.\n"]
    details = sorted({line.operation.rpartition(".")[2] for line in lines(default) if line.shows == "details"})
    rows = [(f"`{name}`", text.format(details=", ".join(details)), requirement) for name, requirement, text in _OPTIONS]
    parts.append(table(("setting", "effect", "requirement"), rows))
    parts += [_UNDECIDED, table(("operations", "CDAP 6.11", "reason"), _undecided())]
    return "\n".join(parts)


def _undecided() -> Iterator[tuple[str, str, str]]:
    """Yield the operations that CDAP's calls do not decide in some profile, by reason."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for one in undecided():
        operation, _, role = one.operation.partition("/")
        name = f"`{operation}`{f' ({role})' if role else ''}"
        found.setdefault((one.coverage, one.reason), {})[name] = None
    for (coverage, reason), names in found.items():
        yield ", ".join(names), coverage, reason


def _operations(rows: Iterable[OperationText]) -> str:
    return table(
        _COLUMNS,
        [
            (
                f"`{row.operation}`",
                "<br>or ".join(" & ".join(f"`{one}`" for one in alternative) for alternative in row.alternatives),
                row.given,
                ", ".join(row.requirements),
                row.remark,
            )
            for row in rows
        ],
    )
