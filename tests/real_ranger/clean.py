"""Remove from a Ranger Admin what interrupted flows left there: `make clean-ranger`.

A flow that runs at that time loses what it made.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.real_ranger.estate import LISTS, Address, Estate, address_of_environment

_TOKEN = re.compile(r"rcdap[0-9a-f]{8}(?=_|$)")


def remove_leftovers(address: Address) -> list[str]:
    """Remove all services, zones, roles, users, groups and tag types of flows, and return the flows' tokens.

    The service definition and the service `tag`, which have no name of a flow, stay.
    """
    estate = Estate(address, Path())
    names = [*(row["name"] for kind in LISTS for row in estate.listed(kind)), *estate.tag_types()]
    estate.admin.close()
    tokens = sorted({found[0] for found in map(_TOKEN.match, names) if found})
    for token in tokens:
        Estate(address, Path(), token).clean()
    return tokens


if __name__ == "__main__":
    removed = remove_leftovers(address_of_environment())
    sys.stdout.write("".join(f"removed all of flow {token}\n" for token in removed) or "nothing is left of a flow\n")
