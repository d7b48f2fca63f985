"""An impact as the reports that CI servers read: SARIF for code scanning, JUnit XML for tests."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ranger_cdap.analysis.expected_changes import ChangedRow
from ranger_cdap.cli.files import read_file
from ranger_cdap.cli.impact_formats import ImpactReport, on_one_line
from ranger_cdap.cli.junit import ReportedCase, junit_report
from ranger_cdap.policies.manage.policy_directory import SERVICE_FILE
from ranger_cdap.policies.manage.strict_text import YAML_SUFFIXES, parse_text
from ranger_cdap.policies.manage.transfer import Json, policy_key
from ranger_cdap.questions.impact_text import headline, notes

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_FILE: Final = "ranger"
"""Place of a row where both sets come from Ranger."""
_RULES: Final[Mapping[tuple[bool, bool], tuple[str, str]]] = {
    (True, True): ("access-gained", "A change of policies adds access"),
    (False, True): ("access-lost", "A change of policies removes access"),
    (True, False): ("access-may-be-gained", "A change of policies may add access"),
    (False, False): ("access-may-be-lost", "A change of policies may remove access"),
}
"""Rules by whether access is gained, and whether that is certain."""
_HELP: Final = "Narrow the policy, or add the change to the file of `--allow` if it is expected."


def junit(report: ImpactReport) -> str:
    """Return a case for each row; those fail that `--fail-on` forbids, without it all that are not expected."""
    cases = [_case(one, report) for one in report.rows] or [ReportedCase("no access changes")]
    return junit_report("policies impact", cases, failure_type="access").decode("utf-8")


def _case(one: ChangedRow, report: ImpactReport) -> ReportedCase:
    name = headline(one)
    if not (report.fails(one) if report.fail_on else one.expected_by is None):
        return ReportedCase(name)
    return ReportedCase(name, (f"{name}, by {one.row.by}", "\n".join((f"by {one.row.by}", *notes(one)))))


def sarif(report: ImpactReport) -> str:
    """Return the rows that no entry expects, as a log of SARIF 2.1.0; those that `--fail-on` forbids are errors."""
    rows = [one for one in report.rows if one.expected_by is None]
    files, seen = _PolicyPlaces(report), Counter[str]()
    results: list[Json] = []
    for one in rows:
        digest = fingerprint(one)
        seen[digest] += 1
        results.append(
            {
                "ruleId": _rule(one)[0],
                "level": "error" if report.fails(one) else "warning",
                "message": {"text": on_one_line(f"{headline(one)}, by {one.row.by}") + "".join(_sentences(one))},
                "locations": [{"physicalLocation": _location(files.of(one))}],
                # The name is the one that GitHub's code scanning compares.
                "partialFingerprints": {"primaryLocationLineHash": f"{digest}:{seen[digest]}"},
            }
        )
    rules = [_rule_document(*rule) for rule in _RULES.values()]
    driver = {"name": "ranger-cdap", "version": version("ranger-cdap"), "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def fingerprint(one: ChangedRow) -> str:
    """Return what identifies a row between runs: not ids and numbers, which other changes move."""
    row = one.row
    levels = [(name, level.values, level.excludes) for name, level in zip(row.path, row.levels, strict=True)]
    policy = row.policy_name or row.policy_id
    content = [_rule(one)[0], row.zone, policy, row.tag, row.who, row.accesses, levels, row.conditions]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _rule_document(name: str, text: str) -> Json:
    texts = {"shortDescription": f"{text}.", "fullDescription": f"{text}. {_HELP}", "help": _HELP}
    return {"id": name, **{member: {"text": text} for member, text in texts.items()}}


def _rule(one: ChangedRow) -> tuple[str, str]:
    return _RULES[one.gained, bool(one.row.witnesses)]


def _sentences(one: ChangedRow) -> Iterator[str]:
    return (f"; {on_one_line(text)}" for text in notes(one))


def _location(path: Path | None) -> Json:
    """Return a location; a file outside of the working directory is named by its whole path."""
    whole, here = (path or Path(_NO_FILE)).absolute(), Path.cwd()
    uri = quote(whole.relative_to(here).as_posix()) if whole.is_relative_to(here) else whole.as_uri()
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}


class _PolicyPlaces:
    """Files in which rows are shown: the policy's own in NEW, else in OLD, if they are directories; else NEW or OLD."""

    def __init__(self, report: ImpactReport) -> None:
        paths = [source for source in (report.new, report.old) if isinstance(source, Path)]
        wholes = [next(iter(sorted(path.glob(f"{SERVICE_FILE}.*"))), path) if path.is_dir() else path for path in paths]
        self._fallback = next(iter(wholes), None)
        self._files = [_policy_files(path) for path in paths if path.is_dir()]

    def of(self, one: ChangedRow) -> Path | None:
        """Return the file of a row's policy; the source as a whole if it has no file of its own."""
        key = (bool(one.row.tag), "" if one.row.tag else one.row.zone, one.row.policy_name)
        found = (files[key] for files in self._files if key in files)
        return next(found, self._fallback)


def _policy_files(root: Path) -> dict[tuple[bool, str, str], Path]:
    """Return the files of a directory of policies by whether they are of tags, zone and name."""
    found: dict[tuple[bool, str, str], Path] = {}
    for path in sorted(root.rglob("*")):
        folder, *names = path.relative_to(root).parts
        is_hidden = any(part.startswith(".") for part in (folder, *names))
        if is_hidden or not names or path.suffix.lower() not in {".json", *YAML_SUFFIXES}:
            continue
        is_tag = folder == "tags"
        zone, name = policy_key(parse_text(read_file(path), path.suffix))
        found.setdefault((is_tag, "" if is_tag else zone, name), path)
    return found
