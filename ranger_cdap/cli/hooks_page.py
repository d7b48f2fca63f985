"""The page `docs/reference/hooks.md`: every hook, made from the specifications that plugins are held against."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pluggy

from ranger_cdap.plugins.hookspecs import PROJECT

_HEAD = f"""\
# Hooks

Made by `ranger-cdap plugins reference`; do not edit.

A plugin is a Python package with an entry point in the group `{PROJECT}`: a module or an object whose functions are
named like the hooks below and marked with `ranger_cdap.hookimpl`. A function may leave out arguments it has
no use for. `examples/plugin/` is one that can be installed. `ranger-cdap plugins` shows what is installed;
with `RANGER_CDAP_TRACE_PLUGINS=1` every call is shown on standard error.

Hooks are synchronous and may be called from several threads at once. The order of plugins is not a contract: none can
rely on being asked before another one. A plugin that cannot be loaded, that implements a hook that does not exist, or
that gives a name which another one has given stops the program with the error code `plugin`. A plugin runs with
all the rights of the program: install only what you trust like the program itself.
"""


def page(manager: pluggy.PluginManager) -> str:
    """The whole page, of all hooks that this manager knows."""
    return "\n".join([_HEAD, *map(_section, _hooks(manager))])


def _hooks(manager: pluggy.PluginManager) -> Iterator[pluggy.HookCaller]:
    """Those with a specification, module by module, in the order in which they are written there."""
    callers = [caller for _, caller in inspect.getmembers(manager.hook, lambda it: isinstance(it, pluggy.HookCaller))]
    specified = [caller for caller in callers if caller.spec is not None]
    yield from sorted(specified, key=_place)


def _place(caller: pluggy.HookCaller) -> tuple[str, int]:
    assert caller.spec is not None
    return caller.spec.function.__module__, caller.spec.function.__code__.co_firstlineno


def _section(caller: pluggy.HookCaller) -> str:
    assert caller.spec is not None
    function = caller.spec.function
    signature = str(inspect.signature(function)).replace("'", "")
    text = (
        f"## {caller.name}\n\n```python\ndef {caller.name}{signature}: ...\n```\n\n"
        f"{inspect.cleandoc(function.__doc__ or '')}\n"
    )
    return f"{text}\nOf `{function.__module__}`.\n"
