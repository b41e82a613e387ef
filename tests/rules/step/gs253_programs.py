"""More programs of GS253: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_condition_with_a_name() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters())
    loader, accumulation = [torch.randn(8, 4) for _ in range(11)], 3
    for _ in range(2):
        opt.zero_grad()
        for batch, x in enumerate(loader):
            loss = model(x).pow(2).mean()
            (loss / accumulation).backward()
            is_update = batch % accumulation == 0  # cause: GS253
            if is_update:
                opt.step()  # effect: GS253
                opt.zero_grad()


def good_counted_from_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, x in enumerate([torch.randn(8, 4) for _ in range(16)], 1):
        (model(x).pow(2).mean() / 4).backward()
        if i % 4 == 0:
            opt.step()
            opt.zero_grad()


def good_a_step_in_each_turn_and_a_look_now_and_then() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        if i % 4 == 0:
            loss.item()


def bad_rest_of_each_epoch_is_carried_on() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = [torch.randn(8, 4) for _ in range(7)]
    for _ in range(5):
        for step, x in enumerate(loader):
            (model(x).pow(2).mean() / 4).backward()
            if (step + 1) % 4 == 0:  # cause: GS253
                opt.step()  # effect: GS253
                opt.zero_grad()


def good_last_batch_steps_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = [torch.randn(8, 4) for _ in range(7)]
    for _ in range(5):
        for step, x in enumerate(loader):
            (model(x).pow(2).mean() / 4).backward()
            if (step + 1) % 4 == 0 or step + 1 == len(loader):
                opt.step()
                opt.zero_grad()


def bad_batches_without_a_length() -> None:  # fix: by hand
    from collections.abc import Iterator

    import torch
    from torch import nn

    class Batches:
        def __iter__(self) -> Iterator[torch.Tensor]:
            for _ in range(7):
                yield torch.randn(8, 4)

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = Batches()
    for _ in range(5):
        for step, x in enumerate(loader):
            (model(x).pow(2).mean() / 4).backward()
            if (step + 1) % 4 == 0:  # cause: GS253
                opt.step()  # effect: GS253
                opt.zero_grad()


def bad_parts_of_several_lengths() -> None:
    """7, 5 and 6 batches for steps of 4: each part leaves another rest."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    parts = [[torch.randn(8, 4) for _ in range(length)] for length in (7, 5, 6)]
    for _ in range(2):
        for part in parts:
            for i, x in enumerate(part):
                (model(x).pow(2).mean() / 4).backward()
                if (i + 1) % 4 == 0:  # cause: GS253
                    opt.step()  # effect: GS253
                    opt.zero_grad()


def bad_all_but_the_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    batches = [torch.randn(8, 4) for _ in range(16)]
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for i, x in enumerate(batches):
            (nn.functional.mse_loss(model(x), x[:, :1]) / 5).backward()
            if i > 0 and i % 5 == 0:  # cause: GS253
                opt.step()  # effect: GS253
                opt.zero_grad()


def bad_not_the_remainder() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Runner:
        def __init__(self, net: nn.Module, every: int) -> None:
            self.net, self.every = net, every
            self.optim = torch.optim.AdamW(net.parameters(), lr=0.005)

        def epoch(self, loader: DataLoader) -> None:  # type: ignore[type-arg]
            self.optim.zero_grad(set_to_none=True)
            for number, (pixels, labels) in enumerate(loader):
                loss = nn.functional.cross_entropy(self.net(pixels), labels)
                loss.div(self.every).backward()
                if not number % self.every:  # cause: GS253
                    self.optim.step()  # effect: GS253
                    self.optim.zero_grad(set_to_none=True)

    torch.manual_seed(0)
    pixels = torch.randn(128, 6)
    loader = DataLoader(TensorDataset(pixels, pixels[:, :3].argmax(1)), batch_size=8, shuffle=True)
    runner = Runner(nn.Linear(6, 3), 4)
    for _ in range(3):
        runner.epoch(loader)


def good_not_the_remainder_from_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(16):
        (model(torch.randn(8, 4)).pow(2).mean() / 4).backward()
        if not (i + 1) % 4:
            opt.step()
            opt.zero_grad()


def bad_first_batch_of_each_epoch_alone() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
    every = 4
    for _ in range(4):
        opt.zero_grad()
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x), y) / every
            loss.backward()
            if i % every == 0:  # cause: GS253
                opt.step()  # effect: GS253
                opt.zero_grad()


def bad_first_batch_of_each_epoch_alone_by_a_method() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            self.opt = torch.optim.Adam(self.model.parameters(), lr=0.01)

        def epoch(self, batches: list[torch.Tensor]) -> None:
            self.model.zero_grad()
            for i in range(len(batches)):
                (self.model(batches[i]).pow(2).mean() / 8).backward()
                if not i % 8:  # cause: GS253
                    self.opt.step()  # effect: GS253
                    self.model.zero_grad()

    trainer = Trainer()
    batches = [torch.randn(8, 4) for _ in range(6)]
    for _ in range(5):
        trainer.epoch(batches)


def good_last_batch_of_each_epoch_alone() -> None:
    """An epoch of four batches makes one step."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [torch.randn(8, 4) for _ in range(4)]
    for _ in range(4):
        opt.zero_grad()
        for i, x in enumerate(batches):
            (model(x).pow(2).mean() / 4).backward()
            if (i + 1) % 4 == 0:
                opt.step()
                opt.zero_grad()
