"""One line a finding: `path:line:col: error GS201 message`."""

from __future__ import annotations

from gradscope.check import Report
from gradscope.escape import one_line
from gradscope.model import Finding, place_of

FORMAT = "concise"
SUFFIX = None


def render(report: Report) -> str:
    """The findings, and what was not watched, a line each; nothing where there is neither."""
    lines = [line(report, finding) for finding in report.findings]
    lines += [one_line(f"{_program(report)}: note: {text}") for text in report.notes]
    return "".join(f"{text}\n" for text in lines)


def _program(report: Report) -> str:
    return str((report.trace.program.get("argv") or ["?"])[0])


def line(report: Report, finding: Finding) -> str:
    """One finding."""
    place = finding.locations[0] if finding.locations else None
    where = place_of(place.path, place.line, place.column) if place else _program(report)
    times = f" ({finding.extent})" if finding.extent else ""
    return one_line(f"{where}: {finding.severity} {finding.code or finding.name} {finding.message}") + times
