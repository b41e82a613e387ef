"""The rules that compare ranks, against the programs of all of them, each run by two ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_programs import Program, parameters_of_ranks
from two_ranks import both, execute

from gradscope.model import Finding
from gradscope.store import Run
from gradscope.together import examine_run


@pytest.fixture(scope="session")
def traces(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that are asked for, run once."""
    folder = tmp_path_factory.mktemp("traces")
    cases = [
        item.callspec.params
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == Path(__file__)
    ]
    ids = {program.id for case in cases for program in case.values() if program.runs_here}
    command = [*both(), str(Path(__file__).parent / "worker.py"), str(folder), *sorted(ids)]
    ran = execute(folder, command, seconds=400, RULE_PROGRAMS=str(folder))
    assert ran.status == 0, ran.err
    return folder


def findings(traces: Path, program: Program) -> list[Finding]:
    report = examine_run(Run(traces / program.id))
    assert not report.faults
    return [finding for finding in report.findings if finding.severity != "note"]


def told(found: list[Finding]) -> list[str]:
    return [f"{f.code} {f.message} {[(p.role, p.line) for p in f.locations]} {f.seen}" for f in found]


@pytest.mark.drawn(0.25)
@pytest.mark.parametrize("bad", parameters_of_ranks("bad"))
def test_bad_is_reported_on_all_ranks_by_its_rule_alone(bad: Program, traces: Path) -> None:
    found = findings(traces, bad)
    assert [f.code for f in found] == [bad.rule.code], told(found)
    (finding,) = found
    places = {(p.role, p.line) for p in finding.locations if p.role != "related"}
    assert places == bad.marked(bad.rule.code), told(found)
    assert all(bad.shown_as(place.path) for place in finding.locations)
    assert str(finding.ranks) == "on all 2 ranks"
    assert finding.why and finding.fix and finding.seen
    assert finding.message[:1] == finding.message[:1].lower() and not finding.message.endswith(".")


@pytest.mark.drawn(0.25)
@pytest.mark.parametrize("good", parameters_of_ranks("good"))
def test_good_is_silent(good: Program, traces: Path) -> None:
    assert not findings(traces, good), told(findings(traces, good))
