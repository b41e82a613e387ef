from __future__ import annotations

from pathlib import Path

import pytest
from two_ranks import GRADSCOPE, TORCHRUN, Ran, Start, execute, program


@pytest.fixture
def ranks(tmp_path: Path) -> Start:
    """`ranks(body, how="run", options=…, args=…)` runs a program on two ranks: "plain", "run" (each rank under
    `gradscope run`), "launcher" (the launcher is)."""

    def start(body: str, *args: str, how: str = "run", options: tuple[str, ...] = ()) -> Ran:
        (tmp_path / "train.py").write_text(program(body), encoding="utf-8")
        command = {
            "plain": [*TORCHRUN, "train.py", *args],
            "run": [*TORCHRUN, "-m", "gradscope", "run", *options, "train.py", *args],
            "launcher": [*GRADSCOPE, "run", *options, *TORCHRUN[1:], "train.py", *args],
        }[how]
        return execute(tmp_path, command)

    return start
