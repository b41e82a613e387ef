from __future__ import annotations

from pathlib import Path

import pytest
from two_ranks import TORCHRUN, Ran, Start, both, execute, gradscope, program, torchrun


@pytest.fixture
def ranks(tmp_path: Path) -> Start:
    """`ranks(body, how="run", options=…, args=…)` runs a program on two ranks: "plain", "run" (each rank under
    `gradscope run`), "torchrun" (the same, started by torch's launcher), "launcher" (the launcher is)."""

    def start(body: str, *args: str, how: str = "run", options: tuple[str, ...] = ()) -> Ran:
        (tmp_path / "train.py").write_text(program(body), encoding="utf-8")
        command = {
            "plain": [*both(), "train.py", *args],
            "run": [*both(), "-m", "gradscope", "run", *options, "train.py", *args],
            "torchrun": [*torchrun(), "-m", "gradscope", "run", *options, "train.py", *args],
            "launcher": [*gradscope(), "run", *options, *TORCHRUN, "train.py", *args],
        }[how]
        return execute(tmp_path, command)

    return start
