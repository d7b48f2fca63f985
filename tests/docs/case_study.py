"""The case study of the predecessor's README as data: its policies, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class StudyPolicy:
    """A policy of the study: its resource (`!` excludes), and what is meant where Ranger 2.9 matches nothing."""

    name: str
    user: str
    resource: str
    accesses: str
    meaning: str = ""

    @property
    def effective(self) -> str:
        return self.meaning or self.resource


CASE_STUDY: Final = (
    StudyPolicy("Alice the Impersonator", "alice", "principal=svc*", "admin"),
    StudyPolicy(
        "Alice the Name Spacer",
        "alice",
        "namespace=clicks,finance application=!* program=!*",
        "admin",
        meaning="namespace=clicks,finance",
    ),
    StudyPolicy(
        "Alice the Deployer",
        "alice",
        "namespace=clicks,finance application=?* program=!*",
        "admin",
        meaning="namespace=clicks,finance application=?*",
    ),
    StudyPolicy("Clicks Datasets", "svcclicks", "namespace=clicks dataset=*", "admin read write execute"),
    StudyPolicy("Alice the Runner", "alice", "namespace=clicks,finance application=* program=*", "admin execute"),
)


def levels(text: str) -> dict[str, dict[str, Any]]:
    """Return the levels of a policy as Ranger has them."""
    found: dict[str, dict[str, Any]] = {"instance": {"values": ["cdap"]}}
    for level, _, value in (part.partition("=") for part in text.split()):
        found[level] = {"values": value.lstrip("!").split(","), "isExcludes": value.startswith("!")}
    return found
