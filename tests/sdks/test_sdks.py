"""Clients in TypeScript and Go, generated from the OpenAPI document: they compile, and get the service's decisions."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from ranger_cdap.service.api.openapi import document
from ranger_cdap.service.table import ROUTES
from tests.service.fixtures import READ_AND_WRITE, basic, serving

HERE = Path(__file__).parent
SECONDS = 400


@dataclass(frozen=True)
class Language:
    """A program, the commands that generate and compile its client, and a field that it names wrongly."""

    folder: str
    tool: str
    program: str
    generate: Sequence[Sequence[str]]
    compile: Sequence[str]
    run: Sequence[str]
    right: str
    wrong: str


_GENERATOR = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
LANGUAGES = {
    "TypeScript": Language(
        "typescript",
        "npm",
        "ask.ts",
        [
            ["npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit"],
            ["node_modules/.bin/openapi-typescript", "openapi.json", "--default-non-nullable", "false",
             "-o", "decisions.ts"],
        ],
        ["node_modules/.bin/tsc"],
        ["node", "ask.js"],
        "data.allowed",
        "data.permitted",
    ),
    "Go": Language(
        "go",
        "go",
        "ask.go",
        [
            ["mkdir", "decisions"],
            ["go", "tool", _GENERATOR, "-generate", "types,client", "-package", "decisions",
             "-o", "decisions/decisions.go", "openapi.json"],
        ],
        ["go", "build", "-mod=readonly", "-o", "ask", "."],
        ["./ask"],
        "JSON200.Allowed",
        "JSON200.Permitted",
    ),
}  # fmt: skip


def done(folder: Path, command: Sequence[str], environ: Mapping[str, str] = os.environ) -> tuple[int, str]:
    ended = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.sdks
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_generated_client_compiles_and_gets_the_decisions(name: str, tmp_path: Path) -> None:
    language = LANGUAGES[name]
    if shutil.which(language.tool) is None:
        pytest.skip(f"needs {language.tool}")
    folder = tmp_path / language.folder
    shutil.copytree(HERE / language.folder, folder)
    (folder / "openapi.json").write_bytes(msgspec.json.encode(document(ROUTES)))
    for command in (*language.generate, language.compile):
        code, said = done(folder, command)
        assert code == 0, said
    with serving(READ_AND_WRITE, tmp_path / "service") as world:
        environ = os.environ | {"URL": world.url, "AUTHORIZATION": basic("delegate")}
        assert done(folder, language.run, environ) == (0, "alice true\nmallory false\n")

    program = folder / language.program
    program.write_text(program.read_text().replace(language.right, language.wrong))
    code, said = done(folder, language.compile)
    assert code != 0
    assert "ermitted" in said
