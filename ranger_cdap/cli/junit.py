"""Results of expectations, and the report that CI servers read (JUnit XML)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

from ranger_cdap.cli.expectation_file import Expectation
from ranger_cdap.cli.invocation import visible

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


def as_junit(name: str, outcomes: Sequence[ExpectationResult]) -> bytes:
    """Return the report: a case per expectation, a failure for each that is not met."""
    failures = str(sum(not outcome.met for outcome in outcomes))
    counts = {"tests": str(len(outcomes)), "failures": failures, "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": _text(name), "skipped": "0", **counts})
    for outcome in outcomes:
        asked = outcome.expectation
        word = _word(asked.allowed)
        case = {"classname": _text(name), "name": _text(f"{asked.number}. {asked}: {word}"), "time": "0"}
        element = ET.SubElement(suite, "testcase", case)
        if not outcome.met:
            failure = ET.SubElement(element, "failure", {"type": "expectation", "message": _text(outcome.difference)})
            failure.text = _text(str(outcome))
    report: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return report


def _word(allowed: bool) -> str:
    return "allowed" if allowed else "denied"


def _text(text: str) -> str:
    return _NOT_XML.sub(lambda found: visible(found[0]), text)
