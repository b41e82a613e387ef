import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WORLD = 2


class TimeSeriesModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(4, 32, batch_first=True)
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.encoder(x)[0][:, -1])

    def compute_loss(self, batch):
        return F.cross_entropy(self(batch[0]), batch[1])


class CurriculumTrainer:
    def __init__(self, rank, path):
        self.rank, self.path = rank, path
        torch.manual_seed(0)
        self.model = DDP(TimeSeriesModel())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)

    def _get_model(self):
        return self.model.module if hasattr(self.model, "module") else self.model

    def train(self, dataset, test, epochs=6):
        sampler = DistributedSampler(dataset, num_replicas=WORLD, rank=self.rank)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            self.model.train()
            running = 0.0
            for batch in loader:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(batch[0]), batch[1])
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                running += loss.item() / len(loader)
            self.model.eval()
            with torch.no_grad():
                acc = (self._get_model()(test[0]).argmax(1) == test[1]).float().mean().item()
            if epoch % 2 == 1:
                print(f"rank {self.rank} epoch {epoch}  loss {running:.4f}  test acc {acc:.3f}", flush=True)
        if self.rank == 0:
            torch.save(self._get_model().state_dict(), self.path)


def main(rank, port_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + port_file, rank=rank, world_size=WORLD)
    torch.manual_seed(7)
    y = torch.randint(3, (480,))
    t = torch.arange(12.0)
    x = torch.sin(t[None, :, None] * (0.4 + 0.15 * y[:, None, None]) + torch.rand(480, 1, 4) * 3) + 0.6 * torch.randn(480, 12, 4)
    trainer = CurriculumTrainer(rank, port_file + ".pt")
    trainer.train(TensorDataset(x[:320], y[:320]), (x[320:], y[320:]))
    w = trainer.model.module.head.weight.detach().clone()
    both = [torch.zeros_like(w) for _ in range(WORLD)]
    dist.all_gather(both, w)
    if rank == 0:
        print(f"head weights of rank 0 {both[0].norm():.4f}, of rank 1 {both[1].norm():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(os.path.join(tempfile.mkdtemp(), "store"),), nprocs=WORLD)
