"""Base of all documents, and the ranges of Java's numbers."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ranger_cdap.ranger_model.json_text import T

JavaInt = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
JavaLong = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Version = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A version of a download. Beside a greater one, all true versions would seem older from then on."""


class Document(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """A JSON object of Ranger's: unknown keys are ignored when it is read, defaults are left out when it is written."""


def replaced(struct: T, **changes: Any) -> T:
    """Return a copy with some fields changed."""
    return msgspec.structs.replace(struct, **changes)  # type: ignore[type-var]
