"""`gradscope fix` on every wrong program: of the rules, of examples/ and of tests/questions/.

    python tests/sweeps/fixes.py                       # all; a table of what became of each rule's edits
    python tests/sweeps/fixes.py --only GS201 q1       # programs whose name begins so
    python tests/sweeps/fixes.py -o fixes.json         # kept in a file

Each program is run, and once more with the edits of its findings. Told are those that do not work: the finding
stays, the program fails, something new is told. Exits with 1 where a program fails that did not before.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from in_child import in_child  # noqa: E402
from rule_programs import programs  # noqa: E402

from gradscope.check import examine  # noqa: E402
from gradscope.commands import main as command_line  # noqa: E402
from gradscope.config import Config  # noqa: E402
from gradscope.model import Finding, GradscopeError  # noqa: E402
from gradscope.places import last_trace  # noqa: E402
from gradscope.rules import all_rules  # noqa: E402
from gradscope.store import Trace  # noqa: E402
from gradscope.trying.attempts import Attempt, Trial, try_all  # noqa: E402
from gradscope.trying.child import main as run_order  # noqa: E402

LONGEST = 120.0  # seconds of a run
STATES = ("gone", "new", "stays", "fails", "unclear", "by hand")


class Tried(NamedTuple):
    """What became of the edits of one finding. `text` says what is wrong with them; "by hand" are findings
    without edits whose fix names code."""

    program: str
    code: str
    state: str
    text: str


def sources() -> Iterator[tuple[str, str]]:
    """(name, text) of each wrong program."""
    for program in programs("bad"):
        if program.runs_here:
            yield program.id, program.script
    for folder in ("examples", "tests/questions"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent.name == "examples" or path.stem.endswith("_bad"):
                yield path.stem, path.read_text(encoding="utf-8")


def again(order: Path, seconds: float, output: int | None) -> bool:
    return in_child(lambda: run_order(str(order)), seconds=min(seconds, LONGEST)).status is not None


def tried(name: str, text: str) -> Iterator[Tried]:
    """Runs a program in the working directory, then with the edits of its findings."""
    Path("train.py").write_text(text, encoding="utf-8")
    in_child(lambda: command_line(["run", "train.py"]), seconds=LONGEST)
    config = Config(extend_select=tuple(code for code, rule in all_rules().items() if not rule.default))
    report = examine(Trace(last_trace(Path.cwd())), config, each=True)
    findings = [finding for finding in report.findings if finding.edits]
    for finding in report.findings:
        if not finding.edits and "`" in finding.fix:
            yield Tried(name, finding.code or finding.name, "by hand", finding.fix)
    if not findings:
        return
    with Trial(report, config, start=again) as trial:
        for attempt in try_all(trial, findings)[0]:
            for finding in attempt.findings:
                yield Tried(name, finding.code, *outcome(attempt, finding))


def outcome(attempt: Attempt, finding: Finding) -> tuple[str, str]:
    if attempt.failure:
        return "fails", attempt.failure
    if attempt.doubt:
        return "unclear", attempt.doubt
    if finding in attempt.left:
        return "unclear", "its edits can't be made beside the others"
    if finding not in attempt.gone:
        return "stays", finding.message
    worse = [new for new in attempt.new if new.severity != "note"]
    return ("new", "; ".join(f"{new.code} {new.message}" for new in worse)) if worse else ("gone", "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", type=Path, metavar="FILE", help="keep the outcome there, as JSON")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="NAME", help="programs whose name begins so"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Tried] = []
    programs_run = 0
    for name, text in sources():
        if not name.startswith(tuple(options.only)):
            continue
        folder = tempfile.mkdtemp(prefix="fixes-")
        os.chdir(folder)
        try:
            found = list(tried(name, text))
        except GradscopeError as error:
            found = [Tried(name, "", "unclear", str(error))]
        os.chdir(ROOT)
        shutil.rmtree(folder, ignore_errors=True)
        programs_run += 1
        rows += found
        for row in found:
            if row.state not in ("gone", "by hand"):
                print(f"{row.program}: {row.code} {row.state}: {row.text}", flush=True)
    table(rows)
    edited = {row.program for row in rows if row.state != "by hand"}
    print(f"{len(edited)} programs with edits, {programs_run - len(edited)} without")
    if options.o is not None:
        options.o.write_text(json.dumps([row._asdict() for row in rows], indent=1))
    return int(any(row.state == "fails" for row in rows))


def table(rows: list[Tried]) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for code in (row.code, "all"):
            counts[code][row.state] += 1
    print(f"{'':8}" + "".join(f"{state:>9}" for state in STATES))
    for code in sorted(counts):
        print(f"{code:8}" + "".join(f"{counts[code][state] or '':>9}" for state in STATES))


if __name__ == "__main__":
    sys.exit(main())
