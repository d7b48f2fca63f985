"""Requirements in answers: every id has a sentence, and a person never reads an id without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.cdap.requirements import requirement_sentences, with_sentence
from ranger_cdap.cli.check import as_document
from ranger_cdap.cli.main import main

SENTENCES = requirement_sentences()
PROFILES = [load_profile(name) for name in profile_names()]
DEFAULT = load_profile("default")
NAMES = {"program": "workflow.W", "principal": "alice@EXAMPLE.COM"}


def entity_of(kind: str) -> EntityId:
    return EntityId(kind, tuple(NAMES.get(level, "ns1") for level in entity_types()[kind].path[1:]))


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policies") / "policies.json"
    document = {"serviceName": "cdapdev", "policyVersion": 1, "policies": []}
    path.write_bytes(msgspec.json.encode(document | {"serviceDef": servicedef.service_definition()}))
    return path


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_every_requirement_of_a_row_has_a_sentence(profile: Any) -> None:
    named = {name for row in (*profile.rows.values(), *profile.core.values()) for name in row.requirements}
    assert named
    assert named - set(SENTENCES) == set()


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        ("S003-dataset-get", "S003-dataset-get: Getting a dataset needs READ on the dataset."),
        ("S000-program-list", "S000-program-list: Listing programs needs READ on the application."),
        ("S003-application-add_metadata", "S003-application-add_metadata: Adding metadata to an application needs"),
        ("S002-dataset-create", "needs WRITE on the namespace; its creator gets ALL."),
        ("S001-program-start-stop-debug", "Starting, stopping or debugging a program needs EXECUTE on the program."),
        ("S003-CORE-2", "S003-CORE-2: Deleting an entity needs ADMIN on it."),
    ],
)
def test_a_sentence_states_the_requirement_without_its_history(requirement: str, text: str) -> None:
    assert text in with_sentence(requirement)


@given(operation=st.sampled_from(sorted(DEFAULT.rows)))
def test_an_answer_as_json_has_the_sentence_beside_each_id(operation: str, policies: Path) -> None:
    with Authorizer.from_policies(policies) as authorizer:
        answer = authorizer.explain("ann", (), operation, entity_of(DEFAULT.rows[operation].entity))
    document = as_document(answer)
    assert document["requirements"] == DEFAULT.rows[operation].requirements
    assert document["requirement_sentences"] == [SENTENCES[name] for name in answer.requirements]


@pytest.mark.parametrize("operation", sorted(DEFAULT.rows)[::7])
@pytest.mark.parametrize("command", ["explain", "plan"])
def test_no_answer_shows_an_id_without_its_sentence(
    command: str, operation: str, policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = DEFAULT.rows[operation]
    arguments = ["--policies", str(policies)] if command == "explain" else []
    assert main([command, "ann", operation, str(entity_of(row.entity)), *arguments]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for name in row.requirements:
        assert " ".join(with_sentence(name).split()) in out
        assert out.count(name) == out.count(f"{name}:")
