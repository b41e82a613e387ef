"""FSDP2: the module owns the whole parameters in its forward, the optimizer their shards, and only these get
gradients. A report knows both as one parameter."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from needs import skip_where_lacking
from warm import python

PROGRAM = """
import os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        hidden = self.body(x)
        return self.head(hidden.detach() if "cut" in sys.argv else hidden)

def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
    torch.manual_seed(0)
    model = Net()
    fully_shard(model.body, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.SGD(model.parameters(), 1e-2)
    for _ in range(4):
        for _ in range(2):
            model(torch.randn(4, 8)).pow(2).mean().div(2).backward()
        opt.step()
        if "never cleared" not in sys.argv:
            opt.zero_grad(set_to_none="zeros" not in sys.argv)
    dist.destroy_process_group()

main()
"""


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize(
    ("mistake", "processes", "codes"),
    [("none", 1, []), ("zeros", 1, []), ("cut", 2, ["GS301"]), ("never cleared", 1, ["GS201"])],
)
def test_sharded_parameters(mistake: str, processes: int, codes: list[str], tmp_path: Path) -> None:
    skip_where_lacking(PROGRAM)
    script = tmp_path / "sharded.py"
    script.write_text(PROGRAM, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(processes)}
    watched = [*python(), "-m", "gradscope", "run", "--report", "report.json", str(script), mistake]
    plain = [*python(), str(script), mistake]
    started = [
        subprocess.Popen(
            plain if rank else watched,
            cwd=tmp_path,
            env=shared | {"RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    try:
        said = [process.communicate(timeout=180)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * processes, said
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    told = [f for f in report["findings"] if f["severity"] != "note"]
    assert [f["code"] for f in told] == codes
    if mistake == "cut":
        assert "`body.weight` and `body.bias`" in told[0]["message"]
