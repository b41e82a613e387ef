"""The mechanical fixes as a patch, for `patch -p0` or `git apply -p0`."""

from __future__ import annotations

import codecs
import difflib
import io
from collections.abc import Iterator, Mapping
from contextlib import suppress

from gradscope.analysis.names import relative
from gradscope.check import Report
from gradscope.escape import one_line
from gradscope.fixes.patch import patched

FORMAT = "diff"
SUFFIX = ".patch"


def render(report: Report) -> str:
    """A unified diff against the sources as they were when the program ran; "" where no
    finding has a fix that can be made without understanding the program."""
    sources = report.trace.sources
    cwd = report.trace.program.get("cwd") or ""
    return difference(sources, patched(sources, report.findings).texts, cwd)


def difference(sources: Mapping[str, str], changed: Mapping[str, str], cwd: str) -> str:
    """The patch that makes the changed files of those that were there, as seen from `cwd`."""
    return "".join(
        line
        for path in sorted(changed)
        for line in _diff(one_line(relative(path, cwd)), *_as_stored(path, sources[path], changed[path]))
    )


def _as_stored(path: str, *texts: str) -> tuple[str, ...]:
    """The texts with the mark that the file begins with, if it does: Python does not take it for source."""
    with suppress(OSError, ValueError), open(path, "rb") as file:
        if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8:
            return tuple(f"\ufeff{text}" for text in texts)
    return texts


def _diff(path: str, old: str, new: str) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(old), _lines(new), path, path):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """The lines that `patch` counts: a carriage return is part of its line."""
    return io.StringIO(text, newline="\n").readlines()
