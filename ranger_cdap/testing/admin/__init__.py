"""A small Ranger Admin on SQLite, with the REST interface that our client and Ranger's plugins use.

For evaluation and tests, not for production. `create_app` is in `ranger_cdap.testing.admin.api.app`, because it
needs the extra `service`.
"""

from ranger_cdap.testing.admin.server import EmbeddedAdmin
from ranger_cdap.testing.admin.store.store import Store

__all__ = ["EmbeddedAdmin", "Store"]
