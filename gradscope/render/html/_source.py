"""The files of a page, line by line, with what happened on each in the gutter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from gradscope.analysis.names import relative
from gradscope.analysis.words import counted
from gradscope.check import Report
from gradscope.escape import one_line, plain
from gradscope.model import GRADIENTS_OFF, SEVERITIES
from gradscope.render import _style as style
from gradscope.source import lines_of
from gradscope.store import LineWork, Pages

MOST = 20_000  # lines of a page; of more only those near what happened
NEAR = 6  # lines around those
_COLOURS = ((Comment, "c"), (String, "s"), (Number, "n"), (Keyword, "k"), (Operator.Word, "k"),
            (Name.Function, "f"), (Name.Class, "f"), (Name.Decorator, "f"))  # fmt: skip


@dataclass
class Line:
    """One line: its text in coloured pieces, signs in the gutter with what they mean."""

    number: int
    pieces: list[tuple[str, str]]  # (class, text)
    signs: list[tuple[str, str]] = field(default_factory=list)  # (class, sign)
    nodes: int = 0
    said: list[str] = field(default_factory=list)
    quiet: bool = False  # gradients are switched off here
    after_gap: bool = False

    @property
    def worked(self) -> bool:
        """Whether anything happened on it."""
        return bool(self.said)


@dataclass
class File:
    """One of the program's files. path: as the trace has it; shown: as the user knows it."""

    path: str
    shown: str
    lines: list[Line]


def files_of(report: Report) -> list[File]:
    """The files that did something, those with findings first."""
    trace = report.trace
    cwd = trace.program.get("cwd") or ""
    work = Pages(trace).work_by_line()
    used = {site.user.path for site in trace.sites}
    flagged = Counter(place.path for finding in report.findings for place in finding.locations)
    paths = [path for path in trace.sources if path in used] or list(trace.sources)
    paths.sort(key=lambda path: (-flagged[relative(path, cwd)], path))
    total = sum(len(trace.lines(path)) for path in paths)
    found = []
    for path in paths:
        file = _Marked(report, path, relative(path, cwd), work)
        found.append(File(path, one_line(file.shown), list(file.lines(whole=total <= MOST))))
    return found


class _Marked:
    """A file with what the trace knows of its lines."""

    def __init__(self, report: Report, path: str, shown: str, work: dict[tuple[str, int], LineWork]):
        self._text = report.trace.sources.get(path, "")
        self.shown = shown
        self._work = {line: done for (file, line), done in work.items() if file == path}
        self._places: dict[int, list[tuple[str, str, str]]] = {}  # line → (severity, role, what is said)
        for finding in report.findings:
            for place in finding.locations:
                if place.path == shown or place.path == path:
                    label = f": {place.label}" if place.label else ""
                    text = f"{finding.code or finding.name} ({place.role}{label}): {finding.message}"
                    self._places.setdefault(place.line, []).append((finding.severity, place.role, text))
        self._quiet: set[int] = set()
        for region in report.trace.regions.values():
            site = region.site.user
            own = all(
                frame.kind != "torch" for frame in region.site.stack
            )  # not what `nn.init` does for itself
            if own and site.path == path and region.kind in GRADIENTS_OFF:
                self._quiet.update(range(site.line, max(region.end_line or 0, site.end_line) + 1))

    def lines(self, whole: bool) -> Iterator[Line]:
        busy = {*self._work, *self._places}
        kept = {n for line in busy for n in range(line - NEAR, line + NEAR + 1)}
        gap = False
        for number, pieces in enumerate(_coloured(self._text), 1):
            if not whole and number not in kept:
                gap = True
                continue
            yield self._line(number, pieces, gap)
            gap = False

    def _line(self, number: int, pieces: list[tuple[str, str]], gap: bool) -> Line:
        line = Line(number, pieces, quiet=number in self._quiet, after_gap=gap)
        told = self._places.get(number, [])
        line.said += [one_line(text) for _, _, text in told]
        roles = {role for _, role, _ in told}
        worst = min((SEVERITIES.index(severity) for severity, _, _ in told), default=0)
        if "cause" in roles:
            line.signs.append((SEVERITIES[worst], style.CAUSE_SIGN))
        elif told:
            line.signs.append((SEVERITIES[worst], style.EFFECT_SIGN))
        if (work := self._work.get(number)) is not None:
            line.nodes = work.nodes
            line.said.append(
                f"{counted(work.ops, 'op')} ran here, {counted(work.nodes, 'grad_fn node')} built"
            )
            if work.cuts:
                line.signs.append(("cut", style.CUT_SIGN))
                line.said.append(f"the gradient was cut here {_times(work.cuts)}")
            if work.writes:
                line.signs.append(("write", style.LOOKS["write"].sign))
                line.said.append(f"written in place {_times(work.writes)}")
        if line.quiet:
            line.said.append("gradients are switched off here")
        return line


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _coloured(text: str) -> list[list[tuple[str, str]]]:
    """The lines of a Python file as pieces with a class each."""
    lines: list[list[tuple[str, str]]] = [[]]
    lexer = PythonLexer(stripnl=False, stripall=False, ensurenl=False)
    joined = "\n".join(lines_of(text))
    for kind, piece in lexer.get_tokens(joined):
        name = _colour(kind)
        for at, part in enumerate(piece.split("\n")):
            if at:
                lines.append([])
            shown = plain(part.expandtabs(4))
            if not shown:
                continue
            if lines[-1] and lines[-1][-1][0] == name:
                lines[-1][-1] = (name, lines[-1][-1][1] + shown)
            else:
                lines[-1].append((name, shown))
    return lines


def _colour(kind: _TokenType) -> str:
    return next((name for known, name in _COLOURS if kind in known), "")
