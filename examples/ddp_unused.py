"""A part of the model that the loss does not depend on, and for whose gradient the ranks wait."""

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
        self.extra = nn.Linear(8, 1)  # cause: GS803

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


def train(rank: int, meeting: str) -> None:
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.randn(8, 4)).pow(2).mean()
            loss.backward()  # effect: GS803
            optimizer.step()
        if rank == 0:
            print("every parameter was averaged", flush=True)
    except RuntimeError as error:
        if rank == 0:
            print(str(error).partition(".")[0], flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(train, (f"file://{Path(folder, 'meeting')}",), nprocs=2)
