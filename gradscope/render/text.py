"""The report as a person reads it in a terminal (each finding as a frame of source)."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TextIO

from gradscope.analysis.course import courses
from gradscope.analysis.names import parameter_name
from gradscope.analysis.names import place as place_at
from gradscope.analysis.standing import outlives, signal_name
from gradscope.analysis.words import counted
from gradscope.check import Report
from gradscope.escape import one_line
from gradscope.events import Crashed
from gradscope.model import SEVERITIES, Finding, Location, Parameter, place_of
from gradscope.render._cost import cost
from gradscope.render.frames import GUTTER_STYLE, Frame, Mark, balanced
from gradscope.render.spark import sparkline
from gradscope.render.terminal import STYLES, Text, inline, print_rows, to_plain
from gradscope.store import Run
from gradscope.trying.command import why_not
from gradscope.unwatched import NO_PASS
from gradscope.unwatched import hints as what_ran

FORMAT = "full"
SUFFIX = ".txt"

_FULL = {"error": 20, "warning": 20, "note": 3}  # shown with their source; the others get a line each
_LOSSES = 4  # lines whose losses are shown
_CELLS = 16
_TITLE = 60  # columns that a finding's message keeps beside how often and since when,
_TIMES = 16  # where these take more than that
_LINES = 20  # findings with a line each; the others are counted


def render(report: Report, scope: str = "", hints: bool = True) -> str:
    """The whole report, plain. scope: what the `gradscope.watch()` that it is of is called, which is asked in
    Python. hints: with what to ask it."""
    return to_plain(partial(report_rows, report, scope=scope, hints=hints))


def show(report: Report, stream: TextIO) -> None:
    """Prints the report, in colour where `stream` is a terminal."""
    print_rows(partial(report_rows, report), stream)


def report_rows(report: Report, width: int, scope: str = "", hints: bool = True) -> Iterator[Text]:
    """The report's rows: findings, faults, summary, what to type next."""
    told: set[tuple[str, str]] = set()
    shown = dict.fromkeys(SEVERITIES, 0)
    brief: list[Finding] = []
    for finding in report.findings:
        if shown[finding.severity] < _FULL[finding.severity]:
            shown[finding.severity] += 1
            yield from finding_rows(report, finding, width, told)
            yield Text()
        else:
            brief.append(finding)
    yield from _brief_rows(brief)
    for label, told_of in summary(report, scope, hints):
        if isinstance(told_of, Text):
            yield Text.assemble((f"{label:>5}: ", f"bold {GUTTER_STYLE}"), told_of)
        else:
            yield from field_rows(label, told_of, width)


# -- one finding -----------------------------------------------------------------


def finding_rows(
    report: Report, finding: Finding, width: int, told: set[tuple[str, str]] | None = None
) -> Iterator[Text]:
    """One finding: heading, source, what was seen, why and fix. What is in `told`, (code, text),
    has been said and is left out."""
    told = set() if told is None else told
    yield from _heading_rows(finding, width)
    yield from frame_rows(report, finding, width)
    yield from field_rows("seen", finding.seen, width)
    for label, text in (("why", finding.why), ("fix", finding.fix)):
        if (finding.code, text) not in told:  # the fifth finding of a code need not say it again
            told.add((finding.code, text))
            yield from field_rows(label, [text] if text else [], width)
    yield from field_rows("more", [f"gradscope explain {finding.code}"] if finding.code else [], width)


def _heading_rows(finding: Finding, width: int) -> Iterator[Text]:
    lead = _lead(finding)
    times = f"  {finding.extent}" if finding.extent else ""
    room = width - len(lead) - len(times)
    message = one_line(finding.message)
    apart = len(times) > _TIMES and room < min(len(message), _TITLE)  # they get a row of their own
    lines = balanced(message, max(width - len(lead) if apart else room, 30)) or [""]
    for number, line in enumerate(lines):
        row = Text.assemble(
            (lead if number == 0 else " " * len(lead), STYLES[finding.severity]), (line, "bold")
        )
        if number == len(lines) - 1 and not apart:
            row.append(times, "bold magenta")
        yield row
    if apart:
        yield Text.assemble(" " * len(lead), (finding.extent, "bold magenta"))


def _lead(finding: Finding) -> str:
    return f"{finding.severity}[{finding.code}]: " if finding.code else f"{finding.severity}: "


def frame_rows(report: Report, finding: Finding, width: int) -> Iterator[Text]:
    """The finding's places: a frame for each file, that of the cause (or the effect) first."""
    by_path: dict[str, list[Location]] = {}
    for place in finding.locations:
        by_path.setdefault(place.path, []).append(place)
    numbers = [max(p.line, p.end_line) for p in finding.locations]
    gutter = len(str(max(numbers, default=1)))
    for count, (path, places) in enumerate(by_path.items()):
        marks = [_mark(place, finding, primary=place is finding.locations[0]) for place in places]
        frame = Frame(report.source(path), marks, gutter=gutter, width=width)
        arrow = Text(" " * gutter + (":::" if count else "-->"), GUTTER_STYLE)
        yield Text.assemble(arrow, f" {place_of(one_line(path), places[0].line, places[0].column)}")
        yield frame.edge()
        yield from frame.rows()
        yield frame.edge()


def _mark(place: Location, finding: Finding, *, primary: bool) -> Mark:
    role = "" if place.role == "related" else place.role
    return Mark(
        place.line, place.column, place.end_line, place.end_column,
        label=": ".join(part for part in (role, place.label) if part),
        sign="^" if primary else "-",
        style=STYLES[finding.severity] if primary else f"bold {GUTTER_STYLE}",
    )  # fmt: skip


def field_rows(label: str, texts: Sequence[str], width: int) -> Iterator[Text]:
    """` seen: …`, wrapped, each text starting a row."""
    lead = f"{label:>5}: "
    for text in texts:
        for line in textwrap.wrap(one_line(text), width - len(lead), break_long_words=False) or [""]:
            yield Text.assemble((lead, f"bold {GUTTER_STYLE}"), inline(line))
            lead = " " * len(lead)


def _brief_rows(findings: list[Finding]) -> Iterator[Text]:
    for finding in findings[:_LINES]:
        row = Text.assemble((_lead(finding), STYLES[finding.severity]))
        if finding.locations:
            row.append(f"{one_line(str(finding.locations[0]))}: ")
        row.append(one_line(finding.message))
        row.append(f"  {finding.extent}" if finding.extent else "", "bold magenta")
        yield row
    if len(findings) > _LINES:
        yield Text(f"… and {len(findings) - _LINES} more: gradscope check --output-format concise", "dim")
    if findings:
        yield Text()


# -- summary -----------------------------------------------------------------------


def summary(report: Report, scope: str = "", hints: bool = True) -> Iterator[tuple[str, Text | list[str]]]:
    """What is said below the findings: labels, each with its sentences. scope, hints: as for `render`."""
    yield "fault", [f"{fault} (please report this)" for fault in report.faults]
    unused = [
        f"`# gradscope: ignore` at {place_of(path, line)} silences nothing"
        for path, line in report.unused_ignores
    ]
    yield "note", [*report.notes, *unused[:5]]
    yield "found", _counts(report)
    if report.accepted:
        yield "known", [f"{counted(report.accepted, 'finding')} in the baseline"]
    yield "run", [run_words(report)]
    yield "loss", list(_losses(report))
    yield "cost", [cost(report)]
    if hints:
        yield "next", _asked_in_python(report, scope) if scope else _next(report)


def _counts(report: Report) -> Text:
    if not report.findings:
        judged = report.trace.summary["passes"]
        silent = Text("nothing to report", "green") if judged else Text(NO_PASS, "yellow")
        return _ended(report) or silent
    texts = [
        Text(counted(report.count(severity), severity), STYLES[severity])
        for severity in SEVERITIES
        if report.count(severity)
    ]
    return Text(", ").join(texts)


def _ended(report: Report) -> Text | None:
    """For a program that an error of its own has ended: that it has, and where."""
    crashes = report.trace.of(Crashed)
    if not crashes:
        return None
    event = crashes[-1]
    where = f"{one_line(place_at(event.site.user))}"
    kind = one_line(event.type or "an exception")
    return Text(f"nothing to report of its gradients; the program ended with {kind} at {where}")


def run_words(report: Report) -> str:
    """How long the run was, and how it ended."""
    summary, program = report.trace.summary, report.trace.program
    by_hand = max((p.updates for p in report.trace.parameters), default=0) if not summary["steps"] else 0
    steps = counted(by_hand, "update") + " by hand" if by_hand > 1 else counted(summary["steps"], "step")
    graphs, nodes = summary["distinct_graphs"], counted(summary["nodes"], "node")
    text = (
        f"{steps}, {counted(summary['passes'], 'backward pass')}, {counted(graphs, 'distinct graph')}"
        f"{', the largest' if graphs > 1 else ''} with {nodes}"
    )
    if report.run is not None and report.run.world > 1:
        # How each one ended stands in the notes.
        return f"{counted(len(report.run.ranks), 'rank')} of {report.run.world:,}; {_of(report.run)} {text}"
    return "; ".join([text, *filter(None, [_end(program)])])


def _losses(report: Report) -> Iterator[str]:
    """How the loss of each line went: a person whose model does not learn looks there first."""
    found = list(courses(report.trace))
    for course in found[:_LOSSES]:
        first, last = (f"{end:.4g}" for end in course.ends)
        bars = sparkline(course.losses, _CELLS)
        yield f"{one_line(course.name)} {first} {bars} {last} ({one_line(place_at(course.line))})"
    if more := found[_LOSSES:]:
        yield f"and of {counted(len(more), 'other line')}"


def _of(run: Run) -> str:
    return f"of {run.members[0].name}:"


def _end(program: dict[str, Any]) -> str:
    """How the run ended, where there is something to say of that."""
    code = program.get("exit_code")
    if program.get("exception"):
        return f"ended by {one_line(str(program['exception'].get('type', 'an exception')))}"
    if not program.get("ended", True) and not outlives(program):
        return "it has not ended yet, or was killed"
    if isinstance(code, int) and code < 0:
        return f"ended by {signal_name(-code)}"
    return f"exit code {code}" if code else ""


def _next(report: Report) -> list[str]:
    codes = [finding.code for finding in report.findings if finding.code]
    commands = [f"gradscope explain {codes[0]}"] if codes else []
    serious = [finding for finding in report.findings if finding.severity != "note"] or report.findings
    if any(finding.edits for finding in serious) and not why_not(report.trace, report.run):
        commands.insert(0, "gradscope fix")
    if not report.trace.summary["passes"]:
        return [*commands, *what_ran(report.trace)]
    commands.append("gradscope graph")
    asked = _to_ask_for(report)
    return [*commands, f"gradscope why {shlex.quote(asked)}"] if asked else commands


def _asked_in_python(report: Report, scope: str) -> list[str]:
    """What to call next on the scope of that name."""
    codes = [f"gradscope explain {finding.code} (in a shell)" for finding in report.findings if finding.code]
    asked = _to_ask_for(report)
    calls = [f"{scope}.graph()", *([f"{scope}.why({asked!r})"] if asked else [])]
    return [*codes[:1], *(calls if report.trace.summary["passes"] else what_ran(report.trace))]


def _to_ask_for(report: Report) -> str:
    """A parameter to ask `why` of: one that a finding is about, one that an optimizer holds and has no gradient; ""
    where none has a name, or what was found is about none and all have gradients."""
    subjects = [subject for finding in report.findings for subject in finding.subjects]
    told = [s[1] for s in subjects if isinstance(s, tuple) and s[0] == "parameter"]
    names = {p: parameter_name(report.trace, p) for p in report.trace.parameters}
    shown = [p for p, name in names.items() if name and one_line(name) == name]

    def order(p: Parameter) -> tuple[bool, ...]:
        trained = p.requires_grad and bool(p.optimizers)  # not a teacher's
        return p.id not in told, not p.registered, not trained, p.passes > 0

    asked = min(shown, key=order, default=None)
    beside = bool(report.findings) and asked is not None and asked.passes > 0 and asked.id not in told
    return names[asked] if asked is not None and not beside else ""
