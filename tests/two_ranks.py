"""Programs of two real ranks (gloo, on the CPU), plain and watched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import torch
from warm import python

if not torch.distributed.is_available():
    pytest.skip("no torch.distributed", allow_module_level=True)

ENV = {
    **os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1", "COLUMNS": "200",
    "NO_COLOR": "1",
}  # fmt: skip
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
HEAD = """
import os, signal, sys, time
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def begin(rank=None, world=None):
    dist.init_process_group("gloo", **({} if rank is None else {"rank": rank, "world_size": world}))
    torch.manual_seed(dist.get_rank())
    return dist.get_rank()


def end():
    dist.barrier()
    dist.destroy_process_group()

"""


def both() -> list[str]:
    """Starts two ranks of what follows."""
    return [*python(), str(Path(__file__).parent / "launch.py"), "2"]


def torchrun() -> list[str]:
    """The same by torch's own launcher, under which each rank imports torch anew."""
    return [*python(), *TORCHRUN]


def gradscope() -> list[str]:
    return [*python(), "-m", "gradscope"]


def program(body: str) -> str:
    return HEAD + textwrap.dedent(body)


@dataclass
class Ran:
    """What a command came to."""

    folder: Path
    status: int
    out: str
    err: str

    @cached_property
    def told(self) -> str:
        """Stderr in one line."""
        return " ".join(self.err.split())

    @property
    def run(self) -> Path:
        """The folder of the newest run."""
        return (self.folder / ".gradscope" / "last").resolve()

    def report(self, *options: str) -> dict[str, Any]:
        """What `gradscope check` says of it."""
        command = [*gradscope(), "check", *options, "--output-format", "json"]
        ran = subprocess.run(command, cwd=self.folder, env=ENV, text=True, capture_output=True, timeout=120)
        assert ran.stdout, ran.stderr
        found: dict[str, Any] = json.loads(ran.stdout)
        return found

    def findings(self, *options: str) -> list[tuple[str, str, list[int]]]:
        """(code, severity, ranks) of each that is more than a note."""
        return [
            (f["code"] or f["name"], f["severity"], f["ranks"])
            for f in self.report(*options)["findings"]
            if f["severity"] != "note"
        ]


Start = Callable[..., Ran]


def execute(folder: Path, command: list[str], seconds: float = 150, **env: str) -> Ran:
    """Runs a command with its children; all of them are gone afterwards."""
    process = subprocess.Popen(
        command, cwd=folder, env=ENV | env, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return Ran(folder, process.returncode, out, err)
