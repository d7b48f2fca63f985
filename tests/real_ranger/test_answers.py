"""Answers of Ranger Admin to bodies and questions: a table of a real one's, and drawn bodies sent to both servers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.real_ranger.conftest import REAL, make_finance
from tests.real_ranger.drawn_bodies import drawn_row
from tests.real_ranger.estate import PASSWORD, V2, Address, Estate
from tests.real_ranger.ui_forms import POLICIES, ROLES, ZONES

Json = dict[str, Any]
ANSWERS: list[Json] = json.loads((Path(__file__).parents[1] / "data" / "ranger-answers.json").read_text("utf-8"))
"""`T` stands for the name of the service, `T_…` for other names of the flow, `{"x": 9}` for nine times `x`."""

BODIES: dict[str, tuple[str, Json]] = {
    "policy": (
        POLICIES,
        {
            "service": "T",
            "name": "new",
            "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["n9"]}},
            "policyItems": [{"users": ["T_alice"], "accesses": [{"type": "read"}]}],
        },
    ),
    "zone": (
        ZONES,
        {
            "name": "T_new",
            "services": {"T": {"resources": [{"instance": ["cdap"], "namespace": ["x*"]}]}},
            "adminUsers": ["T_alice"],
            "auditUsers": ["T_alice"],
        },
    ),
    "role": (ROLES, {"name": "T_new", "users": [{"name": "T_alice"}]}),
}


def named(estate: Estate, value: Any) -> Any:
    """The value with the flow's own names and with long texts."""
    if isinstance(value, str):
        return estate.token + value[1:] if value == "T" or value.startswith("T_") else value
    if isinstance(value, dict) and len(value) == 1 and isinstance(count := next(iter(value.values())), int):
        return next(iter(value)) * count if not isinstance(count, bool) else value
    if isinstance(value, dict):
        return {named(estate, name): named(estate, inner) for name, inner in value.items()}
    return [named(estate, inner) for inner in value] if isinstance(value, list) else value


def ask(estate: Estate, row: Json) -> tuple[int, Any]:
    """Ask what a row asks, and remove what it made."""
    by = named(estate, row.get("by", ""))
    if "get" in row:
        return estate.ask(
            "GET", row["get"].replace("=T_", f"={estate.token}_").replace("/T_", f"/{estate.token}_"), by=by
        )
    if "put" in row:
        service = estate.done("GET", f"{V2}/service/name/{estate.service}")
        return estate.ask("PUT", f"{V2}/service/{service['id']}", service | named(estate, row["with"]), by=by)
    path, body = BODIES[row["post"]]
    status, answer = estate.ask("POST", path, named(estate, body | row["with"]), by=by)
    if status == 200:
        estate.done("DELETE", f"{path}/{answer['id']}")
    return status, answer


def differences(estate: Estate, row: Json) -> list[Any]:
    """What the server answers otherwise than the table says."""
    status, answer = ask(estate, row)
    fields = answer if isinstance(answer, dict) else {}
    text = fields.get("msgDesc") or ""
    texts = [
        part.replace("T_", f"{estate.token}_").replace("[T]", f"[{estate.token}]") for part in row.get("texts", ())
    ]
    found = [part for part in texts if part not in text]
    found += [text] if found else []
    if (status, row.get("code")) != (row["status"], fields.get("statusCode") if "code" in row else None):
        found.append((status, answer))
    wanted = named(estate, row.get("has", {}))
    return found + [(name, fields.get(name)) for name in wanted if fields.get(name) != wanted[name]]


def test_ranger_answers_as_the_table_says(estate: Estate, finance: str) -> None:
    estate.user("alice", "crew")
    found = {row["row"]: wrong for row in ANSWERS if (wrong := differences(estate, row))}
    assert found == {}


DRAWN = 360
"""Bodies; a real server answers about ten a second."""


@pytest.mark.parametrize("address", [REAL], indirect=True)
def test_drawn_bodies_are_answered_alike(estate: Estate, finance: str, tmp_path: Path) -> None:
    """Law: of each body that the grammar draws, both servers answer the same status, code, rules and kind of text."""
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        ours = Estate(Address(server.url, "admin", PASSWORD), tmp_path / "ours")
        ours.directory.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RANGER_CDAP_SETUP_PASSWORD", PASSWORD.reveal())
            make_finance(ours)
        for one in (estate, ours):
            one.user("alice", "crew")
            one.done("POST", ROLES, named(one, {"name": "T_role", "users": [{"name": "T_alice"}]}))
        found = {}
        for seed in range(DRAWN):
            row = drawn_row(Random(seed))
            if (theirs := kind_of(estate, ask(estate, row))) != (here := kind_of(ours, ask(ours, row))):
                found[seed] = (row, theirs, here)
        ours.clean()
    import pathlib

    pathlib.Path("/tmp/found.txt").write_text(
        "\n".join(f"{k} {v[0]}\n   R {v[1]}\n   E {v[2]}" for k, v in found.items())
        if found and isinstance(next(iter(found.values())), tuple)
        else ""
    )
    assert found == {}


def kind_of(estate: Estate, answered: tuple[int, Any]) -> tuple[Any, ...]:
    """Status, code, rules and text of an answer, without names, numbers and orders; of an SQL exception its reason."""
    status, answer = answered
    if status == 200:
        return (200,)
    fields = answer if isinstance(answer, dict) else {}
    text = (fields.get("msgDesc") or "").replace(estate.token, "T")
    text = re.sub(r"policy='[^']*'", "policy=N", text)
    sql = re.search(r"ERROR: [^\n]*", text)
    rules = sorted(set(re.findall(r"error code\[(\d+)\], reason\[([^\[\]]*)", text)))
    plain = "" if rules else sql[0] if sql else re.sub(r"'?\d+'?|name: .*? (?=does not)", "N", text)
    return status, fields.get("statusCode"), rules, plain
