from __future__ import annotations

from collections.abc import Iterator

import pytest
from embedded_caller import PASSWORD, V2, Caller

from ranger_cdap.embedded_admin import EmbeddedAdmin
from servicedef import service_definition


@pytest.fixture
def admin() -> Iterator[Caller]:
    """An empty server."""
    with EmbeddedAdmin(admin_password=PASSWORD) as server:
        yield Caller(server.url)


@pytest.fixture
def cdapdev(admin: Caller) -> Caller:
    """A server with our definition, a service `cdapdev` and the users alice, bob, plugin and sync."""
    return prepared(admin)


@pytest.fixture(scope="module")
def shared() -> Iterator[Caller]:
    """Such a server for all tests of a file that change nothing."""
    with EmbeddedAdmin(admin_password=PASSWORD) as server:
        yield prepared(Caller(server.url))


def prepared(admin: Caller) -> Caller:
    assert admin("POST", f"{V2}/servicedef", service_definition())[0] == 200
    for name in ("alice", "bob", "plugin", "sync"):
        admin.create_user(name)
    configs = {
        "policy.download.auth.users": "plugin, sync",
        "tag.download.auth.users": "plugin",
        "userstore.download.auth.users": "plugin",
        "service.admin.users": "sync",
    }
    assert admin("POST", f"{V2}/service", {"name": "cdapdev", "type": "cdap", "configs": configs})[0] == 200
    return admin
