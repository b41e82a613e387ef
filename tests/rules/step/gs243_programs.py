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


def bad_a_return_within_the_loops_of_a_loss() -> None:
    import torch
    from torch import nn

    def by_patches(scores: torch.Tensor, target: torch.Tensor, size: int = 4) -> torch.Tensor:
        total = scores.new_zeros(())
        for top in range(0, scores.shape[1], size):
            for left in range(0, scores.shape[2], size):
                one = scores[:, top : top + size, left : left + size]
                other = target[:, top : top + size, left : left + size]
                total = total + (one - other).pow(2).mean()  # effect: GS243
                return total / 4  # cause: GS243
        return total

    model = nn.Conv2d(3, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        by_patches(model(torch.randn(6, 3, 8, 8))[:, 0], torch.rand(6, 8, 8)).backward()
        opt.step()


def bad_a_return_within_the_loop_over_layers() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Sequential(nn.Linear(5, 5), nn.Tanh()) for _ in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = x + layer(x)  # effect: GS243
                return x  # noqa: RET504  # cause: GS243
            return x

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(6, 5)).pow(2).mean().backward()
        opt.step()


def bad_a_return_within_the_loop_of_an_evaluation() -> None:
    import torch
    from torch import nn

    @torch.no_grad()
    def error(model: nn.Module, batches: list[torch.Tensor]) -> float:
        losses = []
        model.eval()
        for x in batches:
            losses.append(model(x).pow(2).mean().item())  # effect: GS243
            model.train()
            return sum(losses) / len(batches)  # cause: GS243
        return 0.0

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for x in torch.randn(4, 8, 3):
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
        print(error(model, list(torch.randn(4, 8, 3))))


def good_the_first_that_is_long_enough() -> None:
    import torch
    from torch import nn

    def first(model: nn.Module, batches: list[torch.Tensor]) -> torch.Tensor:
        looked_at = 0
        for x in batches:
            looked_at += 1
            if len(x) < 8:
                continue
            print(looked_at)
            return model(x) * looked_at / looked_at
        return torch.zeros(())

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        first(model, [torch.randn(4, 3), torch.randn(8, 3)]).pow(2).mean().backward()
        opt.step()


def good_only_the_first_one_is_asked_for() -> None:
    import torch
    from torch import nn

    def shown(model: nn.Module, batches: list[torch.Tensor]) -> torch.Tensor:
        scale = 1.0
        for x in batches:
            answers = model(x) * scale
            return answers.mean()
        raise ValueError("no batches")

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        shown(model, list(torch.randn(2, 8, 3))).pow(2).backward()
        opt.step()


def good_sums_that_begin_in_each_turn() -> None:
    import torch
    from torch import nn

    def by_row(scores: torch.Tensor) -> torch.Tensor:
        found = scores.new_zeros(())
        for row in scores:
            total = row.new_zeros(())
            for one in row:
                total = total + one.pow(2)
            found = found + total
        return found

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        by_row(model(torch.randn(4, 3))).backward()
        opt.step()


def good_a_block_that_is_left_by_its_return() -> None:
    import torch
    from torch import nn

    def refined(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        steps = 0
        while True:
            x = x + model(x)
            steps += 1
            return x / steps

    model = nn.Linear(3, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        refined(model, torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_break_of_a_loader() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(torch.randn(32, 3), batch_size=8)  # type: ignore[arg-type, var-annotated]
    for _ in range(4):
        for x in loader:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()  # effect: GS243
            break  # cause: GS243


def good_one_batch_a_round() -> None:
    import copy

    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    torch.manual_seed(0)
    clients = [DataLoader(torch.randn(32, 3), batch_size=8, shuffle=True) for _ in range(2)]  # type: ignore[arg-type, var-annotated]
    shared = nn.Linear(3, 1)
    for _ in range(4):
        kept = []
        for loader in clients:
            model = copy.deepcopy(shared)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in loader:
                opt.zero_grad()
                (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean().backward()
                opt.step()
                break
            kept.append(model.state_dict())
        shared.load_state_dict({name: (kept[0][name] + kept[1][name]) / 2 for name in kept[0]})
