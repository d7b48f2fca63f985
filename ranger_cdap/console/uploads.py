"""Forms with a file: accepted from our own pages only, and read within limits.

A page of another site can make a browser send such a form with the user's credentials. That would change nothing, but
computing the answer costs time.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from ranger_cdap.service.http.endpoint import sent_once
from ranger_cdap.service.http.reply import Refused

FORM: Final = "multipart/form-data"
MOST_FIELDS: Final = 8
LONGEST_NAME: Final = 200
"""Characters of a file's name; longer ones are shortened."""
_OWN: Final = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file with its name, which is empty if none was chosen."""

    name: str = ""
    content: bytes = b""


async def read_form(request: Request) -> tuple[UploadedFile, Mapping[str, str]]:
    """Return the file of a form, and the values of its other fields.

    Raises:
        Refused: a page of another site sent it (403), it is no such form (415) or not valid (400), or it does not
            arrive in time (408).
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refused(415, f"the body must be a form with a file, with `Content-Type: {FORM}`")
    refuse_other_sites(sent_once(request.headers))
    parser = MultiPartParser(request.headers, request.stream(), max_files=1, max_fields=MOST_FIELDS)
    parser.spool_max_size = sys.maxsize  # in memory: nothing of a file is left behind
    try:
        form = await parser.parse()
    except MultiPartException as e:
        raise Refused(400, f"the form cannot be read: {' '.join(e.message.split())[:200]}") from None
    except TimeoutError:
        raise Refused(408, "the request did not arrive in time") from None
    file, values = UploadedFile(), dict[str, str]()
    for name, value in form.items():
        if isinstance(value, UploadFile):
            file = UploadedFile((value.filename or "")[-LONGEST_NAME:], await value.read())
        else:
            values[name] = value
    await form.close()
    return file, values


def refuse_other_sites(headers: Mapping[str, str], *, own_without_proof: bool = False) -> None:
    """Refuse what a page of another site sent: by `Sec-Fetch-Site`, and by `Origin` for browsers without it.

    A request with neither is refused, unless `own_without_proof`: a browser that sends neither with a form is old.

    Raises:
        Refused: another site sent it (403).
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin", "")
    if site is not None:
        own = site in _OWN
    elif own_without_proof and not origin:
        own = True
    else:
        own = origin.startswith(("http://", "https://")) and _host(origin) == headers.get("host", "").lower()
    if not own:
        raise Refused(403, "only pages of the console may send this; to open it, type its address")


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
