"""An impact as one HTML page: no scripts, nothing from elsewhere, and every name escaped."""

from __future__ import annotations

from ranger_cdap.cli.impact_formats import ImpactReport, summary
from ranger_cdap.questions.display import page_template
from ranger_cdap.questions.impact_text import notes


def page(report: ImpactReport) -> str:
    """Return the page, from `templates/impact.html`."""
    sections = [("Gained", report.of(gained=True)), ("Lost", report.of(gained=False))]
    return page_template("ranger_cdap.cli", "impact.html").render(
        report=report, summary=summary(report), sections=sections, notes=notes
    )
