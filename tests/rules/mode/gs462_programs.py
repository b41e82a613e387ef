def bad_bank_written_by_a_method() -> None:
    import torch
    from torch import nn

    class Bank(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
            self.register_buffer("bank", nn.functional.normalize(torch.randn(40, 8), dim=1))
            self.register_buffer("at", torch.zeros(1, dtype=torch.long))

        @torch.no_grad()
        def remember(self, keys: torch.Tensor) -> None:
            at = int(self.at)
            self.bank[at : at + len(keys)] = keys
            self.at[0] = (at + len(keys)) % len(self.bank)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            one = nn.functional.normalize(self.net(x), dim=1)
            other = nn.functional.normalize(self.net(x + 0.1 * torch.randn_like(x)), dim=1)
            far = one @ self.bank.clone().T  # effect: GS462
            scores = torch.cat([(one * other).sum(1, keepdim=True), far], 1)
            self.remember(other)  # cause: GS462
            return scores / 0.2, torch.zeros(len(x), dtype=torch.long)

    torch.manual_seed(0)
    model = Bank()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(5):
            opt.zero_grad()
            nn.functional.cross_entropy(*model(torch.randn(8, 4))).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                print(nn.functional.cross_entropy(*model(torch.randn(8, 4) + 1)).item())


def good_bank_written_behind_the_step() -> None:
    import torch
    from torch import nn

    class Bank(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 8)
            self.register_buffer("bank", torch.randn(40, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.made = nn.functional.normalize(self.net(x), dim=1)
            return (self.made @ self.bank.clone().T).logsumexp(1).mean()

        def remember(self) -> None:
            self.bank.copy_(torch.cat([self.bank[8:], self.made.detach()]))

    torch.manual_seed(0)
    model = Bank()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(8, 4)).backward()
            opt.step()
            model.remember()
        model.eval()
        with torch.no_grad():
            print(model(torch.randn(8, 4)))


def good_figures_that_both_count() -> None:
    """A running mean of the answers is looked at, and no loss is made of it; calls are counted by an integer."""
    import torch
    from torch import nn

    class Watched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 1)
            self.register_buffer("mean", torch.zeros(1))
            self.register_buffer("calls", torch.zeros(1, dtype=torch.long))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.net(x)
            self.calls += 1
            self.mean.lerp_(out.detach().mean(0), 0.1)
            return out * (1 + 0 * self.calls)

    torch.manual_seed(0)
    model = Watched()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(4):
            x = torch.randn(8, 4)
            opt.zero_grad()
            (model(x)[:, 0] - x.sum(1)).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            x = torch.randn(8, 4)
            print((model(x)[:, 0] - x.sum(1)).pow(2).mean(), model.mean)


def good_asked_once_behind_the_training() -> None:
    import torch
    from torch import nn

    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 1)
            self.register_buffer("middle", torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.middle.lerp_(x.mean(0), 0.1)
            return self.net(x - self.middle.clone())

    torch.manual_seed(0)
    model = Centred()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x)[:, 0] - x.sum(1)).pow(2).mean().backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        x = torch.randn(64, 4)
        print((model(x)[:, 0] - x.sum(1)).pow(2).mean())


def good_batch_norm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(4):
            x = torch.randn(8, 4)
            opt.zero_grad()
            (model(x)[:, 0] - x.sum(1)).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            x = torch.randn(8, 4)
            print((model(x)[:, 0] - x.sum(1)).pow(2).mean())


def good_state_that_begins_at_zero_in_each_call() -> None:
    """A buffer that each call fills anew, in both modes."""
    import torch
    from torch import nn

    class Steps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 4)
            self.register_buffer("state", torch.zeros(8, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.state.zero_()
            self.state.add_(x.detach())
            return self.net(self.state.clone()).sum(1)

    torch.manual_seed(0)
    model = Steps()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        model.train()
        for _ in range(4):
            x = torch.randn(8, 4)
            opt.zero_grad()
            (model(x) - x.sum(1)).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            x = torch.randn(8, 4)
            print((model(x) - x.sum(1)).pow(2).mean())
