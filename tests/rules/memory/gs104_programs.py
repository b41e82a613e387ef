"""More programs of GS104: each bad one is reported at its marks, each good one by no rule."""


def bad_in_forward() -> None:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.sigmoid(self.fc(x))
            h += x  # cause: GS104
            return h.sum()

    loss = Residual()(torch.ones(2, 3))
    loss.backward()  # effect: GS104


def bad_two_buffers() -> None:
    """Both vectors of a power iteration are overwritten by the second call: both have to be copied."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 3))
            self.register_buffer("u", torch.randn(4))
            self.register_buffer("v", torch.randn(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                self.v.copy_(nn.functional.normalize(self.weight.t() @ self.u, dim=0))
                self.u.copy_(nn.functional.normalize(self.weight @ self.v, dim=0))  # cause: GS104
            u, v = self.u, self.v
            return x @ (self.weight / torch.dot(u, self.weight @ v)).t()

    model = Normed()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = model(torch.randn(5, 3)).mean() - model(torch.randn(5, 3)).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS104
        opt.step()


def good_clone() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    b.detach().clone().zero_()
    loss.backward()


def bad_under_torch_func() -> None:
    import torch

    def energy(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        y = (x * w).exp()  # related: GS104
        y.mul_(2)  # cause: GS104
        return y.sum()

    torch.func.grad(energy)(torch.ones(3), torch.arange(3.0))  # effect: GS104


def good_under_torch_func() -> None:
    import torch

    def energy(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        y = x * w
        y.mul_(2)
        return y.exp().sum()

    torch.func.grad(energy)(torch.ones(3), torch.arange(3.0))


def bad_item_of_a_list() -> None:
    import torch
    from torch import nn

    convs = nn.ModuleList(nn.Sequential(nn.Conv1d(2, 3, 1), nn.Sigmoid()) for _ in range(3))
    maps = {f"p{i}": conv(torch.randn(4, 2, 8)) for i, conv in enumerate(convs)}
    for i in (2, 1):
        maps[f"p{i - 1}"] += maps[f"p{i}"] * 0.5  # cause: GS104
    maps["p0"].sum().backward()  # effect: GS104


def bad_attribute() -> None:
    import torch
    from torch import nn

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.act = nn.Linear(3, 3), nn.Tanh()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.state = self.act(self.inner(x))
            self.state *= x  # cause: GS104
            return self.state

    Cell()(torch.randn(4, 3)).sum().backward()  # effect: GS104


def bad_alias_of_an_argument() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Shift(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            fold = x.shape[1] // 2
            moved = x  # related: GS104
            moved[:, :fold] = x[:, :fold].roll(1, 2) * 0.5  # cause: GS104
            moved[:, fold:] = x[:, fold:].roll(-1, 2) * 0.5
            return moved

    first, shift, second = nn.Conv1d(2, 4, 3), Shift(), nn.Conv1d(4, 2, 3)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(2):
        h = torch.tanh(first(torch.randn(3, 2, 9)))
        loss = second(shift(h)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS104
        opt.step()


def bad_argument_written() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def without_border(x: torch.Tensor, border: int) -> torch.Tensor:
        x[..., :border] = 0  # cause: GS104
        x[..., -border:] = 0
        return x

    first, second = nn.Conv1d(2, 4, 3), nn.Conv1d(4, 2, 3)
    h = torch.sigmoid(first(torch.randn(3, 2, 9)))
    loss = second(without_border(h, 1)).mean() + h.pow(2).mean()
    loss.backward()  # effect: GS104


def good_copy_of_an_argument() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Shift(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            fold = x.shape[1] // 2
            moved = x.clone()
            moved[:, :fold] = x[:, :fold].roll(1, 2) * 0.5
            moved[:, fold:] = x[:, fold:].roll(-1, 2) * 0.5
            return moved

    first, shift, second = nn.Conv1d(2, 4, 3), Shift(), nn.Conv1d(4, 2, 3)
    second(shift(torch.tanh(first(torch.randn(3, 2, 9))))).pow(2).mean().backward()


def good_argument_written_that_nothing_saved() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def without_border(x: torch.Tensor, border: int) -> torch.Tensor:
        out = x
        out[..., :border] = 0
        out[..., -border:] = 0
        return out

    first, second = nn.Conv1d(2, 4, 3), nn.Conv1d(4, 2, 3)
    second(without_border(first(torch.randn(3, 2, 9)), 1)).mean().backward()


def bad_stepped_by_another_thread() -> None:  # fix: by hand
    import threading

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def work() -> None:
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # cause: GS104
        opt.step()

    for _ in range(3):
        work()
    loss = model(torch.randn(8, 4)).pow(2).mean()
    actor = threading.Thread(target=work, name="actor")
    actor.start()
    actor.join()
    loss.backward()  # effect: GS104


def good_a_model_for_each_thread() -> None:
    import threading

    import torch
    from torch import nn

    model, own = (nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)) for _ in range(2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def work(of: nn.Module) -> None:
        of.load_state_dict(model.state_dict())
        of.zero_grad()
        of(torch.randn(8, 4)).pow(2).mean().backward()
        for p, q in zip(model.parameters(), of.parameters(), strict=True):
            p.grad = None if q.grad is None else q.grad.clone()
        opt.step()

    for _ in range(3):
        actor = threading.Thread(target=work, args=(own,), name="actor")
        actor.start()
        actor.join()
