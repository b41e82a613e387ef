"""The machine-readable report: one JSON object, its keys stable within a `schema_version`."""

from __future__ import annotations

import json
import math
from typing import Any

from gradscope.check import Report
from gradscope.model import Finding, Location

FORMAT = "json"
SUFFIX = ".json"

SCHEMA_VERSION = 1


def render(report: Report) -> str:
    """The report as JSON (ASCII, so that no text of the program can break a reader)."""
    program = report.trace.program
    data = {
        "schema_version": SCHEMA_VERSION,
        "program": {
            "argv": list(program.get("argv", [])),
            "exit_code": program.get("exit_code"),
            "exception": _exception(program.get("exception")),
        },
        "summary": {key: _number(value) for key, value in report.trace.summary.items()},
        "unwatched": list(report.notes),
        "findings": [_finding(finding) for finding in report.findings],
    }
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def _exception(exception: dict[str, Any] | None) -> dict[str, Any] | None:
    return exception and {"type": exception.get("type"), "text": exception.get("text")}


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "count": finding.count,
        "at_least": finding.at_least,
        "since": finding.since.step if finding.since is not None else None,
        "since_called": finding.since.called if finding.since is not None else "",
        "ranks": list(finding.ranks.numbers) if finding.ranks is not None else None,
        "locations": [_location(place) for place in finding.locations],
        "seen": list(finding.seen),
        "why": finding.why,
        "fix": finding.fix,
    }


def _location(place: Location) -> dict[str, Any]:
    keys = ("role", "path", "line", "column", "end_line", "end_column", "function")
    return {key: getattr(place, key) for key in keys}
