"""Policies from the content of one file: a download, a plugin's cache file, an export, a list or one policy. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.strict_text import YAML_SUFFIXES, parse_text
from ranger_cdap.ranger_model.json_text import decode_or_none

_MISSING: Final = msgspec.Raw(b"")


class _Heading(msgspec.Struct, rename="camel"):
    """Members that tell a download of policies from other forms."""

    service_name: msgspec.Raw = _MISSING
    service_def: msgspec.Raw = _MISSING
    policy_deltas: msgspec.Raw = _MISSING

    @property
    def is_download(self) -> bool:
        return any(bytes(part) for part in (self.service_name, self.service_def, self.policy_deltas))


# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_decoder: Final = msgspec.json.Decoder(_Heading)


def download_of(content: bytes, suffix: str, service: str = "") -> bytes:
    """Return the policy download in a file's content, or one made of the policies in it.

    `suffix` is that of the file's name: `.yaml` and `.yml` are YAML, others JSON. `service` is the name of the service
    if the policies name none.

    Raises:
        InvalidInput: it has no policies that can be used.
    """
    if _is_download(content, suffix):
        return content
    return PolicyCollection.of_document(parse_text(content, suffix)).download(service)


def collection_of(content: bytes, suffix: str) -> PolicyCollection:
    """Return the policies of a file in any form.

    Raises:
        InvalidInput: it has none, or a policy of it is not acceptable.
        PolicySetError: the download is unreadable.
    """
    if _is_download(content, suffix):
        return PolicyCollection.of_download(content)
    return PolicyCollection.of_document(parse_text(content, suffix))


def _is_download(content: bytes, suffix: str) -> bool:
    heading = None if suffix.lower() in YAML_SUFFIXES else decode_or_none(content, _decoder)
    return heading is not None and heading.is_download
