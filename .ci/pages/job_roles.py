"""The page `docs/reference/job-roles.md`, from the presets."""

from __future__ import annotations

from pages import table
from ranger_cdap.cdap.presets import ldap_without_preset, load_preset, preset_names

_HEAD = """
What each [job role](../how-to/give-people-job-roles.md) is allowed to do in its namespace, in the profile `default`.
`yes` is a part of the job. `also` is not, but the same privileges allow it; `ranger-cdap roles explain` shows the
reason.

In `cdap-6` a schedule needs ADMIN on the application, so an operator there also has `application.update`,
`application.delete`, `application.add_metadata`, `connection.update` and `connection.delete`.

In the namespace `system`, a developer, an administrator and a Wrangler user list CDAP's own artifacts, and so read
the logs of CDAP's services. Anyone who sees all applications of a namespace can also use its connections: CDAP
decides a connection as its application `pipeline`. Saving a draft in Studio is UPDATE on the namespace for CDAP,
which only an administrator has.

No preset covers naming a Kerberos principal as owner, the data of programs (a program runs as the impersonated user
or CDAP's master user), or anything of the instance.

"""
_LDAP = """
## Roles of the LDAP binding

The preset is the smallest job that has everything that the role of the predecessor's LDAP binding was for. It can
allow more. One thing it does not allow: `View Pipeline` also read datasets, which here takes a developer.

"""


def page() -> str:
    """Return a row for each operation and for each role of the LDAP binding."""
    presets = {name: load_preset(name, "default") for name in preset_names()}
    operations = sorted({one for preset in presets.values() for one in (*preset.operations, *preset.also)})
    rows = (
        (
            f"`{one}`",
            *("yes" if one in job.operations else "also" if one in job.also else "" for job in presets.values()),
        )
        for one in operations
    )
    ldap = [(role, f"`{name}`") for name, preset in presets.items() for role in preset.ldap]
    described = [(f"`{name}`", preset.description) for name, preset in presets.items()]
    return (
        table(("preset", "what it is for"), described)
        + _HEAD
        + table(("operation", *presets), rows)
        + _LDAP
        + table(("role of the LDAP binding", "here"), [*ldap, *ldap_without_preset().items()])
    )
