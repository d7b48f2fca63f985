"""`RangerNames`: the names that Ranger decides users of CDAP by, so that grants are for these."""

from __future__ import annotations

from dataclasses import dataclass

from ranger_cdap.config import Settings
from ranger_cdap.engine import AS_GIVEN, NameTransformation
from ranger_cdap.engine.view import name_transformation
from ranger_cdap.errors import UnexpectedAnswer
from ranger_cdap.plugins.manager import engine_options
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.sign_in import AccountSource
from ranger_cdap.ranger.client.versions import NO_VERSION
from ranger_cdap.ranger.refresh.cache import command_downloader
from ranger_cdap.ranger_model.decode import decode_service_policies, decode_user_store
from ranger_cdap.ranger_model.download import ServicePolicies, UserStore


@dataclass(slots=True, eq=False)
class RangerNames:
    """Transformation of names by the settings of the plugin and the downloads by its account; remembers the last."""

    _settings: Settings
    _policies: ServicePolicies | None = None
    _users: UserStore | None = None

    def current(self) -> NameTransformation:
        """Return the transformation in effect now; nothing is downloaded where no setting asks for one.

        Raises:
            RangerAdminError: a download failed, so no creator's name is certain.
            PolicySetError: the transformation is not certain to be Ranger's.
        """
        settings, plugin = self._settings, self._settings.plugin
        if not (plugin.transform_names or plugin.email_to_user):
            return AS_GIVEN
        service, by = settings.ranger.service, command_downloader(settings)
        known = NO_VERSION if self._policies is None else self._policies.policy_version
        account = (plugin.username, plugin.password)
        with RangerAdmin.connect(settings, *account, source=AccountSource.PLUGIN) as admin:
            text = admin.download_policies(service, last_known_version=known, by=by, deltas=known != NO_VERSION)
            if text is not None:
                self._policies = decode_service_policies(text)
            if plugin.email_to_user:
                known = NO_VERSION if self._users is None else self._users.user_store_version
                users = admin.download_user_store(service, last_known_version=known, by=by)
                self._users = self._users if users is None else decode_user_store(users)
        if self._policies is None:
            raise UnexpectedAnswer("Ranger Admin answered 304 to a request without a known version")
        return name_transformation(engine_options(settings.plugin), self._policies.service_config, self._users)
