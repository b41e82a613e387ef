"""What is told of a program before and after an edit: which finding is gone, which is new, what moved."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from gradscope.analysis.names import parameter_name
from gradscope.check import Report
from gradscope.model import Event, Finding, Site
from gradscope.source import lines_of
from gradscope.store import Trace

Place = tuple[str, int]


class Lines:
    """Which lines of the edited files those of the files before have become."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]):
        self._now = {
            path: _moved(lines_of(before[path]), lines_of(text))
            for path, text in after.items()
            if path in before and before[path] != text
        }

    def now(self, place: Place) -> set[Place]:
        path, line = place
        moved = self._now.get(path)
        return {place} if moved is None else {(path, number) for number in moved.get(line, ())}


def _moved(before: list[str], after: list[str]) -> dict[int, set[int]]:
    """Line → what it has become: itself, the lines in its place, or where its text stands now."""
    blocks = difflib.SequenceMatcher(None, before, after, False).get_opcodes()
    fresh: dict[str, set[int]] = {}
    for kind, _, _, first, last in blocks:
        for number in range(first, last) if kind != "equal" else ():
            fresh.setdefault(_code(after[number]), set()).add(number + 1)
    found: dict[int, set[int]] = {}
    for kind, start, end, first, last in blocks:
        for offset in range(end - start):
            found[start + offset + 1] = (
                {first + offset + 1}
                if kind == "equal"
                else {*range(first + 1, last + 1), *fresh.get(_code(before[start + offset]), ())}
            )
    return found


def _code(line: str) -> str:
    """A line without its comment, which does not move with it."""
    return line.partition("#")[0].strip()


class Comparison:
    """Two reports of a program: as it is, and with edits that make `after` of the text `before`."""

    def __init__(self, before: Report, after: Report, lines: Lines):
        self.before, self.after, self.lines = before, after, lines

    def is_there(self, finding: Finding) -> bool:
        """Whether a finding of before is still told."""
        return bool(self.others(finding))

    def new(self) -> list[Finding]:
        """What is told now and was not before."""
        return [f for f in self.after.findings if not any(self._same(old, f) for old in self.before.findings)]

    def others(self, finding: Finding) -> list[Finding]:
        """As what a finding of before is told now: not what another one of before says of a line."""
        told = [other for other in self.after.findings if self._same(finding, other)]
        own = [other for other in told if self._of_a_line(finding, other)]
        return own + [
            other
            for other in told
            if other not in own and not any(self._of_a_line(old, other) for old in self.before.findings)
        ]

    def same_end(self, old: Event | None, now: Event | None) -> bool:
        """Whether both events, of exceptions that ended the runs, are of one line and kind."""
        if old is None or now is None:
            return old is now
        return old.data.get("type") == now.data.get("type") and now.site.user.location() in self.now(old.site)

    def now(self, site: Site) -> set[Place]:
        """The lines that a line of before has become."""
        return self.lines.now(site.user.location())

    def _same(self, old: Finding, now: Finding) -> bool:
        """Whether both say the same of a line, or of a parameter."""
        if self._of_a_line(old, now):
            return True
        same = (old.code, old.name) == (now.code, now.name)
        return same and bool(_about(self.before.trace, old) & _about(self.after.trace, now))

    def _of_a_line(self, old: Finding, now: Finding) -> bool:
        if (old.code, old.name) != (now.code, now.name):
            return False
        moved = {place for site in _sites(old) for place in self.lines.now(site.location())}
        return bool(moved & {site.location() for site in _sites(now)})


def _sites(finding: Finding) -> Iterable[Site]:
    return (site for site in (finding.cause, finding.effect) if site is not None)


def _about(trace: Trace, finding: Finding) -> set[str]:
    """The names of the parameters that a finding is about."""
    ids = {subject[1] for subject in finding.subjects if subject[0] == "parameter"}
    return {name for p in trace.parameters if p.id in ids and (name := parameter_name(trace, p))}
