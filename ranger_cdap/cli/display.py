"""Names from policies as people see them: escaped, and none breaks or reorders its line."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


def visible(text: str, keep: str = "\n\t") -> str:
    """Return the text with control and bidirectional characters escaped: names come from policies."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


@cache
def page_template(name: str, *packages: str) -> jinja2.Template:
    """Return a template below `templates/` of the first package that has it; a value that is missing is an error."""
    import jinja2  # here, because many commands import this module, and few write a page

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages]),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _shown(value: Any) -> Any:
    return value if hasattr(value, "__html__") else visible(str(value), keep="")
