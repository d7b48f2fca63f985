"""An impact as one HTML page: no scripts, nothing from elsewhere, and every name escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ranger_cdap.cli.impact_formats import ImpactReport, notes, on_one_line, summary

if TYPE_CHECKING:
    import jinja2


def page(report: ImpactReport) -> str:
    """Return the page, from `templates/impact.html`."""
    sections = [("Gained", report.of(gained=True)), ("Lost", report.of(gained=False))]
    return _template().render(report=report, summary=summary(report), sections=sections, notes=notes)


@cache
def _template() -> jinja2.Template:
    import jinja2  # here, because every command imports this module, and few write the page

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ranger_cdap.cli"),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("impact.html")


def _shown(value: Any) -> Any:
    """Return a value as the page shows it: no name has characters that break or reorder its line."""
    return value if hasattr(value, "__html__") else on_one_line(str(value))
