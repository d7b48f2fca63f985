"""Names and periods of Ranger's audit files, as `MiscUtil.replaceTokens` and `RollingTimeUtil` have them. Pure.

Law: whatever the tokens stand for, a path is below the directory it is relative to, and no two files have one path.

Times are in UTC, where Ranger takes the zone of its JVM.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Self

import msgspec

from ranger_cdap.errors import ConfigError

RANDOM_DIGITS: Final = 12
"""Digits that end the number of a file; those before are the milliseconds since 1970 when it was begun."""

_TOKEN: Final = re.compile(r"%([^%]*)%")
_LITERAL: Final = re.compile(r"[A-Za-z0-9._=@+,/-]*")
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]|^\.+")
_LONGEST_VALUE: Final = 100
_RUN: Final = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PERIOD: Final = re.compile(r"([1-9][0-9]{0,8})([smhdwMy])")

# Letters of Java's SimpleDateFormat that stand for numbers.
_NUMBERS: Final[Mapping[str, Callable[[datetime], int]]] = {
    "M": lambda t: t.month,
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "H": lambda t: t.hour,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "S": lambda t: t.microsecond // 1000,
}
_MONTH_AS_TEXT: Final = 3
_YEAR_IN_TWO_DIGITS: Final = 2


class FileNumber(msgspec.Struct, frozen=True):
    """A file that is begun: its number, which no other has, and the host that began it."""

    number: str
    host: str

    @property
    def begun(self) -> datetime:
        """The time when it was begun."""
        return _EPOCH + timedelta(milliseconds=int(self.number[:-RANDOM_DIGITS]))


class FileLayout(msgspec.Struct, frozen=True):
    """Paths of audit files, below a directory: a folder and the name of a file, with tokens."""

    folder: str
    file: str

    @classmethod
    def of(cls, folder: str, file: str, variables: Mapping[str, str], application: str) -> Self:
        """Return the layout of the settings; what stays the same for all files is filled in.

        Raises:
            ConfigError: a token is unknown, or a text is no relative path or no name of a file.
        """
        for name, text in (("audit.hdfs_subdir", folder), ("audit.hdfs_filename_format", file)):
            _check_text(name, text)
        if "/" in file or not file:
            raise ConfigError(f"`audit.hdfs_filename_format` must be the name of a file, without `/`, not {file!a}")
        constant = {"app-type": application, **{f"env:{name}": value for name, value in variables.items()}}
        made = cls(_filled(folder.strip("/"), constant), _filled(file, constant))
        if {".", ".."} & set(made.path(FileNumber("0" * (RANDOM_DIGITS + 1), "host")).split("/")):
            raise ConfigError(f"`audit.hdfs_subdir` must not have a time of dots only: {folder[:100]!a}")
        return made

    def path(self, of: FileNumber) -> str:
        """Return the path of a file; its number is before the last dot, where Ranger puts `.1`, `.2` and so on."""
        values = {"hostname": of.host, "jvm-instance": of.number}
        folder, file = (_dated(_filled(text, values), of.begun) for text in (self.folder, self.file))
        stem, dot, ending = file.rpartition(".")
        numbered = f"{stem}.{of.number}{dot}{ending}" if dot else f"{file}.{of.number}"
        return "/".join(filter(None, (folder, numbered)))


class Rollover(msgspec.Struct, frozen=True):
    """Period after which a file is complete, like `1h`; all but seconds end at the top of their unit."""

    amount: int
    unit: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the period of a setting.

        Raises:
            ConfigError: it is none.
        """
        found = _PERIOD.fullmatch(text)
        if found is None:
            raise ConfigError(
                f"`audit.hdfs_rollover` must be a number and a unit, like `30s`, `10m`, `1h`, `1d`, `1w`, `1M` or "
                f"`1y`, not {text[:100]!a}"
            )
        return cls(int(found[1]), found[2])

    def end(self, begun: datetime) -> datetime:
        """Return when a file that was begun then is complete; the end of all times if the calendar has no such day."""
        top = begun.replace(microsecond=0) if self.unit != "s" else begun
        try:
            return _ENDS[self.unit](top, self.amount)
        except (OverflowError, ValueError):
            return datetime.max.replace(tzinfo=UTC)


def _months_later(begun: datetime, months: int) -> datetime:
    years, month = divmod(begun.month - 1 + months, 12)
    return _midnight(begun).replace(year=begun.year + years, month=month + 1, day=1)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0)


_ENDS: Final[Mapping[str, Callable[[datetime, int], datetime]]] = {
    "s": lambda begun, n: begun + timedelta(seconds=n),
    "m": lambda begun, n: begun.replace(second=0) + timedelta(minutes=n),
    "h": lambda begun, n: begun.replace(minute=0, second=0) + timedelta(hours=n),
    "d": lambda begun, n: _midnight(begun) + timedelta(days=n),
    "w": lambda begun, n: _midnight(begun) - timedelta(days=begun.weekday()) + timedelta(weeks=n),
    "M": _months_later,
    "y": lambda begun, n: _months_later(begun.replace(month=1), 12 * n),
}


def _check_text(setting: str, text: str) -> None:
    literal = _TOKEN.sub("", text)
    if not _LITERAL.fullmatch(literal):
        raise ConfigError(
            f"`{setting}` may have letters, digits, `._=@+,-` and tokens like `%hostname%` only, not {text[:100]!a}"
        )
    if any(part in ("", ".", "..") for part in text.strip("/").split("/")) and text.strip("/"):
        raise ConfigError(f"`{setting}` must not have `.`, `..` or nothing between two `/`: {text[:100]!a}")
    for token in _TOKEN.findall(text):
        if token.startswith("time:"):
            for _ in _in_java_format(token.removeprefix("time:"), _EPOCH):
                pass
        elif token.startswith("property:"):
            raise ConfigError(f"`{setting}` has `%{token}%`, a property of a JVM; use `%env:NAME%`")
        elif token not in ("app-type", "hostname", "jvm-instance") and not token.startswith("env:"):
            raise ConfigError(
                f"`{setting}` has the unknown token `%{token[:100]}%`; known are `%app-type%`, `%hostname%`, "
                "`%time:yyyyMMdd%`, `%env:NAME%` and `%jvm-instance%`"
            )


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Replace the tokens that have a value; a value cannot begin with a dot, be empty or name another folder.

    A variable that is not set stands for `unknown`.
    """

    def value(found: re.Match[str]) -> str:
        token = found[1]
        if token in values:
            return _NOT_IN_A_NAME.sub("_", values[token][:_LONGEST_VALUE]) or "unknown"
        return "unknown" if token.startswith("env:") else found[0]

    return _TOKEN.sub(value, text)


def _dated(text: str, moment: datetime) -> str:
    return _TOKEN.sub(lambda found: "".join(_in_java_format(found[1].removeprefix("time:"), moment)), text)


def _in_java_format(form: str, moment: datetime) -> Iterator[str]:
    """Yield the pieces of a time in a format of Java's `SimpleDateFormat`.

    Raises:
        ConfigError: it has a letter that stands for something else than a number, or is no part of a path.
    """
    end = 0
    for found in _RUN.finditer(form):
        if found.start() != end:
            break
        end = found.end()
        letter, width = found[2], len(found[0])
        if letter == "y":
            yield f"{moment.year % 100:02}" if width == _YEAR_IN_TWO_DIGITS else f"{moment.year:0{width}}"
        elif letter in _NUMBERS and not (letter == "M" and width >= _MONTH_AS_TEXT):
            yield f"{_NUMBERS[letter](moment):0{width}}"
        elif letter is None and re.fullmatch(r"[A-Za-z0-9._=@+,-]*", literal := found[1] or found[0].strip("'")):
            yield literal
        else:
            end = -1
            break
    if end != len(form) or not form:
        raise ConfigError(
            f"`%time:{form[:100]}%` is no time in numbers; use the letters y, M, d, D, H, m, s, S and `-` or `_`"
        )
