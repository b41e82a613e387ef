"""What `gradscope check RUN/` takes for many ranks: `python benchmarks/ranks.py --ranks 8 64 1024`.

Two real ranks train a model of many parameters under `gradscope run`; their traces are then copied under the numbers
of the other ranks, which stand in for those of a large run: the same graph, counts, losses and norms, times and inputs
of their own. One of them may be made to differ (`--apart`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from gradscope.store import pack_norms, read_norms

TRAIN = """
import sys
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
layers, steps = int(sys.argv[1]), int(sys.argv[2])
model = DistributedDataParallel(nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers))))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(steps):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).pow(2).mean().backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
"""


def real(folder: Path, parameters: int, steps: int) -> Path:
    """Two ranks, run; gives the folder of their traces."""
    (folder / "train.py").write_text(TRAIN)
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "-m",
        "gradscope",
    ]
    program = ["train.py", str(parameters // 2), str(steps)]
    command = [*launch, "run", "--trace-dir", str(folder / "real"), *program]
    subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return folder / "real"


def many(source: Path, target: Path, ranks: int, apart: bool) -> None:
    """Copies under other numbers."""
    target.mkdir()
    for rank in range(ranks):
        path = target / f"rank-{rank}.gradscope"
        shutil.copy(source / f"rank-{min(rank, 1)}.gradscope", path)
        with closing(sqlite3.connect(path)) as db:
            program = json.loads(db.execute("SELECT value FROM meta WHERE key = 'program'").fetchone()[0])
            program["rank"] |= {
                "rank": rank,
                "world": ranks,
                "local": rank % 8,
                "agent": f"machine-{rank // 8}|0|1",
            }
            program["process"] = 100_000 + rank
            db.execute("UPDATE meta SET value = ? WHERE key = 'program'", (json.dumps(program),))
            world = json.dumps(list(range(ranks)))
            db.execute(
                "UPDATE event SET data = json_set(data, '$.ranks', json(?)) WHERE kind = 'ddp'", (world,)
            )
            jitter = 1 + random.Random(rank).random() / 10
            db.execute("UPDATE segment SET started = started * ?, duration = duration * ?", (jitter, jitter))
            for of, number, data in db.execute(
                "SELECT of, number, data FROM print WHERE kind = 'input'"
            ).fetchall():
                own = {name: value * jitter for name, value in json.loads(data).items()}
                db.execute(
                    "UPDATE print SET data = ? WHERE kind = 'input' AND of = ? AND number = ?",
                    (json.dumps(own), of, number),
                )
            if apart and rank == ranks - 1:
                for of, number, data in db.execute(
                    "SELECT of, number, data FROM print WHERE kind = 'parameters' AND number > 4"
                ).fetchall():
                    other = {id: norm * 1.01 for id, norm in read_norms(data).items()}
                    db.execute(
                        "UPDATE print SET data = ? WHERE kind = 'parameters' AND of = ? AND number = ?",
                        (pack_norms(other), of, number),
                    )
                db.execute("DELETE FROM meta WHERE key = 'outline'")
            db.commit()


def check(folder: Path) -> tuple[float, float, float, str]:
    """(seconds, seconds of a processor, peak memory in MB, what was found)."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "gradscope", "check", str(folder), "--output-format", "concise"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, _, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said.strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--ranks", type=int, nargs="+", default=[8, 64, 1024])
    arguments.add_argument("--parameters", type=int, default=2000)
    arguments.add_argument("--steps", type=int, default=200)
    arguments.add_argument("--apart", action="store_true")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="ranks-") as name:
        folder = Path(name)
        source = real(folder, asked.parameters, asked.steps)
        size = (source / "rank-0.gradscope").stat().st_size / 1e6
        print(f"{asked.parameters:,} parameters, {asked.steps:,} steps: {size:.2f} MB a rank")
        for ranks in asked.ranks:
            many(source, folder / str(ranks), ranks, asked.apart)
            seconds, computing, memory, said = check(folder / str(ranks))
            print(
                f"{ranks:5,} ranks: {seconds:6.1f} s, {computing:6.1f} s of a processor, {memory:6.0f} MB;"
                f" {said[:300] or 'nothing found'}",
                flush=True,
            )
            shutil.rmtree(folder / str(ranks))


if __name__ == "__main__":
    main()
