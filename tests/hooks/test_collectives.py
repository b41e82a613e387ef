"""Calls between ranks that are given a tensor with a graph are ops, and no gradient passes them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from warm import python

if not torch.distributed.is_available():
    pytest.skip("no torch.distributed", allow_module_level=True)

PROGRAM = """
import sys
import torch
import torch.distributed as dist
import torch.distributed.nn.functional
from torch import nn

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model, scale = nn.Linear(4, 4), nn.Linear(4, 2)
opt = torch.optim.SGD([*model.parameters(), *scale.parameters()], lr=0.1)
for _ in range(4):
    x = model(torch.ones(3, 4))
    parts = [torch.zeros(3, 4)]
    if "differentiable" in sys.argv:
        parts = dist.nn.functional.all_gather(x)
    else:
        dist.all_gather(parts, x)
    if "own part" in sys.argv:
        parts[0] = x
    out = scale(torch.cat(list(parts)))
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    dist.all_reduce(loss)
    answers = [torch.zeros(3, 2)]
    dist.all_gather(answers, out)
print([p.detach().sum().item().hex() for p in model.parameters()], [a.sum().item().hex() for a in answers])
dist.destroy_process_group()
"""


def run(folder: Path, kind: str) -> list[dict[str, Any]]:
    """What is told of the program, which prints what it prints plain."""
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    command = [*python(), "-m", "gradscope", "run", "--report", "report.json", "train.py", kind]
    env = {**os.environ, "NO_COLOR": "1"}
    plain, watched = (
        subprocess.run(one, cwd=folder, env=env, text=True, capture_output=True, timeout=120)
        for one in ([*python(), "train.py", kind], command)
    )
    assert plain.returncode == 0, plain.stderr
    assert watched.stdout == plain.stdout
    assert "fault" not in watched.stderr
    found: list[dict[str, Any]] = json.loads((folder / "report.json").read_text())["findings"]
    return found


def test_gathering_cuts_the_gradient(tmp_path: Path) -> None:
    (finding,) = run(tmp_path, "cut")
    assert (finding["code"], finding["severity"]) == ("GS305", "error")
    assert "`all_gather` has no gradient: `model.weight` and `model.bias`" in finding["message"]
    cause = next(place["line"] for place in finding["locations"] if place["role"] == "cause")
    assert PROGRAM.splitlines()[cause - 1].strip() == "dist.all_gather(parts, x)"


@pytest.mark.parametrize("kind", ["own part", "differentiable"])
def test_a_way_beside_it_is_right(kind: str, tmp_path: Path) -> None:
    assert run(tmp_path, kind) == []
