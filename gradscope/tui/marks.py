"""What stands in the gutter beside each line of the user's source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rich.text import Text

from gradscope.analysis.words import counted
from gradscope.model import GRADIENTS_OFF, SEVERITIES, Finding, Location, Region
from gradscope.store import LineWork

_FINDING = {"error": ("✗", "bold red"), "warning": ("▲", "bold yellow"), "note": ("•", "bold cyan")}
_MEANS = {
    "error": "error: this run has proven it",
    "warning": "warning: wrong in all likelihood",
    "note": "note: may be meant",
}
LEGEND = tuple((*sign, _MEANS[severity]) for severity, sign in _FINDING.items())  # of the pages
WIDTH = 9


@dataclass
class Line:
    """One line's findings, grad-mode region and work."""

    work: LineWork = field(default_factory=LineWork)
    findings: list[tuple[Finding, Location]] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    @property
    def worst(self) -> str | None:
        ranks = [SEVERITIES.index(finding.severity) for finding, _ in self.findings]
        return SEVERITIES[min(ranks)] if ranks else None

    @property
    def quiet(self) -> bool:
        """Whether a region switches gradients off here."""
        return any(region.kind in GRADIENTS_OFF for region in self.regions)

    def gutter(self) -> Text:
        """`✗ 128✂✎│`: finding, nodes built, cut, in-place write, region."""
        text = Text(end="")
        sign, style = _FINDING.get(self.worst or "", (" ", ""))
        text.append(sign, style)
        text.append(f"{_short(self.work.nodes):>5}" if self.work.nodes else " " * 5, "green")
        text.append("✂" if self.work.cuts else " ", "bold magenta")
        text.append("✎" if self.work.writes else " ", "yellow")
        text.append("┃" if self.quiet else "│", "blue" if self.regions else "dim")
        return text

    def told(self) -> Iterable[Text]:
        """The same in words."""
        work = self.work
        for finding, place in self.findings:
            sign, style = _FINDING[finding.severity]
            label = f" ({place.role}: {place.label})" if place.label else f" ({place.role})"
            yield Text.assemble((f"{sign} {finding.code} ", style), finding.message, (label, "dim"))
        if work.ops:
            words = [f"{counted(work.ops, 'op')} ran here, {counted(work.nodes, 'grad node')} built"]
            words += [f"the gradient was cut {'once' if work.cuts == 1 else f'{work.cuts:,} times'}"] * bool(
                work.cuts
            )
            words += [counted(work.writes, "in-place write")] * bool(work.writes)
            yield Text("; ".join(words))
        for region in self.regions:
            yield Text(f"under `{region.kind}`, opened at line {region.site.line}", "dim")


def lines_of(
    path: str, shown: str, work: Mapping[tuple[str, int], LineWork], findings: Iterable[Finding],
    regions: Iterable[Region],
) -> dict[int, Line]:  # fmt: skip
    """The marked lines of the file at `path`, which locations call `shown`."""
    found: dict[int, Line] = {}
    for (where, line), done in work.items():
        if where == path:
            found.setdefault(line, Line()).work = done
    for finding in findings:
        for place in finding.locations:
            if place.path in (shown, path):
                found.setdefault(place.line, Line()).findings.append((finding, place))
    for region in regions:
        site = region.site
        if site.path == path:
            for line in range(site.line, (region.end_line or site.line) + 1):
                held = found.setdefault(line, Line()).regions
                if (region.kind, site.line) not in {(r.kind, r.site.line) for r in held}:
                    held.append(region)
    return found


def _short(count: int) -> str:
    for limit, unit in ((10**6, "M"), (10**4, "k")):
        if count >= limit:
            return f"{count / (10**6 if unit == 'M' else 1000):.3g}{unit}"
    return str(count)
