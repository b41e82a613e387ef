"""More programs of GS243: each bad one is reported at its marks, each good one by no rule."""


def bad_break() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for x in torch.randn(4, 8, 3):
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()  # effect: GS243
            break  # cause: GS243


def good_under_a_condition() -> None:
    import torch
    from torch import nn

    def epoch(model: nn.Module, opt: torch.optim.Optimizer, batches: list[torch.Tensor], most: int) -> int:
        for i, x in enumerate(batches):
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
            if i + 1 >= most:
                return i
        return len(batches)

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        epoch(model, opt, list(torch.randn(4, 8, 3)), 1)


def good_method_that_makes_one_step() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Linear(3, 1)
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def step(self, x: torch.Tensor) -> float:
            self.opt.zero_grad()
            loss = self.model(x).pow(2).mean()
            loss.backward()
            self.opt.step()
            return loss.item()

    trainer = Trainer()
    for x in torch.randn(4, 8, 3):
        trainer.step(x)


def bad_while_rows_are_left() -> None:
    import torch
    from torch import nn

    class Forecaster:
        def __init__(self, rows: torch.Tensor) -> None:
            self.rows, self.net = rows, nn.Linear(3, 1)
            self.optim = torch.optim.Adam(self.net.parameters(), lr=0.01)

        def one_pass(self, size: int) -> float:
            start, losses = 0, []
            while start < len(self.rows):
                chunk = self.rows[start : start + size]
                loss = nn.functional.l1_loss(self.net(chunk[:, :3]), chunk[:, 3:])
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()  # effect: GS243
                losses.append(loss.item())
                start += size
                return sum(losses) / len(losses)  # cause: GS243
            return 0.0

    torch.manual_seed(0)
    caster = Forecaster(torch.randn(32, 4))
    for _ in range(6):
        caster.one_pass(8)


def bad_under_with() -> None:  # fix: by hand
    import torch
    from torch import nn

    def epoch(model: nn.Module, opt: torch.optim.Optimizer, batches: list[torch.Tensor]) -> float:
        for x in batches:
            with torch.enable_grad():
                opt.zero_grad()
                loss = model(x).sub(1).pow(2).mean()
                loss.backward()
                opt.step()  # effect: GS243
                return loss.item()  # cause: GS243
        return 0.0

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        epoch(model, opt, list(torch.randn(4, 8, 3)))


def good_while_until_it_is_enough() -> None:
    import torch
    from torch import nn

    def epoch(model: nn.Module, opt: torch.optim.Optimizer, rows: torch.Tensor) -> float:
        start, last = 0, 0.0
        while start < len(rows):
            loss = (model(rows[start : start + 8]) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            start, last = start + 8, loss.item()
            if last < 0.01:
                return last
        return last

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        epoch(model, opt, torch.randn(32, 3))


def good_tried_again() -> None:
    from contextlib import suppress

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 3)
        for attempt in range(3):
            with suppress(MemoryError):
                opt.zero_grad()
                (model(x[: 8 >> attempt]) - 1).pow(2).mean().backward()
                opt.step()
                break


def good_one_step_of_a_stream_that_goes_on() -> None:
    from collections.abc import Iterator

    import torch
    from torch import nn

    def endless(rows: torch.Tensor) -> Iterator[torch.Tensor]:
        while True:
            yield from rows[torch.randperm(len(rows))].split(16)

    class Trainer:
        def __init__(self, net: nn.Module, rows: torch.Tensor) -> None:
            self.net, self.stream = net, endless(rows)
            self.opt = torch.optim.Adagrad(net.parameters(), lr=0.05)

        def one_step(self) -> float:
            for part in self.stream:
                self.opt.zero_grad()
                cost = nn.functional.l1_loss(self.net(part), part[:, :1].tanh())
                cost.backward()
                self.opt.step()
                return cost.item()
            return 0.0

    torch.manual_seed(0)
    trainer = Trainer(nn.Linear(7, 1), torch.randn(96, 7))
    for _ in range(12):
        trainer.one_step()


def bad_a_stream_that_each_call_begins_anew() -> None:
    from collections.abc import Iterator

    import torch
    from torch import nn

    def once_through(rows: torch.Tensor) -> Iterator[torch.Tensor]:
        yield from rows[torch.randperm(len(rows))].split(16)

    def epoch(net: nn.Module, opt: torch.optim.Optimizer, stream: Iterator[torch.Tensor]) -> float:
        total = 0.0
        for part in stream:
            opt.zero_grad()
            cost = nn.functional.l1_loss(net(part), part[:, :1].tanh())
            cost.backward()
            opt.step()  # effect: GS243
            total += cost.item()
            return total  # cause: GS243
        return total

    torch.manual_seed(0)
    net, rows = nn.Linear(7, 1), torch.randn(96, 7)
    opt = torch.optim.Adagrad(net.parameters(), lr=0.05)
    for _ in range(8):
        epoch(net, opt, once_through(rows))
