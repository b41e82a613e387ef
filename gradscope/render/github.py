"""Workflow commands of GitHub Actions: each finding becomes an annotation on its line."""

from __future__ import annotations

from gradscope.check import Report
from gradscope.escape import plain
from gradscope.model import Finding

FORMAT = "github"
SUFFIX = None

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """The findings, a workflow command each; then what was not watched."""
    notes = [f"::notice title=gradscope::{_data(text)}" for text in report.notes]
    return "".join(f"{line}\n" for line in [*map(_command, report.findings), *notes])


def _command(finding: Finding) -> str:
    properties: dict[str, object] = {}
    if finding.locations:
        place = finding.locations[0]
        properties |= {"file": place.path, "line": place.line, "endLine": max(place.line, place.end_line)}
        if place.end_line == place.line:  # columns are refused across lines
            properties |= {"col": place.column, "endColumn": place.end_column}
    properties["title"] = f"{finding.code} {finding.name}".strip()
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {given}::{_data(_text(finding))}"


def _text(finding: Finding) -> str:
    other = [
        f"{place.role}: {place}{f' ({place.label})' if place.label else ''}"
        for place in finding.locations[1:]
    ]
    fix = [f"fix: {finding.fix}"] if finding.fix else []
    return "\n".join([finding.message, *finding.besides, *other, *finding.seen, *fix])


def _data(text: str) -> str:
    return plain(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
