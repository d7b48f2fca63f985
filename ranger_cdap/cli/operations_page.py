"""The page `docs/reference/operations.md`: every operation of every profile, made from the same data that decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ranger_cdap.cdap.acceptance import load_acceptance
from ranger_cdap.cdap.profile import Profile, load_profile, profile_names
from ranger_cdap.cli.operations_text import Line, differences, lines

_HEAD = """\
# What CDAP operations need

Made by `ranger-cdap operations --format markdown`; do not edit.

An operation is allowed if every privilege of one alternative is held. A privilege is one of the actions (`READ|WRITE`:
one of the two) on an entity: the operation's own or one above it, by its type, or what takes part: `artifact` (what an
application is deployed from), `jar` (the artifact an uploaded jar becomes), `principal` (whom CDAP impersonates),
`datasets`, `modules` and `types` (made or used on the way), and what a running program reads, writes, creates, uses
locally or outside of CDAP. `by effective` is the impersonated user or else who asks, `by executing` the impersonated
user or else the CDAP master user. `if given`: only if there is such an entity; `if impersonated`: only if CDAP
impersonates somebody. ALL is READ, WRITE, ADMIN and EXECUTE; who creates an entity gets it by the sync job.

`program:<namespace>.<application>.*` and other names with a star need policies that cover every such name. An exception
for some of the names is not seen here; it decides when CDAP asks about that very entity.
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
        "READ, WRITE and ADMIN on a parent count for what is below it, unless a policy decides there, and never list;"
        " who has ADMIN on the instance then has it on everything",
    ),
    ("list_by_parent", "S003-C1.1", "one of READ, WRITE and ADMIN on the parent lists everything below it"),
    ("visible_only", "S003-C1", "a list leaves out what one has no privilege on, nor on anything below it"),
)

_COLUMNS = ("operation", "needs", "gives", "requirements", "remark")


def page() -> str:
    """The whole page: the default profile, what the others ask otherwise, and what cannot be enforced."""
    default = load_profile("default")
    parts = [_HEAD, f"## Profile `default`: {default.title}\n", _table(lines(default))]
    for profile in map(load_profile, profile_names()[1:]):
        parts += [f"## Profile `{profile.name}`: {profile.title}\n", "Where it differs from `default`:\n"]
        parts.append(_table(line for _, line, _ in differences(profile, default) if line is not None))
    parts += ["## Options\n", "Settings of `[cdap]`, off unless set; what the comments on document 003 discuss.\n"]
    details = sorted({line.operation.rpartition(".")[2] for line in lines(default) if line.shows == "details"})
    told = [(f"`{name}`", text.format(details=", ".join(details)), requirement) for name, requirement, text in _OPTIONS]
    parts.append(_markdown(("setting", "what it does", "requirement"), told))
    parts.append("## What cannot be enforced\n")
    unasked = [(", ".join(one.ids), one.reason) for one in load_acceptance().not_enforceable]
    parts.append(_markdown(("requirements", "why"), unasked))
    return "\n".join(parts)


def section(profile: Profile, kind: str | None = None) -> str:
    """One profile, or what it says of one entity type."""
    return f"## Profile `{profile.name}`: {profile.title}\n\n{_table(lines(profile, kind))}"


def _table(rows: Iterable[Line]) -> str:
    return _markdown(
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


def _markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [columns, ["---"] * len(columns), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)
