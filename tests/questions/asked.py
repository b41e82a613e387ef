"""The questions that people asked in public: read from their files, run, and put into docs/questions.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

SCORES = {
    "A": "cause, line and repair right",
    "B": "cause and line right, the repair not",
    "C": "something related",
    "D": "nothing, or unrelated notes",
    "E": "wrong",
}


@dataclass(frozen=True)
class Question:
    """One question: what was asked where, what is right, and how gradscope did."""

    id: str
    address: str
    asked: str
    cause: str
    lines: list[int]  # in `bad`, the first is the one that a good answer names
    answer: str
    first: str = ""  # the score at first sight: never changed
    told: str = ""
    missing: str = ""
    twin: str = ""  # what was said of the right twin, at first sight
    after: str = ""  # the score by the same measure, since something was mended
    remark: str = ""
    twin_now: str = ""  # what is still said of the right twin, and why that is true

    @property
    def batch(self) -> int:
        return int(self.id[1:]) // 100

    @property
    def now(self) -> str:
        return self.after or self.first

    def program(self, kind: str) -> Path:
        """Its program: `kind` is "bad" or "good"."""
        return HERE / f"batch{self.batch}" / f"{self.id}_{kind}.py"


def questions() -> list[Question]:
    """All of them, in order."""
    return [
        Question(**entry)
        for path in sorted(HERE.glob("batch*.toml"), key=lambda path: int(path.stem.removeprefix("batch")))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["question"]
    ]


def run(folder: Path, *args: str) -> None:
    """`gradscope ARGS` in `folder`, in two minutes at most."""
    subprocess.run(
        [sys.executable, "-m", "gradscope", *args], cwd=folder, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def findings(program: Path, command: Callable[..., Any] = run) -> list[dict[str, Any]]:
    """What `gradscope run` finds in a program. command: what runs gradscope."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command(Path(folder), "run", "--report", str(report), str(program))
        return list(json.loads(report.read_text(encoding="utf-8"))["findings"])


def serious(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [finding for finding in found if finding["severity"] != "note"]


def names_the_line(question: Question, found: list[dict[str, Any]]) -> bool:
    """Whether a finding stands at a line at fault, or its fix names one."""
    program = question.program("bad").name
    return any(
        f"{program}:{line}" in finding["fix"]
        or any(_covers(place, program, line) for place in finding["locations"])
        for finding in found
        for line in question.lines
    )


def _covers(place: dict[str, Any], program: str, line: int) -> bool:
    return Path(place["path"]).name == program and place["line"] <= line <= (
        place["end_line"] or place["line"]
    )
