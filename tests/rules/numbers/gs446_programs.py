"""More programs of GS446: each bad one is reported at its marks, each good one by no rule."""


def bad_collected_from_the_modules() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Experts(nn.Module):
        balance: torch.Tensor | None = None

        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(6, 3)
            self.parts = nn.ModuleList(nn.Linear(6, 2) for _ in range(3))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
            share = self.gate(x).softmax(-1)
            mixed = (share.unsqueeze(-1) * torch.stack([part(x) for part in self.parts], 1)).sum(1)
            self.balance = 0.3 * share.mean(0).square().sum()
            fit = nn.functional.cross_entropy(mixed, y)
            return {"loss": fit + self.balance, "logits": mixed}  # effect: GS446

    torch.manual_seed(0)
    model: Any = Experts()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        pieces = [model(x, (x[:, 0] > 0).long())["loss"]]
        pieces += [m.balance for m in model.modules() if getattr(m, "balance", None) is not None]
        total = sum(pieces)  # cause: GS446
        opt.zero_grad()
        total.backward()
        opt.step()


def bad_stacked_and_summed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def losses(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = model(x)
        smooth = 0.5 * (out[:, 1:] - out[:, :-1]).pow(2).mean()
        return (out - x).pow(2).mean() + smooth, smooth  # effect: GS446

    for _ in range(3):
        loss = torch.stack(losses(torch.randn(16, 4))).sum()  # cause: GS446
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_penalty_of_each_layer() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
            self.penalty = torch.zeros(())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.one(x)
            first = h.abs().mean()
            out = x + h + self.two(h)
            self.penalty = first + out.abs().mean()
            return out

    torch.manual_seed(0)
    model: Any = nn.Sequential(Gated(), Gated())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 4)
        fit = (model(x) - x.flip(1)).pow(2).mean()
        penalties = [layer.penalty for layer in model]
        loss = fit + 0.1 * torch.stack(penalties).sum() + 0.01 * max(penalties)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_losses_summed_over_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, total = torch.randn(16, 4), torch.zeros(())
        for _ in range(3):
            x = model(x)
            total = total + (x - 1).pow(2).mean()
        loss = total + 0.1 * x.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_skip_paths_of_a_critic() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.RMSprop([*one.parameters(), *two.parameters()], lr=0.001)
    for _ in range(3):
        h = one(torch.randn(16, 4))
        h = h + torch.relu(two(h))
        h = h + one(torch.randn(16, 4)).sigmoid()
        loss = (h.mean() - 1).pow(2)
        opt.zero_grad()
        loss.backward()
        opt.step()
