"""Policies from the content of one file: a download, a plugin's cache file, or an export. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.strict_text import YAML_SUFFIXES, parse_text

_MISSING: Final = msgspec.Raw(b"")


class _Heading(msgspec.Struct, rename="camel"):
    """Members that tell an export of policies from a download."""

    service_name: msgspec.Raw = _MISSING
    service_def: msgspec.Raw = _MISSING
    policy_deltas: msgspec.Raw = _MISSING
    policies: msgspec.Raw = _MISSING

    @property
    def is_download(self) -> bool:
        return any(bytes(part) for part in (self.service_name, self.service_def, self.policy_deltas))


# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_decoder: Final = msgspec.json.Decoder(_Heading)


def download_of(content: bytes, suffix: str, service: str = "") -> bytes:
    """Return the policy download in a file's content, or one made of the export in it.

    `suffix` is that of the file's name: `.yaml` and `.yml` are YAML, others JSON. `service` is the name of the service
    if the policies name none. Other content is returned as it is; what decodes it names what is wrong.

    Raises:
        InvalidInput: it is an export that cannot be used.
        PolicySetError: its download is unreadable.
    """
    if suffix.lower() not in YAML_SUFFIXES and not _is_export(content):
        return content
    return collection_of(content, suffix).download(service)


def collection_of(content: bytes, suffix: str) -> PolicyCollection:
    """Return the policies of an export or a download.

    Raises:
        InvalidInput: it is neither, or a policy of it is not acceptable.
        PolicySetError: the download is unreadable.
    """
    if suffix.lower() not in YAML_SUFFIXES and (heading := _heading(content)) and heading.is_download:
        return PolicyCollection.of_download(content)
    return PolicyCollection.of_document(parse_text(content, suffix))


def _is_export(content: bytes) -> bool:
    heading = _heading(content)
    return heading is not None and not heading.is_download and bool(bytes(heading.policies))


def _heading(content: bytes) -> _Heading | None:
    try:
        return _decoder.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
