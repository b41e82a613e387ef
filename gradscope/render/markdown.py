"""The report in Markdown, for a pull request or an issue."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradscope.check import Report
from gradscope.escape import markdown, one_line, plain
from gradscope.model import SEVERITIES, Finding
from gradscope.render._cost import cost
from gradscope.render.terminal import PIPE_WIDTH
from gradscope.render.text import frame_rows
from gradscope.unwatched import NO_PASS, hints

FORMAT = "markdown"
SUFFIX = ".md"


def render(report: Report) -> str:
    """The whole report, with the source of every finding."""
    blocks = [*_head(report)]
    for finding in report.findings:
        blocks += _finding(report, finding)
    blocks += [f"> note: {text}" for text in report.notes]
    blocks += [f"> next: {markdown(text)}" for text in hints(report.trace)]
    blocks += [f"> fault: {markdown(fault)}" for fault in report.faults]
    return "\n\n".join(blocks) + "\n"


def _head(report: Report) -> Iterator[str]:
    program, summary = report.trace.program, report.trace.summary
    argv = " ".join(str(arg) for arg in program.get("argv", []))
    yield f"# gradscope: {_code(argv)}" if argv else "# gradscope"
    counts = ", ".join(f"{n} {s}{'' if n == 1 else 's'}" for s in SEVERITIES if (n := report.count(s)))
    yield f"**{counts or ('Nothing to report' if summary['passes'] else NO_PASS.capitalize())}**"
    cells = [summary["steps"], summary["passes"], summary["distinct_graphs"], summary["nodes"]]
    yield (
        "| steps | backward passes | distinct graphs | nodes of the largest | cost |\n|---:|---:|---:|---:|---:|\n"
        f"| {' | '.join(f'{cell:,}' for cell in cells)} | {cost(report)} |"
    )
    if program.get("exception"):
        yield f"The run ended by {_code(str(program['exception'].get('type')))}."


def _finding(report: Report, finding: Finding) -> Iterator[str]:
    times = f" ({markdown(finding.extent)})" if finding.extent else ""
    yield f"## {finding.severity} {finding.code or finding.name}: {markdown(finding.message)}{times}"
    frame = "\n".join(row.plain.rstrip() for row in frame_rows(report, finding, PIPE_WIDTH))
    if frame:
        yield _fenced(frame)
    items = [("seen", text) for text in finding.seen] + [("why", finding.why), ("fix", finding.fix)]
    yield "\n".join(
        f"- **{label}:** {markdown(text)}" for label, text in [*items, ("rule", finding.name)] if text
    )  # fmt: skip


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{plain(text, keep=chr(10))}\n{fence}"


def _code(text: str) -> str:
    """Inline code that holds any text, backticks too."""
    safe = one_line(text)
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", safe)), default=0) + 1)
    pad = " " if "`" in safe else ""
    return f"{ticks}{pad}{safe}{pad}{ticks}"
