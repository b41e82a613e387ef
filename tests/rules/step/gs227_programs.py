"""More programs of GS227: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_kept_by_a_trainer() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Linear(3, 1)
            self.best_model: nn.Module | None = None
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def epoch(self) -> float:
            loss = (self.model(torch.randn(8, 3)) - 1).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            return loss.item()

        def fit(self) -> None:
            lowest = 100.0
            for _ in range(6):
                loss = self.epoch()  # effect: GS227
                if loss < lowest:
                    lowest = loss
                    self.best_model = self.model  # cause: GS227

    trainer = Trainer()
    trainer.fit()
    with torch.no_grad():
        print(trainer.best_model is not None and trainer.best_model(torch.ones(1, 3)))


def good_a_model_for_each_setting() -> None:
    import torch
    from torch import nn

    lowest, best = float("inf"), nn.Linear(3, 1)
    for rate in (0.1, 0.01, 0.001):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=rate)
        for _ in range(4):
            loss = (model(torch.randn(8, 3)) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        if loss.item() < lowest:
            lowest, best = loss.item(), model
            best = model
    with torch.no_grad():
        print(best(torch.ones(1, 3)))


def good_ends_where_it_is_good_enough() -> None:
    import torch
    from torch import nn

    model, found = nn.Linear(3, 1), None
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(50):
        loss = (model(torch.ones(8, 3)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if loss.item() < 0.5:
            found = model
            break
    with torch.no_grad():
        print(found is not None and found(torch.ones(1, 3)))


def good_written_to_a_file_at_once() -> None:
    import torch
    from torch import nn

    model, lowest = nn.Linear(3, 1), float("inf")
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        loss = (model(torch.randn(8, 3)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if loss.item() < lowest:
            lowest = loss.item()
            best = model
            torch.save(best.state_dict(), "/dev/null")
