"""JSON and YAML of files that people edit, read so that every reader sees the same value. Pure.

Law: a text has one value or is refused. Duplicate keys, aliases, tags, several documents, values without a meaning
common to all readers (YAML's `yes`, `1.0`, `2026-01-01`), nesting beyond `DEEPEST` and numbers beyond 64 bits are
refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import msgspec

from ranger_cdap.errors import InvalidInput, reason
from ranger_cdap.ranger_model.json_text import decode
from ranger_cdap.ranger_model.strict_json import DEEPEST, refuse_repeated

LARGEST: Final = 64 << 20
YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})

_WORDS: Final = {"true": True, "false": False}
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,18})")
# Texts that some reader of YAML, 1.1 or 1.2, takes for a number or a boolean, beyond those that PyYAML does.
_ELSEWHERE_NOT_TEXT: Final = re.compile(
    r"[-+]?(0o?[0-7]+|0x[0-9a-f]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)(e[-+]?[0-9]+)?)|y|n|[-+]?\.(inf|nan)", re.IGNORECASE
)
_OTHER_CONTENT: Final = (
    (rb"\s*\Z", "empty"),
    (rb"\xff\xfe|\xfe\xff|.?\0", "text in UTF-16; save it in UTF-8"),
    (rb"\xef\xbb\xbf", "text that begins with a byte order mark; save it without one"),
    (rb"\x1f\x8b|PK\x03\x04|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd", "compressed; unpack it"),
    (rb"(?i)\s*<(!doctype|html)", "a page of HTML, as a login page is; sign in for the download"),
    (rb"\s*<[^<]", "XML; ask for JSON"),
)
"""Beginnings of files that are no text of a person's, and what they are."""
_PLACE: Final = re.compile(r"\(byte ([0-9]+)\)")
_TEXT_TAG: Final = "tag:yaml.org,2002:str"


def other_content(content: bytes) -> str:
    """Return what content is that no JSON and no YAML begins with, as "it is empty"; empty if it may be either."""
    return next((f"it is {what}" for pattern, what in _OTHER_CONTENT if re.match(pattern, content, re.DOTALL)), "")


def parse_text(content: bytes, suffix: str) -> Any:
    """Return the value of a file's content: YAML if its suffix says so, else JSON.

    Raises:
        InvalidInput: it has no single value; the message has the reason and not the file.
    """
    if len(content) > LARGEST:
        raise InvalidInput(f"it is larger than {LARGEST >> 20} MB")
    if other := other_content(content):
        raise InvalidInput(other)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as e:
        raise InvalidInput(reason(e)) from None
    value = _parse_yaml(text) if suffix.lower() in YAML_SUFFIXES else _parse_json(content)
    _require_plain(value, 0)
    return value


def write_json(value: Any) -> bytes:
    """Return JSON with sorted keys, one value a line."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"


def write_yaml(value: Any) -> bytes:
    """Return YAML with sorted keys; law: `parse_text` returns the same value.

    Raises:
        InvalidInput: PyYAML is not installed.
    """
    yaml = _yaml()

    class Dumper(yaml.SafeDumper):  # type: ignore[misc,name-defined]
        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_str(self, data: str) -> Any:
            style = None if _is_text(yaml, data) and data.isprintable() else '"'
            return self.represent_scalar(_TEXT_TAG, data, style=style)

    Dumper.add_representer(str, Dumper.represent_str)
    written: str = yaml.dump(value, Dumper=Dumper, default_flow_style=False, allow_unicode=True, width=1_000)
    return written.encode("utf-8")


def _parse_json(content: bytes) -> Any:
    def line(found: re.Match[str]) -> str:
        return f"in line {len(content[: int(found[1]) + 1].splitlines())}"

    def refuse(why: str) -> InvalidInput:
        return InvalidInput(f"it is not JSON: {_PLACE.sub(line, why.removeprefix('JSON is malformed: '))}")

    value = decode(content, refuse=refuse)
    refuse_repeated(value, content, refuse, LARGEST)
    return value


def _yaml() -> ModuleType:
    try:
        import yaml
    except ImportError:
        raise InvalidInput("YAML needs an extra: `pip install 'ranger-cdap[yaml]'`") from None
    module: ModuleType = yaml
    return module


def _parse_yaml(text: str) -> Any:
    yaml = _yaml()
    try:
        # Events, not objects: an alias is seen before it multiplies what it names.
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return _YamlReader(yaml, iter(events)).document()
    except yaml.YAMLError as e:
        raise InvalidInput(f"it is not YAML: {' '.join(str(e).split())}") from None


class _YamlReader:
    """Builds the one value of a stream of events."""

    def __init__(self, yaml: ModuleType, events: Iterator[Any]) -> None:
        self._yaml, self._events = yaml, events

    def document(self) -> Any:
        next(self._events)  # the start of the stream
        if isinstance(next(self._events), self._yaml.StreamEndEvent):
            raise InvalidInput("it is empty")
        value = self._value(next(self._events), 0)
        next(self._events)  # the end of the document
        if not isinstance(following := next(self._events), self._yaml.StreamEndEvent):
            raise InvalidInput(f"it has a second document{_at(following)}; write one per file")
        return value

    def _value(self, event: Any, depth: int) -> Any:
        yaml = self._yaml
        if depth > DEEPEST:
            raise InvalidInput(f"it is nested more than {DEEPEST} levels deep")
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise InvalidInput(f"it has an anchor or alias{_at(event)}; write the value out")
        if event.tag is not None:
            raise InvalidInput(f"it has the tag `{event.tag}`{_at(event)}; write the value without it")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._value(one, depth + 1) for one in self._until(yaml.SequenceEndEvent)]
        return self._mapping(depth)

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event in self._until(self._yaml.MappingEndEvent):
            name = self._value(event, depth + 1)
            if not isinstance(name, str):
                raise InvalidInput(f"it has a key that is not text{_at(event)}; put it in quotes")
            if name in found:
                raise InvalidInput(f"it has the key `{name}` twice in one object{_at(event)}")
            found[name] = self._value(next(self._events), depth + 1)
        return found

    def _until(self, end: type) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if not event.implicit[0]:
            return text  # in quotes, or a block
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        if not _is_text(self._yaml, text):
            what = f"`{text}`" if text else "a missing value"
            raise InvalidInput(f"it has {what}{_at(event)}, which readers of YAML take differently; put text in quotes")
        return text


def _is_text(yaml: ModuleType, text: str) -> bool:
    """Return whether a plain scalar is text for every reader of YAML."""
    tag = yaml.resolver.Resolver().resolve(yaml.ScalarNode, text, (True, False))
    return tag == _TEXT_TAG and not _ELSEWHERE_NOT_TEXT.fullmatch(text)


def _at(event: Any) -> str:
    return f" in line {event.start_mark.line + 1}"


def _require_plain(value: Any, depth: int) -> None:
    if depth > DEEPEST:
        raise InvalidInput(f"it is nested more than {DEEPEST} levels deep")
    if isinstance(value, dict):
        for name, inner in value.items():
            _require_plain(name, depth + 1)
            _require_plain(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _require_plain(inner, depth + 1)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInput(f"it has a number of more than 64 bits: {str(value)[:20]}…")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput("it has a number too large for any reader")
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidInput("it has half of a surrogate pair, which is no character") from None
