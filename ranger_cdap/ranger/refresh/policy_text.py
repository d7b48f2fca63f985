"""Policy downloads whose policies can be replaced one by one, without parsing or copying the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import msgspec

from ranger_cdap.engine.view import PolicyChange
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.json_text import Undecodable, decode

_POLICIES = "policies"
_VERSION = "policyVersion"


class _Numbered(msgspec.Struct):
    """The part of a policy that identifies it."""

    id: int


# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_numbers: Final = msgspec.json.Decoder(_Numbered)
_lists: Final[msgspec.json.Decoder[list[msgspec.Raw] | None]] = msgspec.json.Decoder(list[msgspec.Raw] | None)


@dataclass(frozen=True, slots=True, eq=False)
class PolicyText:
    """The members of a download (`ServicePolicies`), and its policies by id; immutable."""

    members: Mapping[str, msgspec.Raw]
    policies: Mapping[int, msgspec.Raw]

    @classmethod
    def of(cls, text: bytes) -> Self:
        """Split a full download.

        Raises:
            PolicySetError: a policy has no unique id.
        """
        try:
            members = decode(text, dict[str, msgspec.Raw])
            raws = decode(members.pop(_POLICIES, b"null"), _lists) or []
            policies = {decode(raw, _numbers).id: raw for raw in raws}
        except Undecodable:
            raise PolicySetError("policies lack unique ids") from None
        if len(policies) != len(raws):
            raise PolicySetError("two policies have one id")
        return cls(members, policies)

    def changed(self, version: int, changes: Sequence[PolicyChange]) -> PolicyText:
        """Apply changes; new policies follow the others."""
        policies = dict(self.policies)
        for change in changes:
            policies.pop(change.policy_id, None)
            if change.raw is not None:
                policies[change.policy_id] = change.raw
        return PolicyText({**self.members, _VERSION: msgspec.Raw(str(version).encode())}, policies)

    def pieces(self) -> Iterator[bytes]:
        """Yield the document in pieces, so that it is never held twice."""
        yield b"{"
        yield from (msgspec.json.encode(name) + b":" + bytes(raw) + b"," for name, raw in self.members.items())
        yield b'"policies":['
        yield from ((b"," if number else b"") + bytes(raw) for number, raw in enumerate(self.policies.values()))
        yield b"]}"
