"""The file of `policies impact --allow`: changes of access that are expected, as TOML, read and written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from ranger_cdap.analysis.expected_changes import ChangedRow, ExpectedChange
from ranger_cdap.analysis.report import ImpactRow
from ranger_cdap.analysis.wording import LevelText
from ranger_cdap.cli.files import read_file
from ranger_cdap.engine import ADMIN_ACCESS, PolicyEngine
from ranger_cdap.engine.compiled.matcher import has_expression
from ranger_cdap.errors import InvalidInput, reason
from ranger_cdap.questions.display import visible

LARGEST: Final = 16 << 20
_ALONE: Final = ("everyone", "any user", "the owner")
_KINDS: Final = ("user ", "group ", "role ")
_WRITTEN_AS: Final = {"group public": "everyone", "user {USER}": "any user", "user {OWNER}": "the owner"}
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Texts = Annotated[list[_Text], msgspec.Meta(min_length=1)]


class _Except(msgspec.Struct, forbid_unknown_fields=True, rename={"values": "not"}):
    """All values of a level but these."""

    values: _Texts


class _Allow(msgspec.Struct, forbid_unknown_fields=True):
    """A table of the file, as written."""

    who: _Texts
    access: _Texts
    where: dict[str, _Text | _Texts | _Except]
    change: Literal["gained", "lost"] = "gained"
    policy: _Text | int | None = None
    until: date | None = None
    may: bool = False
    reason: str = ""


def read_expected_changes(path: Path, engines: Sequence[PolicyEngine]) -> tuple[ExpectedChange, ...]:
    """Return the entries of a file, in order; one invalid entry rejects the file.

    Raises:
        InvalidInput: the file cannot be read, or an entry is invalid or names what neither set of policies has.
    """
    content = read_file(path)
    if len(content) > LARGEST:
        raise InvalidInput(
            f"`{path}` is larger than {LARGEST >> 20} MB; remove the entries that are reported as unused"
        )
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as e:
        raise InvalidInput(f"`{path}` is not a TOML file: {reason(e)}") from None
    except (ValueError, RecursionError) as e:
        raise InvalidInput(f"`{path}` is not a TOML file: {_one_line(e)}") from None
    if unknown := [name for name in table if name != "allow"]:
        raise InvalidInput(f"`{path}` has an unknown key `{unknown[0]}`; expected changes are written as `[[allow]]`")
    entries = table.get("allow", [])
    if not isinstance(entries, list):
        raise InvalidInput(f"`{path}` has one table `[allow]`; write each expected change as `[[allow]]`")
    found: list[ExpectedChange] = []
    for number, given in enumerate(entries, 1):
        try:
            found.append(_entry(number, given, engines))
        except (msgspec.ValidationError, InvalidInput) as e:
            raise InvalidInput(f"`{path}`, entry {number}: {_one_line(e)}") from None
    return tuple(found)


def _entry(number: int, given: object, engines: Sequence[PolicyEngine]) -> ExpectedChange:
    if isinstance(given, dict) and isinstance(given.get("until"), datetime):
        raise InvalidInput("`until` is a time; write the last day alone, as 2026-12-31")
    written = msgspec.convert(given, _Allow)
    where = {name: _level(level) for name, level in written.where.items()}
    known = dict.fromkeys(a.name for engine in engines for a in engine.service_def.access_types)
    for access in written.access:
        if access not in (*known, ADMIN_ACCESS):
            raise InvalidInput(f"there is no access type `{access}`; there are {', '.join((*known, ADMIN_ACCESS))}")
    for text in written.who:
        _require_principal(text)
    paths = dict.fromkeys(((), *(path for engine in engines for path in engine.state.model.paths.values())))
    if not any(where.keys() == set(path) for path in paths):
        names = ", ".join(dict.fromkeys(name for path in paths for name in path))
        raise InvalidInput(
            f"`where` names the levels `{', '.join(where)}`, which are no kind of resource: name each level from the "
            f"root down; there are {names}"
        )
    for name, level in where.items():
        for options in (engine.state.model.levels.get(name) for engine in engines):
            if options is not None and has_expression(level.values, options):
                raise InvalidInput(f"`where.{name}` has an expression `${{{{…}}}}`, which cannot be compared")
    return ExpectedChange(
        number,
        written.change == "gained",
        tuple(written.who),
        tuple(written.access),
        where,
        written.policy,
        written.until,
        written.may,
        written.reason,
    )


def _level(written: str | list[str] | _Except) -> LevelText:
    if isinstance(written, _Except):
        return LevelText(tuple(written.values), excludes=True)
    return LevelText((written,) if isinstance(written, str) else tuple(written))


def _require_principal(text: str) -> None:
    if text in _WRITTEN_AS:
        raise InvalidInput(f"`{text}` is written as `{_WRITTEN_AS[text]}`")
    if text not in _ALONE and not any(text.startswith(kind) and text != kind for kind in _KINDS):
        raise InvalidInput(
            f"`who` names `{text}`; write `user NAME`, `group NAME`, `role NAME`, {', '.join(f'`{a}`' for a in _ALONE)}"
        )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def written_entries(rows: Iterable[ChangedRow]) -> bytes:
    """Return a file whose entries cover these rows, and no other places or people."""
    return "\n".join(_written(one.row, "gained" if one.gained else "lost") for one in rows).encode("utf-8")


def _written(row: ImpactRow, change: str) -> str:
    levels = (f"{_toml_key(name)} = {_toml_level(level)}" for name, level in zip(row.path, row.levels, strict=True))
    policy = (
        "" if row.policy_id is None else f"policy = {_toml(row.policy_name) if row.policy_name else row.policy_id}\n"
    )
    conditions = f"# only if {visible(' and '.join(row.conditions), keep='')}\n" if row.conditions else ""
    return (
        f"{conditions}[[allow]]\n"
        f'change = "{change}"\n'
        f"who = [{', '.join(map(_toml, row.who))}]\n"
        f"access = [{', '.join(map(_toml, row.accesses))}]\n"
        f"where = {{ {', '.join(levels)} }}\n"
        f"{policy}"
        f"{'' if row.witnesses else 'may = true' + chr(10)}"
        'reason = ""\n'
    )


def _toml_level(level: LevelText) -> str:
    listed = f"[{', '.join(map(_toml, level.values))}]"
    return f"{{ not = {listed} }}" if level.excludes else listed


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _toml(name)


def _toml(text: str) -> str:
    """Return a text as a basic string of TOML, whose escapes are those of JSON; DEL must be escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
