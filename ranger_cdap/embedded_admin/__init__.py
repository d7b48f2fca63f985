"""A small Ranger Admin on SQLite, with the REST interface that our client and Ranger's plugins use.

For evaluation and tests, not for production. `create_app` is in `ranger_cdap.embedded_admin.api.app`, because it
needs the extra `service`.
"""

from ranger_cdap.embedded_admin.server import EmbeddedAdmin
from ranger_cdap.embedded_admin.store.store import Store

__all__ = ["EmbeddedAdmin", "Store"]
