"""Requirements in answers: every id has a sentence, and a person never reads an id without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.authz.answer_documents import as_document
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.profile import Profile, load_profile, parse_privilege, profile_names
from ranger_cdap.cdap.requirements import (
    load_requirements,
    requirement_sentences,
    requirements_of,
    with_sentence,
)
from ranger_cdap.cli.main import main
from tests.cdap.fixtures import entity_of

SENTENCES = requirement_sentences()
ASKS = load_requirements().asks
PROFILES = [load_profile(name) for name in profile_names()]
DEFAULT = load_profile("default")


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
@pytest.mark.parametrize("command", ["check", "needs"])
def test_no_answer_shows_an_id_without_its_sentence(
    command: str, operation: str, policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = DEFAULT.rows[operation]
    arguments = ["--why", "--policies", str(policies)] if command == "check" else []
    assert main([command, "ann", operation, str(entity_of(row.entity)), *arguments]) in (0, 2)
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    shown = {name for name in SENTENCES if f"{name}:" in out}
    assert shown <= set(row.requirements)
    assert shown == set(row.requirements) or command == "needs"
    for name in row.requirements:
        assert (" ".join(with_sentence(name).split()) in out) is (name in shown)
        assert out.count(name) == out.count(f"{name}:")


# Who may need a privilege, by the person of the row and the conditions.
CAPACITIES = {
    "requesting": ["requesting"],
    "effective": ["requesting", "impersonated"],
    "executing": ["master", "impersonated"],
    "master": ["master"],
}


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_every_privilege_has_ids_of_its_own_and_every_id_a_privilege(profile: Profile) -> None:
    for row in (*profile.rows.values(), *profile.core.values()):
        needed = [
            (privilege, capacity)
            for alternative in row.alternatives
            for privilege in alternative
            for capacity in CAPACITIES[privilege.person]
            if capacity != "requesting"
            or privilege.person == "requesting"
            or "impersonated" not in privilege.conditions
        ]
        owned = {name for privilege, capacity in needed for name in requirements_of(row, privilege, capacity)}
        if len(row.requirements) > 1:
            # An id that asks for nothing shows up only where no id asks for the privilege.
            beside = replace(row, requirements=(*row.requirements, "S000-R1"))
            for privilege, capacity in needed:
                assert "S000-R1" not in requirements_of(beside, privilege, capacity), (row.name, str(privilege))
        about_what_is_given = {name for name in row.requirements if ASKS.get(name) == []}
        assert set(row.requirements) - about_what_is_given == owned, row.name


# Privileges of rows that several ids share: the row, the privilege, the capacity, the ids that ask for it.
OWN_IDS = [
    ("dataset.create", "WRITE namespace", "requesting", "S003-dataset-create"),
    ("dataset.create", "ADMIN entity", "requesting", "S004-R4"),
    ("dataset_module.get", "READ namespace", "requesting", "S003-CORE-5"),
    ("application.deploy", "WRITE namespace", "requesting", "S003-application-deploy"),
    ("application.deploy", "READ artifact if given", "requesting", "S003-application-deploy"),
    ("application.deploy", "READ|WRITE|ADMIN|EXECUTE artifact", "requesting", "S004-DEPLOY-2"),
    ("application.deploy", "ADMIN datasets by effective if given", "requesting", "S004-DEPLOY-N1"),
    ("application.deploy", "ADMIN datasets by effective if given", "impersonated", "S004-DEPLOY-I1"),
    ("application.start_pipeline", "READ namespace", "requesting", "S003-program-start-stop-debug"),
    ("program.start", "WRITE local_datasets by executing if given", "master", "S004-EXEC-E4"),
    ("namespace.enable_wrangler", "READ datasets by executing", "master", "S004-WR-N2"),
    ("namespace.enable_wrangler", "READ datasets by executing", "impersonated", "S004-WR-I1"),
]


@pytest.mark.parametrize(("operation", "privilege", "capacity", "requirement"), OWN_IDS)
def test_a_privilege_names_only_the_ids_that_ask_for_it(
    operation: str, privilege: str, capacity: str, requirement: str
) -> None:
    row = DEFAULT.operation(operation)
    parsed = parse_privilege(privilege)
    assert any(parsed in alternative for alternative in row.alternatives)
    assert requirements_of(row, parsed, capacity) == (requirement,)


@pytest.mark.parametrize(("option", "operation"), [("view_details", "dataset.get"), ("list_by_parent", "dataset.list")])
def test_a_privilege_that_an_option_changed_keeps_its_ids(option: str, operation: str) -> None:
    row = Options(**{option: True}).applied_to(DEFAULT.operation(operation))
    assert {requirements_of(row, row.alternatives[0][0], "requesting")} == {row.requirements}
