"""One line a finding: `path:line:col: error GS201 message`."""

from __future__ import annotations

from gradscope.check import Report
from gradscope.escape import one_line
from gradscope.model import Finding
from gradscope.unwatched import unwatched

FORMAT = "concise"
SUFFIX = None


def render(report: Report) -> str:
    """The findings, and what was not watched, a line each; nothing where there is neither."""
    program = str((report.trace.program.get("argv") or ["?"])[0])
    lines = [_line(finding, program) for finding in report.findings]
    lines += [one_line(f"{program}: note: {text}") for text in unwatched(report.trace)]
    return "".join(f"{line}\n" for line in lines)


def _line(finding: Finding, program: str) -> str:
    place = finding.locations[0] if finding.locations else None
    where = f"{place.path}:{place.line}:{place.column}" if place else program
    times = f" ({finding.extent})" if finding.extent else ""
    return one_line(f"{where}: {finding.severity} {finding.code or finding.name} {finding.message}") + times
