"""Policies, roles and tags of any form: they are refused, or decide without failing.

Law: the ways to decide agree, `safe` allows nothing that `ranger` denies, and a user whom no document names is allowed
nothing, unless a policy names everyone.
"""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import given

from ranger_cdap.engine import AccessRequest, EngineOptions, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags
from tests.engine.fixtures import RANGER, SAFE
from tests.engine.whole_download import REQUESTS, WHOLE
from tests.fuzz.harness import QUIET, drive, spoiled

STRANGER: Final = "f4a9-nobody"
ASKED: Final = REQUESTS[::11]
STRANGERS: Final = [AccessRequest(request.resource, request.access_type, STRANGER) for request in REQUESTS[::19]]
EVERYONE: Final = ("public", "{USER}", "{OWNER}", "isDenyAllElse", "super")

tables: Final = {name: spoiled([WHOLE[name]]) for name in ("policies", "roles", "tags")}


def engine_of(policies: bytes, roles: bytes, tags: bytes, options: EngineOptions) -> PolicyEngine | None:
    """Return the engine of a download; `None` if it is refused."""
    try:
        return PolicyEngine.build(
            decode_service_policies(policies),
            roles=decode_roles(roles),
            tags=decode_service_tags(tags),
            options=options,
        )
    except PolicySetError:
        return None


@QUIET
@given(**tables)
def LAW(policies: bytes, roles: bytes, tags: bytes) -> None:  # noqa: N802
    """Hold the law for one download."""
    safe, ranger = (engine_of(policies, roles, tags, options) for options in (SAFE, RANGER))
    for engine in (safe, ranger):
        if engine is None:
            continue
        for request in ASKED:
            assert engine.explain(request).allowed is engine.evaluate(request).allowed, request
        engine.who_can({"hall": "h"})
        assert all(str(problem).isprintable() for problem in engine.problems)
    if safe is None:
        return
    if ranger is not None:
        loose = [each for each in ASKED if safe.evaluate(each).allowed and not ranger.evaluate(each).allowed]
        assert loose == [], loose
    if not any(word in json.dumps([_text(policies), _text(roles), _text(tags)]) for word in EVERYONE):
        assert [each for each in STRANGERS if safe.evaluate(each).allowed] == []


def _text(data: bytes) -> Any:
    return data.decode("utf-8", "replace")


if __name__ == "__main__":
    drive(LAW)
