"""Findings that a project has accepted: a file beside pyproject.toml that keeps them quiet.

So that a code base with old findings can hold the line: `gradscope check --write-baseline`
accepts what is there, and from then on only what is new is reported. A finding is known
again when lines move, not when the line it is about changes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from gradscope.model import Finding, GradscopeError

NAME = "gradscope-baseline.json"
_VERSION = 1
_KEY = "gradscope_baseline"


def fingerprint(finding: Finding, lines: Sequence[str]) -> str:
    """Stays the same when lines move: code, file, function and the line's text without its
    blanks. `lines` are those of the file of the finding's first location."""
    parts = [finding.code or finding.name]
    if finding.locations:
        place = finding.locations[0]
        parts += [place.path, place.function, "".join(_line(finding, lines).split())]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


class Baseline:
    """The accepted findings, each good for as many as were accepted. None where there is no such file."""

    def __init__(self, path: Path | None):
        self._left = Counter(_read(path) if path is not None and path.exists() else [])

    def accepts(self, finding: Finding, lines: Sequence[str]) -> bool:
        """Whether this finding is one of them. It is then used up."""
        key = fingerprint(finding, lines)
        self._left[key] -= 1
        return self._left[key] >= 0


def write_baseline(path: Path, found: Iterable[tuple[Finding, Sequence[str]]]) -> None:
    """Accepts these findings, each with the lines of its file, and no others.

    Raises GradscopeError where the file can't be written, or is there and no baseline.
    """
    if path.exists():
        _read(path)
    rows = [
        {
            "code": finding.code,
            "path": finding.locations[0].path if finding.locations else "",
            "line": _line(finding, lines).strip(),
            "fingerprint": fingerprint(finding, lines),
        }
        for finding, lines in found
    ]
    rows.sort(key=lambda row: (row["path"], row["code"], row["line"]))
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        fresh.write_text(json.dumps({_KEY: _VERSION, "findings": rows}, indent=2) + "\n", encoding="utf-8")
        os.replace(fresh, path)
    except OSError as error:
        raise GradscopeError(f"cannot write {path}: {error.strerror}") from None


def _read(path: Path) -> list[str]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GradscopeError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or _KEY not in data:
        raise GradscopeError(f"{path} is no baseline of gradscope's")
    if data[_KEY] != _VERSION:
        raise GradscopeError(f"{path} was written by another version of gradscope: write it again")
    try:
        return [str(row["fingerprint"]) for row in data["findings"]]
    except (KeyError, TypeError):
        raise GradscopeError(f"{path} is damaged: write it again") from None


def _line(finding: Finding, lines: Sequence[str]) -> str:
    number = finding.locations[0].line if finding.locations else 0
    return lines[number - 1] if 0 < number <= len(lines) else ""
