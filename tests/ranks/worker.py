"""`worker.py FOLDER ID…`: one of two ranks runs these programs of the rules that compare ranks, each in a watch, with
its trace in FOLDER/ID/rank-K.gradscope."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parent.parent))

from rule_programs import of_ranks

import gradscope


def main(folder: Path, ids: list[str]) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for kind in ("bad", "good"):
        for program in (p for p in of_ranks(kind) if p.id in ids):
            (folder / program.id).mkdir(exist_ok=True)
            torch.manual_seed(rank)
            try:
                with gradscope.watch(path=folder / program.id / f"rank-{rank}.gradscope"):
                    program()
            except RuntimeError as error:
                if kind == "good" or "Expected to have finished reduction" not in str(error):
                    raise
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
    # Gloo's threads may still let go of tensors, for which they want the lock of an interpreter that is being
    # taken down: they abort (pytorch/pytorch#190489). What failed on the way has left reductions behind.
    os._exit(0)
