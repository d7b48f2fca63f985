"""`EvaluationClient`: asks a decision service if an account may get an entity of CDAP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self

from ranger_cdap.cdap.entity import EntityId, entity_type, to_resource
from ranger_cdap.client import AuthZenAction, AuthZenEntity, EvaluationRequest, EvaluationsRequest, evaluations
from ranger_cdap.config import Settings
from ranger_cdap.config.address import DECISION_SERVICE
from ranger_cdap.errors import DecisionServiceError, NotReady
from ranger_cdap.net.failures import UNTRUSTED
from ranger_cdap.wire.resource_name import NameTemplate
from spark_sync.service_client import service_client

_TLS_ADVICE: Final = " (`network.ca_file` names the CA to trust, `sync.cert_file` the certificate to show it)"


class EvaluationClient:
    """Client of the decision service in `sync.confirm`; `problem` is the reason why the last request had no answer.

    It evaluates the profile's operation `get` by AuthZEN, which is what CDAP's GET stands for.

    Raises:
        ConfigError: the address or the file of certificates cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        confirm = settings.sync.confirm
        self.problem = ""
        self._user, self._service, self._instance = confirm.user, settings.ranger.service, settings.cdap.instance
        self._client = service_client(
            settings, confirm.decision_service, DECISION_SERVICE, confirm.caller, confirm.secret
        )
        self.url = self._client.settings.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def may_get(self, entity: EntityId) -> bool:
        """Return true if the account may get the entity and all its ancestors; false without an answer."""
        _, *way = entity_type(entity.type).path
        question = EvaluationsRequest(
            subject=AuthZenEntity(type="user", id=self._user),
            context={"serviceName": self._service},
            evaluations=[self._evaluation(each) for each in map(entity.ancestor, way) if each],
        )
        try:
            found = self._client.ask(evaluations(question)).evaluations
        except NotReady as e:
            self.problem = f"the decision service at `{self.url}` is not ready: {e}"
            return False
        except DecisionServiceError as e:
            self.problem = str(e) + (_TLS_ADVICE if e.failure == UNTRUSTED else "")
            return False
        errors = [each.context.error for each in found if each.context and each.context.error]
        self.problem = (
            f"the decision service at `{self.url}` did not decide (HTTP {errors[0].status})" if errors else ""
        )
        return all(each.decision for each in found)

    def _evaluation(self, entity: EntityId) -> EvaluationRequest:
        name = NameTemplate(entity_type(entity.type).path).format(to_resource(entity, self._instance))
        return EvaluationRequest(
            action=AuthZenAction(name=f"{entity.type}.get"), resource=AuthZenEntity(type=entity.type, id=name)
        )


MayGet = Callable[[EntityId], bool]
