"""Forms with a file: what is read of them, and what is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.service.http.reply import Refused
from ranger_cdap.service.http.uploads import LONGEST_NAME, LONGEST_VALUE, MOST_FIELDS, UploadedFile, read_form

KIND = "multipart/form-data; boundary=edge"


def part(name: str, value: bytes, file: str | None = None) -> bytes:
    named = "" if file is None else f'; filename="{file}"'
    return f'--edge\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + value + b"\r\n"


END = b"--edge--\r\n"


def test_the_file_and_the_other_values_are_read() -> None:
    body = part("access", "rëad".encode()) + part("file", b"\r\n--edg\x00\xff", "näme.json") + END
    assert read_form(KIND, body) == UploadedFile("näme.json", b"\r\n--edg\x00\xff", {"access": "rëad"})


@given(st.binary(max_size=300).filter(lambda data: b"--edge" not in data))
def test_any_content_of_a_file_is_read_as_it_is(content: bytes) -> None:
    assert read_form(KIND, part("file", content, "f") + END) == UploadedFile("f", content, {})


def test_a_large_file_is_kept_in_memory() -> None:
    content = bytes(range(256)) * 12_000
    assert read_form(KIND, part("file", content, "f") + END).content == content


def test_without_a_file_its_name_is_empty() -> None:
    assert read_form(KIND, part("access", b"") + END) == UploadedFile("", b"", {"access": ""})
    assert read_form(KIND, part("file", b"", "") + END).name == ""


def test_a_long_name_of_a_file_keeps_its_end() -> None:
    name = read_form(KIND, part("file", b"", "x" * 300 + ".yaml") + END).name
    assert (len(name), name[-6:]) == (LONGEST_NAME, "x.yaml")


REFUSED = {
    # content type, body; what is said
    "nothing": (KIND, b"", "it is cut off"),
    "cut off": (KIND, part("file", b"x", "f"), "it is cut off"),
    "no boundary": ("multipart/form-data", END, "no usable boundary"),
    "a long boundary": (f"multipart/form-data; boundary={'x' * 300}", END, "no usable boundary"),
    "two files": (KIND, part("file", b"", "a") + part("more", b"", "b") + END, "more than one file"),
    "many fields": (
        KIND,
        b"".join(part(f"f{n}", b"") for n in range(MOST_FIELDS + 1)) + END,
        f"more than {MOST_FIELDS} fields",
    ),
    "a field twice": (KIND, part("access", b"") * 2 + END, "its field `access` is repeated"),
    "a long value": (KIND, part("access", b"x" * (LONGEST_VALUE + 1)) + END, "its field `access` is longer"),
    "many headers": (KIND, b"--edge\r\n" + b"A: b\r\n" * 100 + b"\r\nx\r\n" + END, ""),
    "another boundary": (KIND, b"--other\r\n\r\n", ""),
}


@pytest.mark.parametrize(("kind", "body", "told"), REFUSED.values(), ids=REFUSED)
def test_other_forms_are_refused(kind: str, body: bytes, told: str) -> None:
    with pytest.raises(Refused) as caught:
        read_form(kind, body)
    assert caught.value.status == 400
    assert caught.value.message.startswith("the form cannot be read: ")
    assert told in caught.value.message


pieces = st.sampled_from(
    [b"--edge", b"--edge--", b"\r\n", b"\r", b"Content-Disposition: form-data;", b' name="a"', b' filename="f"']
)
bodies = st.lists(pieces | st.binary(max_size=20), max_size=30).map(b"".join)


kinds = st.sampled_from([KIND, "multipart/form-data; boundary=", 'multipart/form-data; boundary="e\\"', "x"])


@given(bodies, kinds | st.text(st.characters(codec="latin-1")))
def test_any_body_is_read_or_refused(body: bytes, kind: str) -> None:
    with suppress(Refused):
        assert read_form(kind, body)
