"""The report as one page for a browser, with the picture to open and close, the source, the parameters, the steps.

It needs no network and allows none: its scripts stand in it, and its policy names each by its hash.
"""

from __future__ import annotations

from gradscope.check import Report

FORMAT = "html"
SUFFIX = ".html"


def render(report: Report, step: int | None = None) -> str:
    """The page. step: the optimizer step that its picture shows, where another one is wanted."""
    from gradscope.render.html._page import (
        page,
    )  # the layout and the templates are for those who ask for a page

    return page(report, step)
