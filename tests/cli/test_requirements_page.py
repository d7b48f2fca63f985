"""`docs/reference/requirements.md` is made from the data, and every id that anything names is on it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.cdap.requirements import DocumentRow, load_requirements, parse_needs

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "reference" / "requirements.md"
REQUIREMENTS = load_requirements()
IDS = [one for section in REQUIREMENTS.sections().values() for one in section]
DOCUMENTS = REQUIREMENTS.documents
ON_THE_PAGE = re.findall(r"^\| `([^`]+)` \| ", FILE.read_text(encoding="utf-8"), re.MULTILINE)

# An id of the documents, as code, data and pages write it.
ID = re.compile(r"\bS00[0-4]-[A-Za-z0-9_.-]*[A-Za-z0-9]|\bX-[a-z]+(?:-[a-z]+)*\b|\bD(?:[1-9]|1\d|2[0-2])\b")
# Elsewhere `X-` begins the names of HTTP headers, and `D1` is a rule of ruff.
PLACES = ("ranger_cdap/cdap", "tests/cdap", "docs/reference/operations.md")


def named_in(text: str) -> set[str]:
    return set(ID.findall(text))


def test_every_id_is_on_the_page_once() -> None:
    assert sorted(ON_THE_PAGE) == sorted(IDS)
    assert len(ON_THE_PAGE) == len(set(ON_THE_PAGE)) == 483


def test_every_id_has_a_sentence() -> None:
    sentences = [said for section in REQUIREMENTS.sections().values() for said in section.values()]
    assert [said for said in sentences if not re.fullmatch(r"[A-Z0-9].*[.?)]", said)] == []


def test_every_id_that_code_data_or_pages_name_is_on_the_page() -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PLACES]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in files if (ROOT / name).is_file()]

    named = set().union(*map(named_in, texts))

    assert len(named) > 400
    assert named - set(ON_THE_PAGE) == set()


def test_an_id_that_is_not_in_the_documents_is_found() -> None:
    assert named_in("as S003-C1.2.1 says, S003-namespace-rename, D23, X-nothing") - set(ON_THE_PAGE) == {
        "S003-namespace-rename",
        "X-nothing",
    }


@pytest.mark.parametrize("name", profile_names())
def test_every_row_of_a_profile_names_ids_of_the_documents(name: str) -> None:
    profile = load_profile(name)
    named = {one for row in (*profile.rows.values(), *profile.core.values()) for one in row.requirements}
    assert named
    assert named <= set(IDS)


@pytest.mark.parametrize(("number", "key"), [(number, key) for number, one in DOCUMENTS.items() for key in one.rows])
def test_a_row_reads_as_privileges(number: str, key: str) -> None:
    row = DOCUMENTS[number].rows[key]
    for needs in filter(None, (row.needs, row.was)):
        assert all(actions and target for actions, target in parse_needs(needs))
    assert row.gives in ("", "ALL", "ADMIN")


def test_what_a_sentence_says_of_a_row() -> None:
    row = DOCUMENTS["000"].rows["program-list"]
    assert row == DocumentRow(
        "READ application", was="READ|WRITE|ADMIN|ALL application", note="which part was removed is a guess"
    )
    said = REQUIREMENTS.sections()["000"]["S000-program-list"]
    assert said == "Listing programs needs READ on the application."
    before = r"before: `READ\|WRITE\|ADMIN\|ALL application`; which part was removed is a guess"
    assert f"| `S000-program-list` | `READ application` | {before} |" in FILE.read_text(encoding="utf-8")
