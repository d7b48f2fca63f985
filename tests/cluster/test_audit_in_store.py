"""Audit records in a shared file system are read as those of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.config import StoreUrl
from tests.cluster.conftest import REAL, empty_directory, put
from tests.tools.cli.test_audit_report import REPORT, Run, files, run  # noqa: F401  (fixtures)

LEAST = ("policies", "lint", "--policies", "current.json,users.json", "--propose", "--json")
REPLAY = ("policies", "diff", "current.json", "new.json,users.json", "--json")


@pytest.mark.parametrize("name", REAL)
def test_an_audit_in_a_store_is_read_as_one_in_a_directory(
    request: pytest.FixtureRequest,
    name: str,
    files: Path,  # noqa: F811
    run: Run,  # noqa: F811
) -> None:
    request.param = name
    at = empty_directory(request, files)
    local = [path for path in sorted((files / "audit").rglob("*")) if path.is_file()]
    for path in local:
        put(at / str(path.relative_to(files / "audit")), path.read_bytes())
    put(at / ".hidden" / "x.log", "no record\n")
    put(at / "_SUCCESS", "no record\n")
    (file,) = local
    one = at / str(file.relative_to(files / "audit"))
    for words, option in ((REPORT[:2], ()), (LEAST, ("--audit",)), (REPLAY, ("--replay",))):
        rest = (*REPORT[3:], "--json") if words == REPORT[:2] else ()
        expected = run(*words, *option, "audit", *rest)
        assert expected.exit_code in (ExitCode.OK, ExitCode.NO), expected
        for place in (at, one):
            found = run(*words, *option, str(place), *rest)
            assert found.exit_code == expected.exit_code
            assert _without_time(found.stdout.replace(str(at), "audit")) == _without_time(expected.stdout)


def _without_time(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed)
    return {name: value for name, value in found.items() if name != "time"}


@pytest.mark.cluster
def test_an_audit_that_is_not_in_the_store(run: Run, s3: str) -> None:  # noqa: F811
    missing = StoreUrl(s3, uuid4().hex)
    assert "cannot be read" in run(*REPORT[:2], str(missing), *REPORT[3:]).stderr
