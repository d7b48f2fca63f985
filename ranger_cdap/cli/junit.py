"""Results of expectations, and the report that CI servers read (JUnit XML)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

from ranger_cdap.cli.expectation_file import Expectation
from ranger_cdap.questions.display import visible

# XML cannot represent these, not even escaped.
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """The answer to an expectation, and its reason."""

    expectation: Expectation
    allowed: bool
    why: str
    policy_ids: tuple[int, ...]

    @property
    def met(self) -> bool:
        """True if the answer is the expected one."""
        return self.allowed == self.expectation.allowed

    def __str__(self) -> str:
        note = f" ({self.expectation.note})" if self.expectation.note else ""
        return " ".join(f"{self.expectation.number}. {self.expectation}: {self.difference}{note}".split())

    @property
    def difference(self) -> str:
        """The expected answer and the actual one."""
        return f"expected {_word(self.expectation.allowed)}, is {_word(self.allowed)}: {self.why}"


@dataclass(frozen=True, slots=True)
class ReportedCase:
    """A case of a report; with a `failure`, its message and its text, one that failed."""

    name: str
    failure: tuple[str, str] | None = None


def as_junit(name: str, outcomes: Sequence[ExpectationResult]) -> bytes:
    """Return the report: a case per expectation, a failure for each that is not met."""
    cases = [
        ReportedCase(
            f"{one.expectation.number}. {one.expectation}: {_word(one.expectation.allowed)}",
            None if one.met else (one.difference, str(one)),
        )
        for one in outcomes
    ]
    return junit_report(name, cases, failure_type="expectation")


def junit_report(name: str, cases: Sequence[ReportedCase], *, failure_type: str) -> bytes:
    """Return a report of one suite; text that XML cannot have is escaped."""
    failures = str(sum(case.failure is not None for case in cases))
    counts = {"tests": str(len(cases)), "failures": failures, "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": _text(name), "skipped": "0", **counts})
    for case in cases:
        element = ET.SubElement(suite, "testcase", {"classname": _text(name), "name": _text(case.name), "time": "0"})
        if case.failure is not None:
            message, text = case.failure
            failure = ET.SubElement(element, "failure", {"type": failure_type, "message": _text(message)})
            failure.text = _text(text)
    report: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return report


def _word(allowed: bool) -> str:
    return "allowed" if allowed else "denied"


def _text(text: str) -> str:
    return _NOT_XML.sub(lambda found: visible(found[0]), text)
