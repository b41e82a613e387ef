"""Runs the rules over a trace and makes of what they yield what the user is told."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import reduce
from pathlib import Path
from time import perf_counter
from typing import Any

from gradscope.analysis.counted import is_at_least
from gradscope.analysis.names import relative
from gradscope.analysis.since import called, since_places
from gradscope.baseline import Baseline
from gradscope.collector import paused
from gradscope.config import Config
from gradscope.crashes import explain_crash
from gradscope.fixes.patch import patched
from gradscope.model import SEVERITIES, Finding, GradscopeError, Location, Since, Site
from gradscope.rules import Rule, all_rules, closest
from gradscope.store import Run, Trace
from gradscope.suppress import Suppressions
from gradscope.unwatched import unwatched


@dataclass(frozen=True)
class Report:
    """A trace with what is to be told about it: what every renderer gets.

    `faults` are gradscope's own failures, one line each; `unused_ignores` the
    `# gradscope: ignore` comments that silenced nothing, as (path, line); `accepted`
    how many findings the baseline holds back; `seconds` what finding it all took; `notes`
    what was not watched, or is missing, a sentence each. `run`: that of several processes
    which is told of, `trace` is then the first one's.
    """

    trace: Trace
    findings: Sequence[Finding]
    faults: Sequence[str] = ()
    unused_ignores: Sequence[tuple[str, int]] = ()
    accepted: int = 0
    seconds: float = 0.0
    notes: Sequence[str] = ()
    run: Run | None = None

    def count(self, severity: str) -> int:
        return sum(finding.severity == severity for finding in self.findings)

    def source(self, path: str) -> list[str]:
        """The lines of a file that a location names, as they were when the program ran."""
        cwd = self.trace.program.get("cwd") or ""
        for trace in [self.trace, *(member.trace for member in (self.run.members if self.run else ()))]:
            if lines := trace.lines(path) or trace.lines((Path(cwd) / path).as_posix()):
                return lines
        return []

    def lines_of(self, finding: Finding) -> list[str]:
        """The lines of the file of the finding's first location."""
        return self.source(finding.locations[0].path) if finding.locations else []


def check(trace: Trace, config: Config | None = None) -> list[Finding]:
    """What the rules say about `trace`, most severe first."""
    return list(examine(trace, config).findings)


def examine(
    trace: Trace, config: Config | None = None, *, each: bool = False, more: Sequence[Finding] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Report:  # fmt: skip
    """Like `check`, as a whole report: with the rules that failed and the unused ignores.
    `each` keeps notes apart that say the same of several places; `more` was found of this trace by
    looking at others too (gradscope/together.py): findings of rules, and explanations of torch's errors.
    `progress` is told of each rule that is done: how many, of how many.

    Raises GradscopeError for an unknown code in `config` and for a damaged trace.
    """
    began = perf_counter()
    config = config or Config()
    cwd = trace.program.get("cwd") or ""
    with paused():
        rules = selected_rules(config)
        found, faults = _run(rules, trace, cwd, progress)
    found += [finding for finding in more if finding.code]
    better = {finding.name: finding for finding in more if not finding.code}
    faults = [*trace.meta.get("faults", ()), *faults]
    found = _fold_named(_fold_consequences(_fold_equal(found)))
    found = [replace(f, at_least=True) if is_at_least(trace, f.count) else f for f in found]
    found += _explained(trace, found, better, cwd, faults)
    suppressions = Suppressions(trace.sources)
    kept = [
        finding
        for finding in found
        if not suppressions.silences(finding) and not _ignored_in_file(finding, config, Path(cwd))
    ]
    unused = tuple(
        (relative(path, cwd), line) for path, line in suppressions.unused([rule.code for rule in rules])
    )
    kept.sort(key=in_order)
    report = Report(
        trace, kept, tuple(faults), unused, seconds=perf_counter() - began, notes=tuple(unwatched(trace))
    )
    baseline = Baseline(config.baseline)
    fresh = [finding for finding in kept if not baseline.accepts(finding, report.lines_of(finding))]
    told = fresh if each else _fold_notes(fresh)
    return replace(report, findings=tuple(told), accepted=len(kept) - len(fresh))


def without_stacks(finding: Finding) -> Finding:
    """A finding for another process: its sites without the stacks around them, which may be deep, and of what it is
    about the parameters."""
    cause, effect = (site and replace(site, parent=None) for site in (finding.cause, finding.effect))
    related = tuple((replace(site, parent=None), label) for site, label in finding.related)
    about = frozenset(subject for subject in finding.subjects if subject[0] == "parameter")
    return replace(finding, cause=cause, effect=effect, related=related, subjects=about)


def fails(findings: Iterable[Finding], fail_on: str) -> bool:
    """Whether any finding is as severe as `fail_on` ("error", "warning", "note", "never") or more."""
    if fail_on == "never":
        return False
    allowed = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(finding.severity in allowed for finding in findings)


# -- which rules ---------------------------------------------------------------


def selected_rules(config: Config) -> list[Rule]:
    """The rules that `config` leaves on: the longest prefix that fits a code decides,
    and ignoring wins over selecting with the same prefix."""
    rules = all_rules()
    selected = _known(config.select or (), "select", rules) + _known(
        config.extend_select, "extend-select", rules
    )
    ignored = _known(config.ignore, "ignore", rules)
    for glob, codes in config.per_file_ignores:
        _known(codes, f"per-file-ignores of {glob!r}", rules)
    kept = []
    for code, rule in rules.items():
        chosen = _longest(code, selected)
        if chosen < 0 and config.select is None and rule.default:
            chosen = 0
        if chosen > _longest(code, ignored):
            kept.append(rule)
    return kept


def _known(codes: Iterable[str], where: str, rules: dict[str, Rule]) -> list[str]:
    found = []
    for text in codes:
        code = text.strip().upper()
        if not code or not any(known.startswith(code) for known in rules):
            raise GradscopeError(f"unknown code `{text}` in {where}{closest(code, list(rules))}")
        found.append(code)
    return found


def _longest(code: str, prefixes: Iterable[str]) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


# -- running them --------------------------------------------------------------


def _run(
    rules: list[Rule], trace: Trace, cwd: str, progress: Callable[[int, int], None] | None = None
) -> tuple[list[Finding], list[str]]:
    found: list[Finding] = []
    faults: list[str] = []
    if not (trace.segments or trace.events or trace.summary["passes"]):
        return (
            found,
            faults,
        )  # a program that only imports torch: loading the rules takes longer than its report
    for done, rule in enumerate(rules):
        if progress is not None:
            progress(done, len(rules))
        try:
            for finding in rule.check(trace):
                finding = replace(finding, since=called(trace, finding.since or since_places(trace, finding)))
                found.append(complete(finding, rule, trace, cwd))
        except GradscopeError:  # the trace itself can't be read
            raise
        except Exception as error:  # one broken rule must not cost the user the others
            faults.append(fault_of(rule, error))
    return found, faults


def fault_of(rule: Rule, error: Exception) -> str:
    """What is told of a rule that failed."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"rule {rule.code} failed and said nothing more: {type(error).__name__}: {error}{place}"


def complete(finding: Finding, rule: Rule, trace: Trace, cwd: str) -> Finding:
    """With what its rule says of all findings, and with locations."""
    severity = finding.severity or rule.severity
    if severity not in SEVERITIES or SEVERITIES.index(severity) < SEVERITIES.index(rule.severity):
        severity = rule.severity
    edits = finding.edits if not finding.edits or patched(trace.sources, [finding]).made else ()
    return replace(
        finding,
        edits=edits,  # but none that leave no Python
        code=rule.code,
        name=rule.name,
        severity=severity,
        symptom=rule.symptom,
        why=finding.why or rule.why,
        fix=finding.fix or rule.fix,
        locations=finding.locations or tuple(_locations(finding, trace, cwd)),
    )


def _explained(
    trace: Trace, found: list[Finding], better: Mapping[str, Finding], cwd: str, faults: list[str]
) -> list[Finding]:
    """An explanation of torch's own error. It has no code: nobody needs to silence it. better: by name, those that
    know of other ranks too."""
    try:
        return [
            replace(finding, severity="error", locations=tuple(_locations(finding, trace, cwd)))
            for finding in (better.get(one.name, one) for one in explain_crash(trace, found))
        ]
    except GradscopeError:
        raise
    except Exception as error:
        faults.append(f"explaining the error failed: {type(error).__name__}: {error}")
        return []


def _locations(finding: Finding, trace: Trace, cwd: str) -> Iterable[Location]:
    if finding.cause is not None:
        yield _location("cause", finding.cause, finding.cause_label, trace, cwd)
    if finding.effect is not None:
        yield _location("effect", finding.effect, finding.effect_label, trace, cwd)
    for site, label in finding.related:
        yield _location("related", site, label, trace, cwd)


def _location(role: str, site: Site, label: str, trace: Trace, cwd: str) -> Location:
    site = trace.source_file(site.path).head(site)
    return Location(
        role,
        relative(site.path, cwd),
        site.line,
        site.column,
        site.end_line,
        site.end_column,
        site.function,
        label,
        "\n".join(trace.source_file(site.path).lines[site.line - 1 : max(site.line, site.end_line)]),
    )


# -- folding -------------------------------------------------------------------

# What a sentence has measured: it may differ between models, or ranks, of which the same is said.
NUMBER = re.compile(r"(?<![\w.`'\"-])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w`'\"])")


def _without_numbers(message: str) -> str:
    """A sentence without what it has measured: what it quotes is kept."""
    parts = message.split("`")
    return "`".join(part if n % 2 else NUMBER.sub("#", part) for n, part in enumerate(parts))


def _fold_equal(found: list[Finding]) -> list[Finding]:
    """One finding for all that say the same of the same places, perhaps of other models that the program has made
    there, with the sum of their counts."""
    folded: dict[object, Finding] = {}
    for finding in found:
        spans = tuple((p.role, p.path, p.line, p.column, p.end_line, p.end_column) for p in finding.locations)
        key = (finding.code, _without_numbers(finding.message), spans)
        first = folded.get(key)
        if first is None:
            folded[key] = finding
        else:
            folded[key] = replace(
                first,
                count=first.count + finding.count,
                at_least=first.at_least or finding.at_least,
                subjects=first.subjects | finding.subjects,
                severity=min(first.severity, finding.severity, key=SEVERITIES.index),
                since=_earlier(first.since, finding.since),
            )
    return list(folded.values())


def _earlier(one: Since | None, other: Since | None) -> Since | None:
    return min((since for since in (one, other) if since), key=lambda since: since.step, default=None)


def _fold_consequences(found: list[Finding]) -> list[Finding]:
    """Without the findings whose cause others, of rules over theirs, have told."""
    rules = all_rules()
    roots: dict[str, list[Finding]] = {}  # code → the findings that may be its root
    for finding in found:
        for code in rules[finding.code].over:
            roots.setdefault(code, []).append(finding)
    return [f for f in found if not _explained_by(f, roots.get(f.code, ()))]


def _fold_named(found: list[Finding]) -> list[Finding]:
    """Without the notes of which another finding names every place, with words of its own."""
    named: dict[tuple[str, int, int], set[str]] = {}  # place → codes that name it
    for finding in found:
        for place in finding.locations:
            if place.role == "related":
                named.setdefault(_span(place), set()).add(finding.code)

    def told(finding: Finding) -> bool:
        return bool(finding.locations) and all(
            place.role == "cause" and named.get(_span(place), set()) - {finding.code}
            for place in finding.locations
        )

    return [f for f in found if f.severity != "note" or not told(f)]


def _span(place: Location) -> tuple[str, int, int]:
    return place.path, place.line, place.column


def _explained_by(finding: Finding, roots: Iterable[Finding]) -> bool:
    """Whether these roots account for all that the finding is about: the same value, call or error,
    or each of its parameters. A line is no evidence: one `loss.backward()` serves every layer."""
    told: set[Any] = set()
    for root in roots:
        if root.severity != "note" or finding.severity == "note":  # less cannot stand for more
            told |= root.subjects if root.subjects & finding.subjects else set()
    shared = finding.subjects & told
    mine = {subject for subject in finding.subjects if subject[0] == "parameter"}
    if all(subject[0] in ("parameter", "optimizer") for subject in shared) and mine:
        return mine <= shared
    return bool(shared)


def _fold_notes(found: list[Finding]) -> list[Finding]:
    """One note for all of a code that each name a place and have no effect, or the same one."""
    groups: dict[object, list[Finding]] = {}
    for finding in found:
        alone = finding.severity != "note" or not finding.locations
        effect = tuple((p.path, p.line) for p in finding.locations if p.role == "effect")
        key = id(finding) if alone else (finding.code, effect)
        groups.setdefault(key, []).append(finding)
    return [_together(notes) if len(notes) > 1 else notes[0] for notes in groups.values()]


def _together(notes: list[Finding]) -> Finding:
    first, others = notes[0], notes[1:]
    shown = {(place.path, place.line) for place in first.locations if place.role != "cause"}
    also = [
        replace(place, role="related", label=place.label or "and here")
        for note in others
        for place in note.locations
        if (place.path, place.line) not in shown
    ]
    places = "place" if len(others) == 1 else "places"
    return replace(
        first,
        message=f"{first.message} (and {len(others)} more {places})",
        locations=(*first.locations, *also),
        count=sum(note.count for note in notes),
        at_least=any(note.at_least for note in notes),
        edits=tuple(dict.fromkeys(edit for note in notes for edit in note.edits)),
        subjects=first.subjects.union(*(note.subjects for note in others)),
        since=reduce(_earlier, (note.since for note in notes)),
    )


# -- leaving out, ordering -------------------------------------------------------


def _ignored_in_file(finding: Finding, config: Config, cwd: Path) -> bool:
    """By `per-file-ignores`: the file of the finding's first location decides."""
    if not finding.locations:
        return False
    absolute = cwd / finding.locations[0].path
    seen_from_root = relative(str(absolute), str(config.root or cwd))
    for glob, codes in config.per_file_ignores:
        fits = any(fnmatch(path, glob) for path in (seen_from_root, absolute.name))
        if fits and any(finding.code.startswith(code.strip().upper()) for code in codes):
            return True
    return False


def in_order(finding: Finding) -> tuple[int, bool, str, int, str]:
    """What findings are sorted by: what is measured before what is only the likeliest."""
    place = finding.locations[0] if finding.locations else None
    return (
        SEVERITIES.index(finding.severity),
        finding.symptom,
        place.path if place else "",
        place.line if place else 0,
        finding.code,
    )
