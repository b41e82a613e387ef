"""More programs of GS246: each bad one is reported at its marks, each good one by no rule."""


def bad_counted_calls() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Centred(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.shift, self.calls = nn.Parameter(torch.zeros(width)), 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.calls == 0:
                with torch.no_grad():
                    self.shift.copy_(-x.mean(0))  # cause: GS246
            self.calls += 1
            return x + self.shift

    def train(model: nn.Module, steps: int) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(steps):
            x = torch.randn(16, 4) + 2
            opt.zero_grad()
            (model(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()

    first = nn.Sequential(Centred(4), nn.Linear(4, 2))
    train(first, 8)
    second = nn.Sequential(Centred(4), nn.Linear(4, 2))
    second.load_state_dict(first.state_dict())  # effect: GS246
    train(second, 4)


def good_bounded_in_each_call() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Bounded(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.weight.data = torch.renorm(self.weight.data, 2, 0, 0.5)
            return super().forward(x)

    def train(model: nn.Module, steps: int) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(steps):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (model(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()

    first = nn.Sequential(Bounded(4, 4), nn.Linear(4, 2))
    train(first, 8)
    second = nn.Sequential(Bounded(4, 4), nn.Linear(4, 2))
    second.load_state_dict(first.state_dict())
    train(second, 4)


def good_bounded_once_after_the_load() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Normed(nn.Linear):
        fresh = True

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.fresh:
                self.weight.data = nn.functional.normalize(self.weight.data, dim=1)
                self.fresh = False
            return super().forward(x)

    def train(model: nn.Module, steps: int) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(steps):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (model(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()

    first = nn.Sequential(Normed(4, 4), nn.Linear(4, 2))
    train(first, 8)
    second = nn.Sequential(Normed(4, 4), nn.Linear(4, 2))
    second.load_state_dict(first.state_dict())
    train(second, 4)


def good_new_part_beside_what_is_loaded() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Scale(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.scale, self.initialized = nn.Parameter(torch.ones(width)), False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.initialized:
                self.scale.data = 1 / x.std(0).detach()
                self.initialized = True
            return x * self.scale

    def train(model: nn.Module, steps: int) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(steps):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (model(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()

    body = nn.Linear(4, 4)
    train(nn.Sequential(body, nn.Linear(4, 2)), 8)
    second = nn.Sequential(nn.Linear(4, 4), Scale(4), nn.Linear(4, 2))
    second[0].load_state_dict(body.state_dict())
    train(second, 4)


def good_loaded_back_into_the_same_model() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)

    class Scale(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.scale, self.initialized = nn.Parameter(torch.ones(width)), False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.initialized:
                self.scale.data = 1 / x.std(0).detach()
                self.initialized = True
            return x * self.scale

    def train(model: nn.Module, steps: int) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(steps):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (model(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()

    model = nn.Sequential(Scale(4), nn.Linear(4, 2))
    train(model, 4)
    kept = copy.deepcopy(model.state_dict())
    train(model, 4)
    model.load_state_dict(kept)
    train(model, 4)
