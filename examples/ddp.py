"""Two ranks, of which only the first clips its gradients: from then on they hold different models."""

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank: int, meeting: str) -> None:
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        if rank == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # cause: GS801
        optimizer.step()  # effect: GS801
    norms = [torch.zeros(1) for _ in range(2)]
    dist.all_gather(norms, model.module.weight.detach().norm().reshape(1))
    if rank == 0:
        print("the ranks hold", "the same model" if torch.equal(*norms) else "different models", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(train, (f"file://{Path(folder, 'meeting')}",), nprocs=2)
