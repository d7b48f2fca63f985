"""Namespaces with something in them, for tests that are about something else than making them."""

from __future__ import annotations

from tests.cdap_master.fixtures import World
from tests.cdap_master.in_memory_cdap import APP_JAR, CdapUser

ARTIFACT = "shop-app"
FROM_ARTIFACT = {"artifact": {"name": ARTIFACT, "version": "1.0.0", "scope": "USER"}}
KEY_VALUE = {"typeName": "keyValueTable", "properties": {}}


def build(world: World, namespace: str, *apps: str) -> CdapUser:
    """A namespace with the artifact and applications of these names, made by a person who may do nothing else."""
    name = f"builder-of-{namespace}"
    world.people(
        {
            name: [
                "WRITE instance:",
                f"WRITE namespace:{namespace}",
                f"READ namespace:{namespace}",
                f"READ artifact:{namespace}.{ARTIFACT}",
                f"READ dataset:{namespace}.purchases",
            ]
        }
    )
    builder = world.user(name)
    place = f"/v3/namespaces/{namespace}"
    builder.must(f"PUT {place}", {})
    builder.must(f"POST {place}/artifacts/{ARTIFACT}", APP_JAR.read_bytes(), Artifact_Version="1.0.0")
    for app in apps:
        builder.must(f"PUT {place}/apps/{app}", FROM_ARTIFACT)
    return builder
