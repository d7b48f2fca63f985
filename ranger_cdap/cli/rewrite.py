"""`ranger-cdap policies rewrite`: policies of the Java predecessor, as Ranger 2.9 needs them."""

from __future__ import annotations

from pathlib import Path

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.export import wanted_policies
from ranger_cdap.cli.files import read_collection, usable, write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.policies.manage.excluded_levels import rewrite
from ranger_cdap.policies.manage.strict_text import write_json


@click.command(
    "rewrite",
    cls=Command,
    examples=(
        "ranger-cdap policies rewrite before.json",
        "ranger-cdap policies rewrite before.json --out after.json",
    ),
    exits={
        ExitCode.OK: "every policy matches something now, or did before",
        ExitCode.NO: "some policies match nothing and must be rewritten by hand",
    },
)
@wanted_policies
@click.option("--out", type=FILE, metavar="FILE", help="Write all policies, rewritten, to a file.")
@pass_invocation
@click.pass_context
def rewrite_command(context: click.Context, invocation: Invocation, path: Path, out: Path | None) -> None:
    """Let policies of the Java predecessor end at the level that they mean, without lower ones that exclude everything.

    A policy on a namespace that excludes `*` as application and as program means the namespace alone, and matches
    nothing in Ranger 2.9. Nothing else changes, and nothing is written without --out. Two policies that then have the
    same resource become one, because Ranger accepts one.

    PATH is a directory of policies, an export or a download.
    """
    with usable(path):
        found = rewrite(read_collection(path))
    if out is not None:
        write_file(out, write_json(found.collection.document()))
    document = {
        "rewritten": [
            {"policy": o.name, "ends_at": o.ends_at, "dropped": o.dropped, "merged_into": o.merged_into or None}
            for o in found.done
        ],
        "left": [{"policy": one.name, "reason": one.reason} for one in found.left],
    }
    nothing = "nothing to do: no policy has a level that excludes everything"
    invocation.show(document, (*found.done, *found.left) or (nothing,))
    context.exit(ExitCode.NO if found.left else ExitCode.OK)
