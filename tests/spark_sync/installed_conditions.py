"""The classes of conditions that this installation evaluates, as the driver reports them to Spark's executors."""

from ranger_cdap.plugins.manager import condition_factories, plugin_manager

INSTALLED = frozenset(condition_factories(plugin_manager()))
