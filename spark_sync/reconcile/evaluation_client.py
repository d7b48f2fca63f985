"""`EvaluationClient`: asks a decision service if an account may get an entity of CDAP."""

from __future__ import annotations

import base64
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, Self

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_type, to_resource
from ranger_cdap.config import Settings
from ranger_cdap.config.address import DECISION_SERVICE, checked_address
from ranger_cdap.net.exchange import Exchange, NoResponse, TooLarge, TooSlow
from ranger_cdap.net.tls import TlsFiles
from ranger_cdap.ranger_model.json_text import Undecodable, decode
from ranger_cdap.wire.authzen_wire import EvaluationsResponse
from ranger_cdap.wire.resource_name import NameTemplate

_PATH: Final = "/access/v1/evaluations"
_CONNECT_SECONDS: Final = 2.0
_READ_SECONDS: Final = 5.0
_LARGEST: Final = 1 << 20
_TLS_ADVICE: Final = " (`network.ca_file` names the CA to trust, `sync.cert_file` the certificate to show it)"


class EvaluationClient:
    """Client of the decision service in `sync.confirm`; `problem` is the reason why the last request had no answer.

    It evaluates the profile's operation `get` by AuthZEN, which is what CDAP's GET stands for.

    Raises:
        ConfigError: the address or the file of certificates cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        sync, confirm = settings.sync, settings.sync.confirm
        self.url = checked_address(confirm.decision_service, DECISION_SERVICE, settings.network.plain_hosts)
        self.problem = ""
        self._user, self._service, self._instance = confirm.user, settings.ranger.service, settings.cdap.instance
        tls = TlsFiles.of(settings.network.ca_file, sync.cert_file, sync.key_file)
        self._exchange = Exchange(tls, connect_timeout=_CONNECT_SECONDS, read_timeout=_READ_SECONDS)
        credentials = base64.b64encode(f"{confirm.caller}:{confirm.secret.reveal()}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exchange.close()

    def may_get(self, entity: EntityId) -> bool:
        """Return true if the account may get the entity and all its ancestors; false without an answer."""
        evaluations = [self._evaluation(each) for each in _way_to(entity)]
        body = {
            "subject": {"type": "user", "id": self._user},
            "context": {"serviceName": self._service},
            "evaluations": evaluations,
        }
        answer = self._ask(msgspec.json.encode(body))
        if answer is None:
            return False
        found = answer.evaluations or []
        errors = [each.context.error for each in found if each.context and each.context.error]
        if errors:
            self.problem = f"the decision service at `{self.url}` did not decide (HTTP {errors[0].status})"
        return len(found) == len(evaluations) and all(each.decision for each in found)

    def _evaluation(self, entity: EntityId) -> dict[str, Any]:
        name = NameTemplate(entity_type(entity.type).path).format(to_resource(entity, self._instance))
        return {"action": {"name": f"{entity.type}.get"}, "resource": {"type": entity.type, "id": name}}

    def _ask(self, body: bytes) -> EvaluationsResponse | None:
        try:
            status, content = self._exchange.ask(
                self.url,
                "POST",
                _PATH,
                query=None,
                body=body,
                headers=self._headers,
                largest=_LARGEST,
            )
            if status != HTTPStatus.OK:
                self.problem = f"the decision service at `{self.url}` answered HTTP {status}"
                return None
            answer = decode(content, EvaluationsResponse)
        except (NoResponse, TooLarge, TooSlow) as e:
            advice = _TLS_ADVICE if isinstance(e, NoResponse) and e.of_tls else ""
            self.problem = f"the decision service at `{self.url}` is unavailable: {e}{advice}"
            return None
        except Undecodable:
            self.problem = f"`{self.url}` is not the address of a decision service"
            return None
        self.problem = ""
        return answer


MayGet = Callable[[EntityId], bool]


def _way_to(entity: EntityId) -> list[EntityId]:
    way = [entity]
    while (parent := way[0].parent) is not None and parent.type != "instance":
        way.insert(0, parent)
    return way
