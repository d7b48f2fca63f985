"""Forms with a file: accepted from our own pages only, and read within limits.

A page of another site can make a browser send such a form with the user's credentials. That would change nothing, but
computing the answer costs time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header

from ranger_cdap.service.http.reply import Refused

FORM: Final = "multipart/form-data"
MOST_FIELDS: Final = 8
LONGEST_VALUE: Final = 4_000
"""Bytes of the value of a field that is no file."""
LONGEST_NAME: Final = 200
"""Characters of a file's name; longer ones are shortened."""
_LONGEST_BOUNDARY: Final = 200
_OWN: Final = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file with its name, which is empty if none was chosen, and the values of the other fields."""

    name: str
    content: bytes
    values: Mapping[str, str] = field(default_factory=dict)


def refuse_other_sites(headers: Mapping[str, str]) -> None:
    """Refuse a form that a page of another site sent: by `Sec-Fetch-Site`, and by `Origin` for browsers without it.

    Raises:
        Refused: with 403.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        own = site in _OWN
    else:
        origin = headers.get("origin", "")
        own = origin.startswith(("http://", "https://")) and _host(origin) == headers.get("host", "").lower()
    if not own:
        raise Refused(403, "forms are accepted from pages of this service only; programs send JSON to `/console/v1`")


def read_form(content_type: str, data: bytes) -> UploadedFile:
    """Return the file of a form and its other values.

    Raises:
        Refused: the body is no such form, has two files, or exceeds a limit (400).
    """
    fields, files = _parts(_boundary(content_type), data)
    values: dict[str, str] = {}
    for one in fields:
        name, value = _text(one.field_name), one.value or b""
        if name in values:
            raise _invalid(f"its field `{name[:80]}` is repeated")
        if len(value) > LONGEST_VALUE:
            raise _invalid(f"its field `{name[:80]}` is longer than {LONGEST_VALUE} bytes")
        values[name] = _text(value)
    if not files:
        return UploadedFile("", b"", values)
    (file,) = files
    file.file_object.seek(0)
    return UploadedFile(_text(file.file_name)[-LONGEST_NAME:], file.file_object.read(), values)


def _boundary(content_type: str) -> bytes:
    try:
        boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    except ValueError:
        boundary = b""
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY:
        raise _invalid("its content type has no usable boundary")
    return boundary


def _parts(boundary: bytes, data: bytes) -> tuple[list[Field], list[File]]:
    fields: list[Field] = []
    files: list[File] = []
    ended: list[bool] = []

    def keep_field(one: Field) -> None:
        fields.append(one)
        if len(fields) > MOST_FIELDS:
            raise _invalid(f"it has more than {MOST_FIELDS} fields")

    def keep_file(one: File) -> None:
        files.append(one)
        if len(files) > 1:
            raise _invalid("it has more than one file")

    in_memory = {"MAX_MEMORY_FILE_SIZE": len(data) + 1}
    try:
        parser = FormParser(FORM, keep_field, keep_file, lambda: ended.append(True), boundary, config=in_memory)
        try:
            parser.write(data)
            parser.finalize()
        finally:
            parser.close()
    except (FormParserError, ValueError) as e:
        raise _invalid(" ".join(str(e).split())[:200]) from None
    if not ended:
        raise _invalid("it is cut off")
    return fields, files


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")


def _invalid(what: str) -> Refused:
    return Refused(400, f"the form cannot be read: {what}")
