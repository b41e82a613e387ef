"""More programs of GS757: each bad one is reported at its marks, each good one by no rule."""


def bad_by_hand() -> None:
    import torch

    def update(
        weight: torch.Tensor, bias: torch.Tensor, x: torch.Tensor, y: torch.Tensor, rate: float
    ) -> None:
        loss = (x @ weight + bias - y).pow(2).sum()
        loss.backward()  # effect: GS757
        with torch.no_grad():
            weight -= rate * weight.grad  # cause: GS757
            bias -= rate * bias.grad
            weight.grad.zero_()
            bias.grad.zero_()

    torch.manual_seed(0)
    x = torch.rand(40, 3) * 200
    y = x.sum(1, keepdim=True)
    weight, bias = torch.zeros(3, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    rate = 1e-5
    for _ in range(10):
        update(weight, bias, x, y, rate)


def bad_wide_weights() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(64, 400)
    y = x[:, :2] * 3
    first = torch.randn(400, 100)  # cause: GS757
    second = torch.randn(100, 2)
    first.requires_grad_()
    second.requires_grad_()
    for _ in range(8):
        loss = (x.mm(first).relu().mm(second) - y).pow(2).sum()
        loss.backward()  # effect: GS757
        with torch.no_grad():
            for weight in (first, second):
                weight -= 1e-4 * weight.grad
                weight.grad = None


def bad_wide_parameters() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Parameter(torch.randn(64, 300))  # cause: GS757
            self.second = nn.Parameter(torch.randn(1, 64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(torch.relu(nn.functional.linear(x, self.first)), self.second)

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(128, 300)
    for _ in range(10):
        opt.zero_grad()
        loss = (net(x) - x[:, :1]).pow(2).mean()
        loss.backward()  # effect: GS757
        opt.step()


def bad_diverging() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=20.0)  # cause: GS757
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(6):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()  # effect: GS757
        opt.step()


def bad_diverging_until_it_overflows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=50.0)  # cause: GS757
    for _ in range(12):
        x = torch.randn(16, 4)
        opt.zero_grad()
        loss = (model(x) - 10 * x.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()  # effect: GS757
        opt.step()


def good_clipped_with_a_growing_weight() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(8):
        opt.zero_grad()
        (model(torch.randn(8, 4)).pow(2).mean() * 10.0**step).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


def good_range_test() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.linspace(0, 10, 64).unsqueeze(1)
    model = nn.Linear(1, 1)
    with torch.no_grad():
        model.weight.fill_(2.999)
        model.bias.zero_()
    opt = torch.optim.SGD(model.parameters(), lr=0.08)
    for _ in range(8):
        opt.zero_grad()
        loss = (model(x) - 3 * x).pow(2).mean()
        loss.backward()
        opt.step()
        for group in opt.param_groups:
            group["lr"] *= 1.05


def good_range_test_by_a_schedule() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.linspace(0, 10, 64).unsqueeze(1)
    model = nn.Linear(1, 1)
    with torch.no_grad():
        model.weight.fill_(2.999)
        model.bias.zero_()
    opt = torch.optim.SGD(model.parameters(), lr=0.08)
    schedule = torch.optim.lr_scheduler.ExponentialLR(opt, 1.05)
    for _ in range(8):
        opt.zero_grad()
        loss = (model(x) - 3 * x).pow(2).mean()
        loss.backward()
        opt.step()
        schedule.step()


def good_attack() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    for p in model.parameters():
        p.requires_grad_(False)
    x = torch.tensor([[9.0, -9.0, 9.0, -9.0]]) * model.weight[:1].sign()
    target = model(x).argmax(1)
    change = torch.zeros_like(x, requires_grad=True)
    for _ in range(14):
        loss = nn.functional.cross_entropy(model(x + change), target)
        loss.backward()
        with torch.no_grad():
            change += 2.0 * change.grad.sign()
            change.grad.zero_()


def good_maximised() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.full((3,), 1e-7, requires_grad=True)
    opt = torch.optim.SGD([x], lr=1.0, maximize=True)
    for _ in range(12):
        opt.zero_grad()
        loss = x.pow(2).sum()
        loss.backward()
        opt.step()


def good_larger_data_each_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-9)
    for _ in range(3):
        for size in (1.0, 10.0, 100.0, 1000.0):
            opt.zero_grad()
            x = torch.randn(16, 2) * size
            loss = (model(x) - x[:, :1]).pow(2).mean()
            loss.backward()
            opt.step()


def good_normal_weights_scaled() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(64, 400)
    y = x[:, :2] * 3
    first = (torch.randn(400, 100) / 20).requires_grad_()
    second = (torch.randn(100, 2) / 10).requires_grad_()
    for _ in range(8):
        loss = (x.mm(first).relu().mm(second) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for weight in (first, second):
                weight -= 1e-4 * weight.grad
                weight.grad = None


def bad_rate_of_an_option() -> None:
    import argparse

    import torch
    from torch import nn

    parser = argparse.ArgumentParser()
    parser.add_argument("--learning-rate", type=float, default=4.0)
    args = parser.parse_args([])
    torch.manual_seed(0)
    model = nn.Linear(20, 1)
    opt = torch.optim.SGD(model.parameters(), lr=args.learning_rate)  # cause: GS757
    for _ in range(30):
        x = torch.randn(64, 20)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS757
        opt.step()


def bad_rate_of_an_argument() -> None:
    import torch
    from torch import nn

    def train(model: nn.Module, steps: int, lr: float = 4.0) -> None:
        opt = torch.optim.SGD(model.parameters(), lr)  # cause: GS757
        for _ in range(steps):
            x = torch.randn(64, 20)
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            opt.zero_grad()
            loss.backward()  # effect: GS757
            opt.step()

    torch.manual_seed(0)
    train(nn.Linear(20, 1), 30)


def bad_rate_of_a_table() -> None:
    import torch
    from torch import nn

    settings = {"steps": 30, "lr": 4.0}
    torch.manual_seed(0)
    model = nn.Linear(20, 1)
    opt = torch.optim.SGD(model.parameters(), lr=settings["lr"])  # cause: GS757
    for _ in range(int(settings["steps"])):
        x = torch.randn(64, 20)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS757
        opt.step()


def bad_rate_that_two_calls_give() -> None:  # fix: by hand
    import torch
    from torch import nn

    def train(model: nn.Module, lr: float) -> None:
        opt = torch.optim.SGD(model.parameters(), lr)  # cause: GS757
        for _ in range(30):
            x = torch.randn(64, 20)
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            opt.zero_grad()
            loss.backward()  # effect: GS757
            opt.step()

    torch.manual_seed(0)
    train(nn.Linear(20, 1), 4.0)
    train(nn.Linear(20, 1), 0.01)


def good_penalty_that_grows_between_steps() -> None:
    """An augmented Lagrangian: each step finds the smallest loss, of a penalty ten times as large as before."""
    import torch

    class Search(torch.optim.Optimizer):
        def __init__(self, params) -> None:
            super().__init__(params, {})

        @torch.no_grad()
        def step(self, closure):
            with torch.enable_grad():
                loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad / p.grad.abs().max().clamp(min=1), alpha=1e-3)
            return loss

    torch.manual_seed(0)
    point = torch.tensor([2.0, 1.0], requires_grad=True)
    opt = Search([point])
    penalty = 1.0

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = (point - 3).pow(2).sum() + penalty * (point.sum() - 1).pow(2)
        loss.backward()
        return loss

    for _ in range(12):
        opt.step(closure)
        penalty *= 10
