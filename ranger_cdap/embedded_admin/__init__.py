"""A small Ranger Admin: the REST interface our client and Ranger's plugins use, on SQLite; for trying out and tests.

Not for production. `create_app` is in `ranger_cdap.embedded_admin.api.app`, because it needs the extra `service`.
"""

from ranger_cdap.embedded_admin.server import EmbeddedAdmin
from ranger_cdap.embedded_admin.store.store import Store

__all__ = ["EmbeddedAdmin", "Store"]
