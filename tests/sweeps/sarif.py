"""Validates the SARIF report of every example against the standard's own schema.

    python tests/sweeps/sarif.py SCHEMA

SCHEMA is sarif-schema-2.1.0.json, from https://docs.oasis-open.org/sarif/sarif/v2.1.0/. Exit
code 1 if a report does not follow it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("schema", type=Path)
    checker = jsonschema.Draft7Validator(
        json.loads(parser.parse_args().schema.read_text()), format_checker=jsonschema.FormatChecker()
    )
    wrong = reports = results = 0
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.sarif")
        for example in sorted(ROOT.glob("examples/**/*.py")):
            command = [sys.executable, "-m", "gradscope", "run", "--report", str(report), str(example)]
            subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
            data = json.loads(report.read_text())
            reports += 1
            results += len(data["runs"][0]["results"])
            for error in checker.iter_errors(data):
                wrong += 1
                print(f"{example.name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
    print(f"{reports} reports with {results} results, {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
