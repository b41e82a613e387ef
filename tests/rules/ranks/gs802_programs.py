from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, TensorDataset, random_split


def points() -> TensorDataset:
    made = torch.Generator().manual_seed(7)
    return TensorDataset(torch.randn(64, 4, generator=made), torch.randn(64, 1, generator=made))


def bad_part_of_the_model() -> None:
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        hidden = model.module[0](torch.randn(8, 4))  # cause: GS802
        model.module[1](hidden).pow(2).mean().backward()  # effect: GS802
        opt.step()


def bad_parts_called_as_the_forward_does() -> None:  # fix: by hand
    """q2926: the model's own forward makes the same calls."""

    class Adapter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(3, 4)
            self.judge = nn.Linear(4, 1)

        def forward(self, first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            one = self.body(first)
            two = self.body(second)
            return self.judge(one), self.judge(two)

    model = DistributedDataParallel(Adapter())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        net = model.module
        seen, other = torch.randn(8, 3), torch.randn(8, 3)
        one = net.body(seen)  # cause: GS802
        two = net.body(other)
        loss = (net.judge(one) - net.judge(two)).pow(2).mean()
        loss.backward()  # effect: GS802
        opt.step()


def bad_method_that_computes_the_loss() -> None:
    class Denoiser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x)

        def training_loss(self, x: torch.Tensor) -> torch.Tensor:
            return (self(x + 0.1 * torch.randn_like(x)) - x).pow(2).mean()

    class Trainer:
        def __init__(self) -> None:
            self.model = DistributedDataParallel(Denoiser())
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def step(self, x: torch.Tensor) -> None:
            self.opt.zero_grad()
            loss = self.model.module.training_loss(x)  # cause: GS802
            loss.backward()  # effect: GS802
            self.opt.step()

    trainer = Trainer()
    for _ in range(4):
        trainer.step(torch.randn(8, 4))


def bad_no_sampler() -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(points(), batch_size=8, shuffle=True):
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()  # cause: GS802
        opt.step()


def bad_sampler_of_fewer_parts() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = points()
    sampler = DistributedSampler(data, num_replicas=1, rank=0)  # cause: GS802
    for x, y in DataLoader(data, batch_size=8, sampler=sampler):
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()  # effect: GS802
        opt.step()


def bad_sampler_of_the_first_rank() -> None:
    """The number of the machine in place of that of the rank."""
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = points()
    sampler = DistributedSampler(data, num_replicas=dist.get_world_size(), rank=0)  # cause: GS802
    for x, y in DataLoader(data, batch_size=8, sampler=sampler):
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()  # effect: GS802
        opt.step()


def bad_set_epoch_missing() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = points()
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    for _ in range(2):
        for x, y in loader:  # cause: GS802
            opt.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            opt.step()


def good_epochs() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = points()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            opt.step()


def good_evaluation_in_order() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = points()
    sampler = DistributedSampler(data)
    checked = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, batch_size=8, sampler=sampler):
            opt.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for x, y in checked:
                (model(x) - y).pow(2).mean()
        model.train()


def good_averaged_by_hand() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model.module(torch.randn(8, 4)).pow(2).mean().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


def good_other_targets_for_the_same_input() -> None:
    """As with the nodes of one graph: each rank has the loss of its own part."""
    whole = torch.randn(16, 4, generator=torch.Generator().manual_seed(3))
    mine = torch.arange(dist.get_rank(), 16, dist.get_world_size())
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        (model(whole)[mine] - 1).pow(2).mean().backward()
        opt.step()


def good_passed_around_for_a_look() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        x = torch.randn(8, 4)
        model(x).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            model.module(x).mean().item()


def bad_all_data_on_each_rank() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(points(), batch_size=8, shuffle=True)  # cause: GS802
    for _ in range(2):
        for x, y in loader:
            opt.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            opt.step()


def good_a_part_for_each_rank() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    mine = Subset(points(), range(dist.get_rank(), 64, dist.get_world_size()))
    for x, y in DataLoader(mine, batch_size=8, shuffle=True):
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()
        opt.step()


def good_a_part_for_each_rank_in_two_loops() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    mine = Subset(points(), range(dist.get_rank(), 64, dist.get_world_size()))
    loader = DataLoader(mine, batch_size=8, shuffle=True)
    for every in (1, 2):
        for i, (x, y) in enumerate(loader):
            (model(x) - y).pow(2).mean().div(every).backward()
            if (i + 1) % every == 0:
                opt.step()
                opt.zero_grad()
        for x, y in loader:
            (model(x) - y).pow(2).mean().backward()
            opt.step()
            opt.zero_grad()


class Part(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Asks for the rank with each sample."""

    def __init__(self) -> None:
        self.all = points()

    def __len__(self) -> int:
        return 32

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = self.all[2 * number + dist.get_rank()]
        return x, y


def good_a_dataset_that_asks_for_the_rank() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(Part(), batch_size=8, shuffle=True):
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()
        opt.step()


def good_drawn_anew_by_each_rank() -> None:
    class Noise(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 64

        def __getitem__(self, number: int) -> torch.Tensor:
            return torch.randn(4)

    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in DataLoader(Noise(), batch_size=8, shuffle=True):
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()


def good_evaluation_of_all_data_on_each_rank() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for x, y in DataLoader(points(), batch_size=8, shuffle=True):
            (model.module(x) - y).pow(2).mean()


def train_and_judge(train: Dataset[Any], judged: Dataset[Any]) -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train, batch_size=8, sampler=DistributedSampler(train)):
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for x, y in DataLoader(judged, batch_size=8, sampler=DistributedSampler(judged, shuffle=False)):
            (model(x) - y).pow(2).mean().item()


def bad_split_by_each_rank() -> None:
    train, judged = random_split(points(), [48, 16])  # cause: GS802
    train_and_judge(train, judged)


def good_split_alike() -> None:
    train, judged = random_split(points(), [48, 16], generator=torch.Generator().manual_seed(0))
    train_and_judge(train, judged)


def good_part_drawn_by_each_rank() -> None:
    some, _ = random_split(points(), [48, 16])
    train_and_judge(some, points())


def bad_seed_of_each_rank() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = points()
    sampler: Any = DistributedSampler(data, seed=dist.get_rank())  # cause: GS802
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, batch_size=8, sampler=sampler):
            opt.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            opt.step()


def good_seeds_where_nothing_is_shuffled() -> None:
    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = points()
    sampler: Any = DistributedSampler(data, shuffle=False, seed=dist.get_rank())
    for x, y in DataLoader(data, batch_size=8, sampler=sampler):
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()
        opt.step()
