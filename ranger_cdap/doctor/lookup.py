"""Check the look-up of names in Ranger Admin by using it: the jar is there, and CDAP answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ranger_cdap.config import Settings
from ranger_cdap.doctor.finding import Finding, failed, note, skipped, well
from ranger_cdap.errors import AccessForbidden, RangerAdminError
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from servicedef import LOOKUP_CLASS, has_lookup

_JAR: Final = "look-up jar in Ranger Admin"
_CDAP: Final = "look-up of names in CDAP"
_INSTALL: Final = (
    "install the jar (`ranger-cdap extension ranger`) and restart Ranger Admin, or run `ranger-cdap setup --no-lookup`"
)
_CONFIGURE: Final = "correct the settings of the service in Ranger Admin; Test Connection there names the wrong one"


def examine_lookup(definition: Mapping[str, Any], admin: RangerAdmin, settings: Settings) -> Iterable[Finding]:
    """Look names up as the form of a policy does: the instance, which needs the jar alone, then namespaces."""
    service, instance = settings.ranger.service, settings.cdap.instance
    if not has_lookup(definition):
        other = definition.get("implClass")
        off = f"not used: the definition names `{other}`" if other else "not used"
        return [
            well(_JAR, f"{off}; `ranger-cdap extension ranger` has it, `ranger-cdap setup --lookup` switches it on")
        ]
    try:
        instances = admin.look_up(service, "instance", {})
    except AccessForbidden:
        return [skipped(_JAR, "the plugin account may not look names up")]
    except RangerAdminError as e:
        return [failed(_JAR, e.ranger_message or str(e), _INSTALL)]
    if not instances:
        return [failed(_JAR, f"the definition names `{LOOKUP_CLASS}`, and Ranger Admin does not have it", _INSTALL)]
    answers = well(_JAR, "it answers")
    if instance not in instances:
        return [
            answers,
            failed(
                _CDAP,
                f"it is for instance `{instances[0]}`, not `{instance}`",
                f"set CDAP instance to `{instance}` in the settings of service `{service}`",
            ),
        ]
    return [answers, _namespaces(admin, service, instance)]


def _namespaces(admin: RangerAdmin, service: str, instance: str) -> Finding:
    try:
        names = admin.look_up(service, "namespace", {"instance": [instance]})
    except RangerAdminError as e:
        return failed(_CDAP, e.ranger_message or str(e), _CONFIGURE)
    if not names:
        return note(_CDAP, "no namespace is offered", f"set CDAP URL, user and password in service `{service}`")
    return well(_CDAP, f"{len(names)} namespaces are offered")
