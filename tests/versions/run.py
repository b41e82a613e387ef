"""Runs the tests with other versions of torch, and keeps the outcome in docs/versions.md.

    python tests/versions/run.py 2.15.0 2.6.0        # each in an environment of its own, removed afterwards
    python tests/versions/run.py --keep DIR 2.2.2    # the environment stays in DIR/2.2.2, and is used again
    python tests/versions/run.py --group rules --group crashes 2.8.0

torch from PyPI brings CUDA's libraries: an environment takes 5 to 6 GB while its version is tried.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "versions.md"
TOOLS = ("pytest", "hypothesis", "expecttest", "jsonschema")
GROUPS = {  # names of files, wherever they lie in tests/; those marked slow are left out
    "rules": ("test_rules.py",),
    "capture": (
        "test_capture.py", "test_nonfinite.py", "test_numbers.py", "test_devices.py", "test_depth.py", "test_replay.py",
        "test_versions.py",
    ),
    "loop": ("test_training_loop.py", "test_programs.py"),
    "graph": ("test_graph.py", "test_picture.py"),
    "crashes": ("test_crashes.py",),
    "why": ("test_why.py",),
    "transparency": ("test_corners_*.py", "test_faults*.py", "test_library_code.py", "test_run.py"),
    "examples": ("test_examples.py",),
}  # fmt: skip
COLUMNS = ("torch", "python", "numpy", "date", *GROUPS)
NUMPY_1 = (2, 3)  # torch before this is built for NumPy 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("versions", nargs="+", metavar="VERSION")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where environments are made, and stay")
    parser.add_argument("--group", action="append", choices=GROUPS, help="only these tests; repeatable")
    parser.add_argument("--timeout", type=float, default=3600, metavar="SECONDS", help="for one group")
    given = parser.parse_args()
    failed = False
    for version in given.versions:
        with environment(version, given.keep) as python:
            row = {"torch": version, **facts(python), "date": time.strftime("%F")}
            for group in given.group or GROUPS:
                row[group] = outcome(python, group, given.timeout)
                failed = failed or not re.fullmatch(r"\d+ / 0 / \d+", row[group])
                print(f"torch {version}: {group}: {row[group]}", flush=True)
                keep(row)
    return int(failed)


@contextmanager
def environment(version: str, folder: Path | None) -> Iterator[Path]:
    """A Python that has this torch and what the tests need."""
    if folder is not None:
        yield made(folder.absolute() / version, version)
        return
    with tempfile.TemporaryDirectory(prefix=f"torch-{version}-") as temporary:
        yield made(Path(temporary), version)


def made(folder: Path, version: str) -> Path:
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        old = tuple(map(int, version.split(".")[:2])) < NUMPY_1
        wanted = [f"torch=={version}", "numpy<2" if old else "numpy", *TOOLS, *project["dependencies"]]
        install = [str(python), "-m", "pip", "install", "-q", "--no-cache-dir", *wanted]
        subprocess.run(install, check=True)
        (folder / "ready").touch()
    return python


def facts(python: Path) -> dict[str, str]:
    ask = "import numpy, platform; print(platform.python_version(), numpy.__version__)"
    said = subprocess.run([str(python), "-c", ask], check=True, capture_output=True, text=True)
    return dict(zip(("python", "numpy"), said.stdout.split(), strict=True))


def outcome(python: Path, group: str, timeout: float) -> str:
    """How many tests of the group passed, failed and were skipped, as the table shows it."""
    files = [str(path) for name in GROUPS[group] for path in sorted((ROOT / "tests").rglob(name))]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            str(python),
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow and not nightly",
            "--tb=short",
            f"--junitxml={report}",
            *files,
        ]
        try:
            subprocess.run(command, cwd=ROOT, env=surroundings, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return "did not end"
        if not report.exists():
            return "did not run"
        suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    total, wrong, skipped = (int(suite.get(name, "0")) for name in ("tests", "failures", "skipped"))
    wrong += int(suite.get("errors", "0"))
    return f"{total - wrong - skipped} / {wrong} / {skipped}"


def keep(row: dict[str, str]) -> None:
    """Puts the row in the table, with what other groups gave on the same day; what is older goes."""
    text = TABLE.read_text()
    found = re.search(r"^\| torch .*\n\|[-| ]+\n((?:\|.*\n)*)", text, re.MULTILINE)
    assert found is not None, f"no table in {TABLE}"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    known = {cells[0]: dict(zip(COLUMNS, cells, strict=True)) for cells in rows}
    earlier = known.get(row["torch"], {})
    same_day = earlier if earlier.get("date") == row["date"] else {}
    known[row["torch"]] = {**dict.fromkeys(COLUMNS, "not run"), **same_day, **row}
    ordered = sorted(
        known.values(), key=lambda r: [int(n) for n in re.findall(r"\d+", r["torch"])], reverse=True
    )
    lines = [COLUMNS, ["---"] * len(COLUMNS), *([one[name] for name in COLUMNS] for one in ordered)]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    TABLE.write_text(text[: found.start()] + table + text[found.end() :])


if __name__ == "__main__":
    if platform.system() != "Linux":
        print("tried on Linux only", file=sys.stderr)
    sys.exit(main())
