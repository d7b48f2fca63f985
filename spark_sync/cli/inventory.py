"""`ranger-cdap sync inventory`: list the entities of CDAP."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Final

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.config import AddressSetting
from spark_sync.reconcile.inventory import take_inventory, write_inventory
from spark_sync.sources.cdap_http import CdapHttp

_URL: Final = AddressSetting("--url", "https://cdap.example:11015")


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap sync inventory --url https://cdap.example:11015 --token-file token --out inventory.jsonl",
        "ranger-cdap sync inventory --url http://127.0.0.1:11015 --programs --out inventory.jsonl",
    ),
)
@click.option("--url", metavar="URL", required=True, help="CDAP's router, like https://cdap.example:11015.")
@click.option("--out", "path", type=FILE, metavar="FILE", required=True, help="The file to write.")
@click.option("--token-file", type=FILE, metavar="FILE", help="A file that holds an access token of CDAP.")
@click.option(
    "--programs",
    is_flag=True,
    help="Include programs, for `ranger-cdap access --format parquet`; a baseline needs none.",
)
@pass_invocation
def inventory(
    invocation: Invocation,
    url: str,
    path: Path,
    token_file: Path | None,
    programs: bool,
) -> None:
    """List all entities in CDAP, for `sync baseline`.

    The account must be allowed to read everything: an entity it cannot see is not listed, and anyone who touches that
    entity first would become its creator.
    """
    network = invocation.settings.network
    with (
        invocation.messages.status("asking CDAP") as shown,
        CdapHttp(url, setting=_URL, network=network, token_file=token_file) as cdap,
    ):
        taken = take_inventory(
            cdap,
            instance=invocation.settings.cdap.instance,
            now=time.time_ns() // 1_000_000,
            programs=programs,
            progress=shown.update,
        )
    write_inventory(taken, path)
    counts = Counter(entity.type for entity in taken.entities)
    if invocation.as_json:
        invocation.print_json({"file": str(path), "taken": taken.taken, "entities": dict(sorted(counts.items()))})
        return
    invocation.print_table(["type", "entities"], [[name, str(count)] for name, count in sorted(counts.items())])
    invocation.console.print(
        f"`{path}` has {counts.total()} entities; next: ranger-cdap sync baseline --inventory {path}"
    )
