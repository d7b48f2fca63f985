"""Configuration of decisions in addition to the policies: profile, options, enforced operations, master user."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import msgspec

from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode, enforcement
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.profile import Profile, load_profile
from ranger_cdap.config import MasterSettings, Settings


class AuthorizationConfig(msgspec.Struct, frozen=True):
    """Authorization settings; `master` is the user CDAP itself runs as.

    `service`, `cluster`: the names of the Ranger service and of the cluster in audit records.
    """

    instance: str
    profile: Profile
    options: Options = msgspec.field(default_factory=Options)
    enforcement: Enforcement = msgspec.field(default_factory=Enforcement)
    master: str = MasterSettings().name
    cluster: str = ""
    service: str = ""

    def with_master(self, context: Context) -> Context:
        """Return the context with this CDAP's master user, which no caller can choose."""
        return replace(context, master=self.master)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the configuration of the settings.

        Raises:
            InvalidInput: a setting names an unknown profile, operation or entity type.
        """
        cdap, enforce = settings.cdap, settings.enforce
        profile = load_profile(cdap.profile)
        outside = UnenforcedMode(enforce.outside) if enforce.outside else None
        return cls(
            instance=cdap.instance,
            profile=profile,
            options=Options(
                view_details=cdap.view_details,
                inherit=cdap.inherit,
                list_by_parent=cdap.list_by_parent,
                visible_only=cdap.visible_only,
                list_ancestors=cdap.list_ancestors,
            ),
            enforcement=enforcement(profile, enforce.operations, enforce.entity_types, outside),
            master=settings.master.name,
            cluster=settings.plugin.cluster_name,
            service=settings.ranger.service,
        )
