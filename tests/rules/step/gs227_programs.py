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


def bad_kept_by_a_method() -> None:
    import torch
    from torch import nn

    class Keeper:
        def __init__(self):
            self.score = -1.0
            self.champion = None

        def offer(self, score, net):
            if score > self.score:
                self.score = score
                self.champion = net  # cause: GS227

    torch.manual_seed(0)
    m = torch.randn(60, 4)
    kind = (m[:, 0] > 0).long()
    classifier, keeper = nn.Linear(4, 2), Keeper()
    opt = torch.optim.Adam(classifier.parameters(), lr=0.02)
    for _ in range(6):
        opt.zero_grad()
        nn.functional.cross_entropy(classifier(m), kind).backward()
        opt.step()  # effect: GS227
        with torch.no_grad():
            right = (classifier(m).argmax(1) == kind).float().mean().item()
        keeper.offer(right, classifier)
    with torch.no_grad():
        print(keeper.champion(m[:1]))


def good_told_of_its_model() -> None:
    import torch
    from torch import nn

    class Log:
        def __init__(self):
            self.model = None
            self.lines = []

        def note(self, step, model, every=2):
            if self.model is None or step > 3:
                self.model = model
            if step % every == 0:
                self.lines.append(sum(p.norm().item() for p in self.model.parameters()))

    torch.manual_seed(0)
    net, log = nn.Linear(4, 2), Log()
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for step in range(6):
        opt.zero_grad()
        (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
        log.note(step, net)
    print(log.lines)


def good_a_copy_by_a_method() -> None:
    import copy

    import torch
    from torch import nn

    class Keeper:
        def __init__(self):
            self.lowest = float("inf")
            self.champion = None

        def take(self, loss, net):
            if loss < self.lowest:
                self.lowest = loss
                self.champion = copy.deepcopy(net)

    torch.manual_seed(0)
    net, keeper = nn.Linear(4, 1), Keeper()
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(6):
        opt.zero_grad()
        loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
        loss.backward()
        opt.step()
        keeper.take(loss.item(), net)
    with torch.no_grad():
        print(keeper.champion(torch.ones(1, 4)))
