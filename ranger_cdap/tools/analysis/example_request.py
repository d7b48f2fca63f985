"""Requests that show what a row says, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Self

import msgspec

from ranger_cdap.tools.analysis.logic.witness import Witness
from ranger_cdap.tools.analysis.row_text import LevelText, Spelling


class ExampleRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Request that a row is about, with its resource as text and by level; `roles` are those that no definition has."""

    user: str | None
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    access: str
    resource: str
    levels: Mapping[str, str | tuple[str, ...]]
    client_ip: str | None = None
    owner: str | None = None
    access_time: datetime | None = None
    action: str | None = None
    cluster_name: str | None = None
    cluster_type: str | None = None
    context: Mapping[str, str] = {}

    @classmethod
    def of(cls, witness: Witness, spelling: Spelling) -> Self:
        """Return a witness for people."""
        request = witness.request
        levels = [LevelText((value,) if isinstance(value, str) else value) for value in request.resource.values()]
        return cls(
            user=request.user,
            groups=tuple(sorted(request.groups)),
            roles=tuple(sorted(witness.roles)),
            access=request.access_type,
            resource=spelling(tuple(request.resource), levels),
            levels=request.resource,
            client_ip=request.client_ip,
            owner=request.owner,
            access_time=datetime.fromtimestamp(request.access_time / 1000, UTC) if request.access_time else None,
            action=request.action,
            cluster_name=request.cluster_name,
            cluster_type=request.cluster_type,
            context=dict(request.context),
        )

    def __str__(self) -> str:
        """Return `someone in analysts: write on dataset:ns1.raw (from 10.1.0.1)`."""
        groups = f" in {', '.join(self.groups)}" if self.groups else ""
        roles = f" with role {', '.join(self.roles)}" if self.roles else ""
        more = [f"from {self.client_ip}"] if self.client_ip else []
        more += [f"owned by {self.owner}"] if self.owner else []
        more += [f"for action {self.action}"] if self.action else []
        more += [f"{name}={value}" for name, value in self.context.items()]
        ending = f" ({', '.join(more)})" if more else ""
        user = "a request without a user" if self.user is None else self.user
        return f"{user}{groups}{roles}: {self.access} on {self.resource}{ending}"
