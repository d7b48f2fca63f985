"""Forms with a file: what is read of them, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message

from ranger_cdap.console.uploads import LONGEST_NAME, MOST_FIELDS, UploadedFile, read_form
from ranger_cdap.service.http.reply import Refused

KIND = "multipart/form-data; boundary=edge"


def read(kind: str, body: bytes) -> tuple[UploadedFile, Mapping[str, str]]:
    """What is read of a form from our own page."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", kind.encode("latin-1")), (b"sec-fetch-site", b"same-origin")]
    scope = {"type": "http", "method": "POST", "path": "/impact", "headers": headers}
    return asyncio.run(read_form(Request(scope, receive)))


# Of a form that ends early Starlette leaves the file that has begun to the garbage collector; it is in memory only.
unfinished = pytest.mark.filterwarnings("ignore:Exception ignored in. .function SpooledTemporaryFile")


def part(name: str, value: bytes, file: str | None = None) -> bytes:
    named = "" if file is None else f'; filename="{file}"'
    return f'--edge\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + value + b"\r\n"


END = b"--edge--\r\n"


def test_the_file_and_the_other_values_are_read() -> None:
    body = part("access", "rëad".encode()) + part("file", b"\r\n--edg\x00\xff", "näme.json") + END
    assert read(KIND, body) == (UploadedFile("näme.json", b"\r\n--edg\x00\xff"), {"access": "rëad"})


@given(st.binary(max_size=300).filter(lambda data: b"--edge" not in data))
def test_any_content_of_a_file_is_read_as_it_is(content: bytes) -> None:
    assert read(KIND, part("file", content, "f") + END) == (UploadedFile("f", content), {})


def test_a_large_file_is_kept_in_memory() -> None:
    content = bytes(range(256)) * 12_000
    assert read(KIND, part("file", content, "f") + END)[0].content == content


def test_without_a_file_its_name_is_empty() -> None:
    assert read(KIND, part("access", b"") + END) == (UploadedFile(), {"access": ""})
    assert read(KIND, part("file", b"", "") + END)[0].name == ""


def test_a_long_name_of_a_file_keeps_its_end() -> None:
    name = read(KIND, part("file", b"", "x" * 300 + ".yaml") + END)[0].name
    assert (len(name), name[-6:]) == (LONGEST_NAME, "x.yaml")


REFUSED = {
    # content type, body; status, and what is said
    "no form": ("text/plain", END, 415, "the body must be a form with a file"),
    "no boundary": ("multipart/form-data", END, 400, "Missing boundary"),
    "two files": (KIND, part("file", b"", "a") + part("more", b"", "b") + END, 400, "Too many files"),
    "many fields": (
        KIND, b"".join(part(f"f{n}", b"") for n in range(MOST_FIELDS + 1)) + END, 400, "Too many fields",
    ),
    "a long value": (KIND, part("access", b"x" * 2_000_000) + END, 400, "exceeded maximum size"),
    "another boundary": (KIND, b"--other\r\n\r\n", 400, ""),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "status", "told"), REFUSED.values(), ids=REFUSED)
def test_other_forms_are_refused(kind: str, body: bytes, status: int, told: str) -> None:
    with pytest.raises(Refused) as caught:
        read(kind, body)
    assert caught.value.status == status
    assert told in caught.value.message


pieces = st.sampled_from(
    [b"--edge", b"--edge--", b"\r\n", b"\r", b"Content-Disposition: form-data;", b' name="a"', b' filename="f"']
)
bodies = st.lists(pieces | st.binary(max_size=20), max_size=30).map(b"".join)


kinds = st.sampled_from([KIND, "multipart/form-data; boundary=", 'multipart/form-data; boundary="e\\"', "x"])


@unfinished
@given(bodies, kinds | st.text(st.characters(codec="latin-1")))
def test_any_body_is_read_or_refused(body: bytes, kind: str) -> None:
    with suppress(Refused):
        assert read(kind, body)


@unfinished
@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_form_that_is_cut_off_has_no_other_file(cut: int) -> None:
    with suppress(Refused):
        file, _ = read(KIND, (part("file", b"x" * 10, "f") + END)[:-cut])
        assert file in (UploadedFile(), UploadedFile("f", b"x" * 10))
