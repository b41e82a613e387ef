"""How long gradscope's commands take beyond an empty Python.

    python benchmarks/startup.py [--rounds 7]

Seconds of the processor (user and system) of whole processes, the least of several rounds, less those of
`python -c pass`; for `run`, less those of the same program under plain Python. The small trace is a run of
examples/detach_between_layers.py. Modules are compiled once, as `pip install` leaves them:
PYTHONDONTWRITEBYTECODE, where it is set, would have each process compile gradscope anew.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
PROGRAM = Path(__file__).parents[1] / "examples" / "detach_between_layers.py"


def seconds(command: list[str], rounds: int, folder: str) -> float:
    """The least that the command took of the processor."""
    taken = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *command], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    own = ["-m", "gradscope"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, *own, "run", str(PROGRAM)],
            cwd=folder,
            env=ENVIRONMENT,
            capture_output=True,
            check=False,
        )
        empty = seconds(["-c", "pass"], rounds, folder)
        print(f"{'python -c pass':<28}{empty:6.2f} s")
        for command in (
            ["-c", "import gradscope"],
            [*own, "--help"],
            [*own, "rules"],
            [*own, "explain", "GS201"],
            [*own, "check"],
            [*own, "why", "layer1.weight"],
            [*own, "graph", "-o", "graph.dot"],
            [*own, "graph", "-o", "graph.svg"],
        ):
            shown = " ".join(command).replace("-m gradscope", "gradscope").replace("-c import", "import")
            print(f"{shown:<28}{seconds(command, rounds, folder) - empty:+6.2f} s", flush=True)
        empty_program = Path(folder, "imports.py")
        empty_program.write_text("import torch\n", encoding="utf-8")
        for program in (empty_program, PROGRAM):
            plain = seconds([str(program)], rounds, folder)
            watched = seconds([*own, "run", str(program)], rounds, folder)
            shown = f"gradscope run {program.name}"
            print(f"{shown:<28}{watched - plain:+6.2f} s of {plain:.2f} s, with its report", flush=True)


if __name__ == "__main__":
    main()
