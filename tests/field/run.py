"""Runs public training programs plainly and under gradscope, and writes a table of what it says.

    python tests/field/run.py CLONES                 every program, and the transformers models
    python tests/field/run.py CLONES mnist gan/wgan  these
    python tests/field/run.py CLONES --list

CLONES is a folder; what is missing in it is cloned from GitHub, at the commits in programs.py.
Traces, reports and outputs go to CLONES/gradscope-field.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from data import prepare
from programs import PROGRAMS, REPOSITORIES, Program
from transformers_loop import MODELS

HERE = Path(__file__).parent
# What differs from run to run without gradscope: times, process numbers, rates per second.
CLOCK = re.compile(
    r"\d+(\.\d+)?(?= ?(ms|s\b|sec|it/s|seconds))|(?<=time)[:= ]+[\d.]+|(?<=ms/batch )[ \d.]+|mfu [-\d.]+%"
    r"|Time +[\d.]+ *\( *[\d.]+\)|Data +[\d.]+ *\( *[\d.]+\)|(Step|Tot): [\dms]+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Outcome:
    program: Program
    code: int
    plain_code: int
    same: bool
    faults: list[str]
    findings: list[dict[str, Any]]
    seconds: float

    @property
    def missed(self) -> list[str]:
        found = {f["code"] for f in self.findings}
        return (
            []
            if not self.program.expected or found & set(self.program.expected)
            else ["/".join(self.program.expected)]
        )


def clone(clones: Path) -> None:
    for name, (owner, commit) in REPOSITORIES.items():
        if not (clones / name).exists():
            git = ["git", "-C", str(clones / name)]
            subprocess.run(
                ["git", "clone", "-q", f"https://github.com/{owner}/{name}", str(clones / name)], check=True
            )
            subprocess.run([*git, "checkout", "-q", commit], check=True)


def repaired(program: Program, clones: Path) -> str:
    """The script's name; one that cannot start as it is gets a copy beside it, line for line."""
    if program.repair is None:
        return program.script
    source = clones / program.folder / program.script
    copy = source.with_name(f"{source.stem}_fixed.py")
    copy.write_text(source.read_text().replace(*program.repair))
    return copy.name


def surroundings(program: Program, clones: Path, folder: Path) -> dict[str, str]:
    """The environment that it runs in: stubs and this tree's gradscope are found first."""
    stubs = HERE / "stubs"
    paths = [
        str(stubs),
        *(str(p) for p in (clones / "minGPT", HERE.parent.parent)),
        os.environ.get("PYTHONPATH", ""),
    ]
    return os.environ | {
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "FIELD_FOLDER": str(folder),
        "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        "PATH": f"{stubs}{os.pathsep}{os.environ['PATH']}",
        **program.settings,
    }


def start(program: Program, clones: Path, folder: Path, watch: list[str], out: Path) -> int:
    """Runs it to its end; its output goes to `out`.out and `out`.err."""
    command = [
        sys.executable,
        *watch,
        repaired(program, clones),
        *shlex.split(program.arguments.format(folder=folder)),
    ]
    with open(f"{out}.out", "wb") as output, open(f"{out}.err", "wb") as errors:
        return subprocess.run(
            command, cwd=clones / program.folder, env=surroundings(program, clones, folder), stdin=subprocess.DEVNULL,
            stdout=output, stderr=errors, timeout=900, check=False,
        ).returncode  # fmt: skip


def run(program: Program, clones: Path, folder: Path) -> Outcome:
    out = folder / program.name.replace("/", "-")
    plain = Path(f"{out}.plain")
    plain_code = start(program, clones, folder, [], plain)
    began = time.perf_counter()
    watch = ["-m", "gradscope", "run", "--trace", f"{out}.gradscope", "--report", f"{out}.json"]
    code = start(program, clones, folder, watch, out)
    seconds = time.perf_counter() - began
    report = json.loads(Path(f"{out}.json").read_text()) if Path(f"{out}.json").exists() else {"findings": []}
    errors = Path(f"{out}.err").read_text(errors="replace")
    same = not program.exact or printed(Path(f"{out}.out")) == printed(Path(f"{plain}.out"))
    faults = re.findall(r"^gradscope: .*(?:fault|failed|error).*$", errors, re.MULTILINE)
    if not Path(f"{out}.json").exists():
        faults.append("no report")
    return Outcome(program, code, plain_code, same, faults, report["findings"], seconds)


def printed(path: Path) -> str:
    return CLOCK.sub("#", path.read_text(errors="replace"))


def row(outcome: Outcome) -> str:
    found = [f"{f['code']} {f['severity']} {place(f)}".strip() for f in outcome.findings]
    troubles = [*outcome.faults, *(f"missed {code}" for code in outcome.missed)]
    if outcome.code != outcome.plain_code or outcome.plain_code != outcome.program.code:
        troubles.append(f"exit code {outcome.code}, plain {outcome.plain_code}")
    if not outcome.same:
        troubles.append("prints something else")
    return f"| {outcome.program.name} | {'; '.join(found) or 'none'} | {'; '.join(troubles) or 'none'} |"


def place(finding: dict[str, Any]) -> str:
    """Its first location, as `file.py:line`."""
    first = next(iter(finding["locations"]), None)
    return f"{Path(first['path']).name}:{first['line']}" if first else ""


def loops() -> Iterator[Program]:
    for name in MODELS:
        yield Program(f"transformers/{name}", str(HERE), "transformers_loop.py", name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("clones", type=Path)
    parser.add_argument(
        "names", nargs="*", help="programs, or the first part of their names; all where none is given"
    )
    parser.add_argument("--list", action="store_true", help="name the programs")
    arguments = parser.parse_args()
    known = [*PROGRAMS, *loops()]
    wanted = [p for p in known if not arguments.names or any(p.name.startswith(n) for n in arguments.names)]
    if arguments.list:
        print("\n".join(p.name for p in wanted))
        return
    clones = arguments.clones.resolve()
    folder = clones / "gradscope-field"
    folder.mkdir(parents=True, exist_ok=True)
    clone(clones)
    prepare(clones, folder)
    print("| program | findings | troubles |\n|---|---|---|")
    for program in wanted:
        print(row(run(program, clones, folder)), flush=True)


if __name__ == "__main__":
    main()
