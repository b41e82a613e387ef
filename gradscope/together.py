"""What the rules say about a run of several processes: each one by itself, and what shows only beside the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter

from gradscope.analysis.standing import how_it_ended
from gradscope.check import NUMBER, Report, complete, examine, fault_of, in_order, selected_rules
from gradscope.config import Config
from gradscope.crashes.distributed import explain_across
from gradscope.model import SEVERITIES, Finding, GradscopeError, Ranks
from gradscope.rules import all_rules
from gradscope.store import Member, Run, Trace

# The names that follow a first one: "`a`, `b` and 2 more".
_LISTED = re.compile(r"(`[^`]+`)(?:(?:, | and )(?:`[^`]+`|\d[\d,]* more))+")


def examine_path(opened: Trace | Run, config: Config | None = None, *, each: bool = False) -> Report:
    """The report of a trace or of a run; of one process of several also what rules that compare them say of it."""
    if isinstance(opened, Run):
        return examine_run(opened, config, each=each)
    if opened.program.get("rank"):
        return examine_run(Run.alone(opened), config, each=each)
    return examine(opened, config, each=each)


def examine_run(run: Run, config: Config | None = None, *, each: bool = False) -> Report:
    """One report of all processes: what several of them say is told once, with who says it.

    Raises GradscopeError for an unknown code in `config` and for a damaged trace.
    """
    began = perf_counter()
    config = config or Config()
    more, faults = _across(run, config)
    reports = []
    told: dict[int, list[Finding]] = {}
    for member, finding in more:
        told.setdefault(id(member), []).append(finding)
    for group in _said_alike(run, told):
        try:
            report = examine(group[0].trace, config, each=each, more=told.get(id(group[0]), ()))
            reports += [(member, report) for member in group]
        except GradscopeError as error:
            faults.append(f"{group[0].name}: {error}")
        for member in group if len(run.members) > len(run.alike) else ():
            member.trace.close()
    if not reports:
        raise GradscopeError(f"no trace in {run.path} can be read: {faults[0]}")
    first = reports[0][1]
    notes = [*run.notes, *how_it_ended(run)]
    for text, members in _alike((text, member) for member, report in reports for text in report.notes):
        notes.append(text if len(members) == len(reports) else f"{text} ({_named(run, members)})")
    for fault, members in _alike((fault, member) for member, report in reports for fault in report.faults):
        faults.append(fault if len(members) == len(reports) else f"{fault} ({_named(run, members)})")
    return replace(
        first,
        findings=tuple(sorted(_without_consequences(_merged(run, reports)), key=in_order)),
        faults=tuple(dict.fromkeys(faults)),
        unused_ignores=tuple(
            place for place in first.unused_ignores if all(place in r.unused_ignores for _, r in reports)
        ),
        accepted=max(report.accepted for _, report in reports),
        seconds=perf_counter() - began,
        notes=tuple(notes),
        run=run,
    )


def _said_alike(run: Run, told: dict[int, list[Finding]]) -> list[list[Member]]:
    """Those that have something to say (a parent that only waits for its children has not), in groups of which one
    stands for all: they have done the same, and what comparing them found is the same."""
    groups: dict[object, list[Member]] = {}
    for number, group in enumerate(run.alike):
        for member in group:
            if member.rank is not None or member.trace.summary["passes"]:
                found = frozenset(_key(finding) for finding in told.get(id(member), ()))
                groups.setdefault((number, found), []).append(member)
    return list(groups.values()) or [[member] for member in run.members]


def _across(run: Run, config: Config) -> tuple[list[tuple[Member, Finding]], list[str]]:
    found: list[tuple[Member, Finding]] = []
    faults = []
    for rule in selected_rules(config):
        if rule.across is None:
            continue
        try:
            for member, finding in rule.across(run):
                cwd = member.trace.program.get("cwd") or ""
                found.append((member, complete(finding, rule, member.trace, cwd)))
        except GradscopeError as error:
            faults.append(str(error))
        except Exception as error:  # one broken rule must not cost the user the others
            faults.append(fault_of(rule, error))
    try:
        found += explain_across(run)
    except GradscopeError as error:
        faults.append(str(error))
    except Exception as error:
        faults.append(f"explaining how the ranks ended failed: {type(error).__name__}: {error}")
    return found, faults


def _merged(run: Run, reports: list[tuple[Member, Report]]) -> list[Finding]:
    groups: dict[object, list[tuple[Member, Finding]]] = {}
    for member, report in reports:
        for finding in report.findings:
            key = _key(finding, whole=member.rank is not None)
            groups.setdefault(key, []).append((member, finding))
    return [_together(run, alike) for alike in groups.values()]


def _without_consequences(found: list[Finding]) -> list[Finding]:
    """Without what only some ranks have and what follows from a finding of all of them: one whose gradients alone were
    not clipped computes infinite numbers alone."""
    rules = all_rules()
    began: dict[str, int] = {}  # code → the first step of a finding that it follows from
    for finding in found:
        if finding.severity == "error" and finding.since is not None and _on_all(finding.ranks):
            for code in rules[finding.code].over_apart if finding.code else ():
                began[code] = min(finding.since.step, began.get(code, finding.since.step))
    return [
        f for f in found
        if f.code not in began or _on_all(f.ranks) or (f.since is not None and f.since.step < began[f.code])
    ]  # fmt: skip


def _on_all(ranks: Ranks | None) -> bool:
    return ranks is None or len(ranks.numbers) == ranks.of


def _key(finding: Finding, whole: bool = True) -> object:
    """What is the same of a finding on every rank: code, lines and the names in its sentence. Of children without a
    rank only the first name: one has trained a model more often than another."""
    message = finding.message if whole else _LISTED.sub(r"\1", finding.message)
    spans = tuple((p.role, p.path, p.line, p.column) for p in finding.locations if p.role != "related")
    return finding.code or finding.name, NUMBER.sub("#", message), spans


def _together(run: Run, alike: list[tuple[Member, Finding]]) -> Finding:
    findings = [finding for _, finding in alike]
    since = [finding.since for finding in findings if finding.since is not None]
    return replace(
        findings[0],
        severity=min((f.severity for f in findings), key=SEVERITIES.index),
        count=max(f.count for f in findings),
        at_least=any(f.at_least for f in findings),
        since=min(since, key=lambda s: s.step, default=None),
        ranks=_ranks(run, [member for member, _ in alike]),
    )


def _ranks(run: Run, members: Iterable[Member]) -> Ranks:
    kept = {id(member): member for member in members}.values()
    numbers = sorted(member.rank for member in kept if member.rank is not None)
    return Ranks(tuple(numbers), run.world, tuple(m.name for m in kept if m.rank is None))


def _named(run: Run, members: list[Member]) -> str:
    return str(_ranks(run, members))


def _alike(texts: Iterable[tuple[str, Member]]) -> list[tuple[str, list[Member]]]:
    found: dict[str, list[Member]] = {}
    for text, member in texts:
        found.setdefault(text, []).append(member)
    return list(found.items())
