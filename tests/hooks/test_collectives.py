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

CONTRASTIVE = """
import sys
import torch
import torch.distributed as dist
from torch import nn
import torch.nn.functional as F

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

def gather_keys(keys):
    everyone = [torch.zeros_like(keys) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, keys)
    if "own part" in sys.argv:
        everyone[dist.get_rank()] = keys
    return torch.cat(everyone)

for _ in range(4):
    base = torch.randn(8, 6)
    queries = F.normalize(model(base + 0.1 * torch.randn(8, 6)), dim=-1)
    keys = F.normalize(model(base + 0.1 * torch.randn(8, 6)), dim=-1)
    if "detached" in sys.argv:
        keys = keys.detach()
    logits = queries @ gather_keys(keys).T / 0.2
    if "beside" in sys.argv:
        logits = torch.cat([(queries * keys).sum(1, keepdim=True) / 0.2, logits], 1)
    loss = F.cross_entropy(logits, torch.arange(8) * (0 if "beside" in sys.argv else 1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print([p.detach().sum().item().hex() for p in model.parameters()])
dist.destroy_process_group()
"""


def run(folder: Path, kind: str, program: str = PROGRAM) -> list[dict[str, Any]]:
    """What is told of the program, which prints what it prints plain."""
    (folder / "train.py").write_text(program, encoding="utf-8")
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


def test_keys_that_come_back_without_their_graph(tmp_path: Path) -> None:
    (finding,) = run(tmp_path, "cut", CONTRASTIVE)
    assert (finding["code"], finding["severity"]) == ("GS305", "warning")
    assert "`keys` trains nothing" in finding["message"]
    cause = next(place["line"] for place in finding["locations"] if place["role"] == "cause")
    assert CONTRASTIVE.splitlines()[cause - 1].strip() == "dist.all_gather(everyone, keys)"


@pytest.mark.parametrize("kind", ["own part", "detached", "beside"])
def test_keys_that_have_another_way_or_are_meant_to_rest(kind: str, tmp_path: Path) -> None:
    assert [one for one in run(tmp_path, kind, CONTRASTIVE) if one["severity"] != "note"] == []
