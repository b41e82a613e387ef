"""What is found in every program of the rules and in examples/: kept in a file, or compared with one.

    python tests/sweeps/findings.py -o before.json
    python tests/sweeps/findings.py --against before.json

A finding is told by its code, its severity and the text of its lines: moving a program changes nothing.
Exits with 1 where something differs.
"""

from __future__ import annotations

import argparse
import json
import linecache
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

Found = list[list[Any]]


def told(findings: Iterable[dict[str, Any]], folder: Path) -> Found:
    """Each finding as [code, severity, [[role, text of the line], …]], sorted."""
    rows = []
    for finding in findings:
        places = [
            [place["role"], linecache.getline(str(folder / place["path"]), place["line"]).strip()]
            for place in finding["locations"]
            if place["role"] != "related"
        ]
        rows.append([finding["code"], finding["severity"], places])
    return sorted(rows, key=str)


def rule_programs() -> Iterator[tuple[str, Found]]:
    """(id, what is found) of each program of the rules."""
    import torch
    from rule_programs import programs

    import gradscope
    from gradscope.check import examine
    from gradscope.config import Config
    from gradscope.render.json import render
    from gradscope.rules import all_rules

    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    for program in [*programs("bad"), *programs("good")]:
        if not program.runs_here:
            continue
        torch.manual_seed(0)
        random.seed(0)
        with gradscope.watch() as scope:
            try:
                program()
            except Exception as error:
                del error
        report = examine(scope.trace, Config(extend_select=off))
        yield program.id, told(json.loads(render(report))["findings"], Path.cwd())


def examples() -> Iterator[tuple[str, Found]]:
    """(path, what is found) of each program in examples/."""
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted((ROOT / "examples").rglob("*.py")):
            report = Path(folder) / "report.json"
            report.unlink(missing_ok=True)
            command = [sys.executable, "-m", "gradscope", "run", "--report", str(report), str(path)]
            subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                timeout=120,
                env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            )
            yield (
                path.relative_to(ROOT).as_posix(),
                told(json.loads(report.read_text())["findings"], Path(folder)),
            )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", type=Path, metavar="FILE", help="keep what is found there")
    parser.add_argument("--against", type=Path, metavar="FILE", help="tell what differs from it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    now = dict([*rule_programs(), *examples()])
    if options.o is not None:
        options.o.write_text(json.dumps(now, indent=1))
    before = json.loads(options.against.read_text()) if options.against is not None else now
    differing = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    for name in differing:
        print(f"{name}\n  was {before.get(name)}\n  now {now.get(name)}")
    print(f"{len(now)} programs, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
