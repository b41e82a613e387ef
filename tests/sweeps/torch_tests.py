"""Runs test files of PyTorch's own, plain and with each test inside `gradscope.watch()`,
and tells which tests end otherwise.

    python tests/sweeps/torch_tests.py /path/to/pytorch/test/test_autograd.py [more files] [-k EXPR]

The files are PyTorch's and lie outside this repository. Exit code 1 if a test that passes
plain does not pass watched, or if a fault of gradscope's own was noted in any.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MAX_CRASHES = 20  # of one file


def run(file: Path, watched: bool, expression: str | None, timeout: int) -> dict[str, tuple[str, str]]:
    """Test id → (outcome, text), and "fault:" + id → what gradscope noted in that test.
    After a crash the rest of the file is run in a new process."""
    found: dict[str, tuple[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        outcomes, done = Path(folder) / "outcomes", Path(folder) / "done"
        for _ in range(MAX_CRASHES):
            outcomes.write_text("")
            done.write_text("\n".join(found))
            command = [sys.executable, "-m", "pytest", "-p", "watched", "-q", "--no-header", "--tb=short"]
            command += [
                "-p",
                "no:cacheprovider",
                "--noconftest",
                "-c",
                "/dev/null",
                "--rootdir",
                str(file.parent),
                str(file),
            ]
            command += ["--outcomes", str(outcomes), "--leave-out", str(done)]
            command += ["--watched"] if watched else []
            command += ["-k", expression] if expression else []
            try:
                ended = subprocess.run(
                    command,
                    cwd=file.parent,
                    env=environment(),
                    capture_output=True,
                    text=True,
                    timeout=timeout,
                )
                code, said = ended.returncode, ended.stdout + ended.stderr
            except subprocess.TimeoutExpired:
                code, said = -1, f"no end after {timeout} s"
            running = ""
            for line in outcomes.read_text().splitlines():
                row = json.loads(line)
                if row["outcome"] == "started":
                    running = row["id"]
                elif row["outcome"] == "fault":
                    found["fault:" + row["id"]] = ("fault", row["text"])
                else:
                    found[row["id"]] = (row["outcome"], row["text"])
            if not running and code:
                sys.exit(f"{file}: {last_lines(said)}")
            if code in (0, 1, 5) or running in found:
                break
            found[running] = ("crashed", f"the process ended with {code}")
    return found


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE), os.environ.get("PYTHONPATH", "")]),
    }


def compare(file: Path, expression: str | None, timeout: int, verbose: bool) -> bool:
    """Prints what differs in one file; True if nothing does."""
    plain = run(file, False, expression, timeout)
    watched = run(file, True, expression, timeout)
    faults = {key.removeprefix("fault:"): text for key, (kind, text) in watched.items() if kind == "fault"}
    new = [key for key, (kind, _) in plain.items() if kind != watched.get(key, ("missing", ""))[0]]
    for key in new:
        kind, text = watched.get(key, ("missing", ""))
        print(f"{key}: {plain[key][0]} plain, {kind} watched", flush=True)
        print(indented(text if verbose else last_lines(text)))
    for text, where in grouped(faults).items():
        print(f"fault in {len(where)} tests, first in {where[0]}")
        print(indented(text))
    passed = sum(kind == "passed" for kind, _ in plain.values())
    print(
        f"{file.name}: {len(plain)} tests, {passed} pass plain, {len(new)} end otherwise, {len(faults)} with faults"
    )
    return not new and not faults


def grouped(faults: dict[str, str]) -> dict[str, list[str]]:
    """Text → the tests in which it was noted."""
    found: dict[str, list[str]] = {}
    for key, text in faults.items():
        found.setdefault(text, []).append(key)
    return found


def last_lines(text: str) -> str:
    return "\n".join(text.splitlines()[-12:])


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help="test files of PyTorch's")
    parser.add_argument("-k", dest="expression", help="only tests that match, as with pytest")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for one run of one file")
    parser.add_argument("-v", "--verbose", action="store_true", help="whole tracebacks")
    given = parser.parse_args()
    equal = [compare(f.resolve(), given.expression, given.timeout, given.verbose) for f in given.files]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
