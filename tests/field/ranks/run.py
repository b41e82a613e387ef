"""Runs the programs of several processes that were planted for the field test, and prints what is told of them now.

python tests/field/ranks/run.py               # all: wrong ones, then their right twins
python tests/field/ranks/run.py 01_average    # those
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SECONDS = 240


def told(name: str, file: str, run: str) -> str:
    """The findings of one program that are more than notes, with the line of each."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / file).write_text((HERE / name / file).read_text())
        env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
        words = shlex.split(run)
        launcher = ["-m", "torch.distributed.run", *words[1:-1]] if words[0] == "torchrun" else []
        command = [sys.executable, *launcher, "-m", "gradscope", "run", file]
        subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=SECONDS)
        check = [sys.executable, "-m", "gradscope", "check", "--output-format", "json"]
        said = subprocess.run(check, cwd=folder, env=env, capture_output=True, text=True, timeout=SECONDS)
    if not said.stdout:
        return said.stderr.strip()
    found = [f for f in json.loads(said.stdout)["findings"] if f["severity"] != "note"]
    return "; ".join(f"{f['severity']} {f['code']} at {_line(f)}" for f in found) or "nothing"


def _line(finding: dict[str, object]) -> str:
    places = finding["locations"]
    assert isinstance(places, list)
    causes = [place for place in places if place["role"] == "cause"] or places
    return f"{Path(causes[0]['path']).name}:{causes[0]['line']}" if causes else "no line"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args().names
    for bug in tomllib.loads((HERE / "bugs.toml").read_text())["bug"]:
        if not asked or bug["name"] in asked:
            for file in ("bad.py", "good.py"):
                print(f"{bug['name']}/{file}: {told(bug['name'], file, bug['run'])}", flush=True)


if __name__ == "__main__":
    main()
