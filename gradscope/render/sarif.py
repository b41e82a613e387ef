"""SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif/sarif/v2.1.0/"""

from __future__ import annotations

import json
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import gradscope
from gradscope.analysis.names import relative
from gradscope.baseline import fingerprint
from gradscope.check import Report
from gradscope.model import Finding, Location
from gradscope.rules import Rule, all_rules

FORMAT = "sarif"
SUFFIX = ".sarif"

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: Report) -> str:
    """The report as one SARIF run."""
    rules = list(all_rules().values())
    driver: dict[str, Any] = {
        "name": "gradscope",
        "version": gradscope.__version__,
        "rules": [_rule(rule) for rule in rules],
    }
    index = {rule.code: number for number, rule in enumerate(rules)}
    seen: dict[str, int] = {}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": [_result(report, finding, index, seen) for finding in report.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why or rule.title},
        "help": {"text": rule.doc or rule.title},
        "defaultConfiguration": {"level": rule.severity, "enabled": rule.default},
    }


def _invocation(report: Report) -> dict[str, Any]:
    notes = [{"level": "error", "message": {"text": fault}} for fault in report.faults]
    notes += [{"level": "warning", "message": {"text": text}} for text in report.notes]
    found: dict[str, Any] = {"executionSuccessful": not report.faults}
    if notes:
        found["toolExecutionNotifications"] = notes
    return found


def _result(report: Report, finding: Finding, index: dict[str, int], seen: dict[str, int]) -> dict[str, Any]:
    key = fingerprint(finding, report.lines_of(finding))
    seen[key] = seen.get(key, 0) + 1
    result: dict[str, Any] = {
        "ruleId": finding.code or finding.name,
        "level": finding.severity,
        "message": {"text": _message(finding)},
        "occurrenceCount": finding.count,
        **({"properties": {"ranks": list(finding.ranks.numbers)}} if finding.ranks is not None else {}),
        "locations": [_location(place) for place in finding.locations[:1]],
        "partialFingerprints": {"gradscope/v1": f"{key}:{seen[key]}"},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    related = [
        _location(place) | {"id": number, "message": {"text": _label(place)}}
        for number, place in enumerate(finding.locations, start=1)
    ]
    if related:
        result["relatedLocations"] = related
    if finding.edits:
        result["fixes"] = [_fix(report, finding)]
    return result


def _fix(report: Report, finding: Finding) -> dict[str, Any]:
    cwd = report.trace.program.get("cwd") or ""
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in finding.edits:
        region = {"startLine": edit.line, "startColumn": edit.column}
        region |= {"endLine": edit.end_line, "endColumn": edit.end_column}
        replaced = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
        changes.setdefault(relative(edit.path, cwd), []).append(replaced)
    return {
        "description": {"text": finding.fix},
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": rows} for path, rows in changes.items()
        ],
    }


def _message(finding: Finding) -> str:
    fix = [f"Fix: {finding.fix}"] if finding.fix else []
    return "\n".join([finding.message, *finding.besides, *finding.seen, *fix])


def _label(place: Location) -> str:
    return f"{place.role}: {place.label}" if place.label else place.role


def _location(place: Location) -> dict[str, Any]:
    region: dict[str, int] = {"startLine": max(place.line, 1), "startColumn": max(place.column, 1)}
    if place.end_line >= place.line and place.end_column >= 1:
        region |= {"endLine": max(place.end_line, 1), "endColumn": place.end_column}
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(place.path), "region": region}
    }
    if place.function:
        found["logicalLocations"] = [{"name": place.function, "kind": "function"}]
    return found


def _artifact(path: str) -> dict[str, Any]:
    if PurePath(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(path, errors="backslashreplace"), "uriBaseId": "%SRCROOT%"}
