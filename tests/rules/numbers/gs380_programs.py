"""More programs of GS380: each bad one is reported at its marks, each good one by no rule."""


def bad_slice_in_a_loop_under_a_condition() -> None:
    import torch
    from torch import nn

    def to_go(costs: list[float], rate: float) -> torch.Tensor:
        out: list[float] = []
        later = 0.0
        while len(out) < len(costs):
            later = costs[len(costs) - 1 - len(out)] + rate * later
            out.append(later)  # effect: GS380
            out = out[::-1]  # cause: GS380
        return torch.tensor(out)

    torch.manual_seed(0)
    value = nn.Linear(3, 1)
    opt = torch.optim.RMSprop(value.parameters(), lr=3e-3)
    for _ in range(4):
        weather = torch.randn(10, 3)
        target = to_go(weather[:, 0].abs().tolist(), 0.8)
        loss = nn.functional.smooth_l1_loss(value(weather).squeeze(1), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_slice_behind_a_loop_under_a_condition() -> None:
    import torch
    from torch import nn

    def to_go(costs: list[float], rate: float) -> torch.Tensor:
        out: list[float] = []
        later, day = 0.0, len(costs) - 1
        while day >= 0:
            later = costs[day] + rate * later
            out.append(later)
            day -= 1
        out = out[::-1]
        return torch.tensor(out)

    torch.manual_seed(0)
    value = nn.Linear(3, 1)
    opt = torch.optim.RMSprop(value.parameters(), lr=3e-3)
    for _ in range(4):
        weather = torch.randn(10, 3)
        target = to_go(weather[:, 0].abs().tolist(), 0.8)
        loss = nn.functional.smooth_l1_loss(value(weather).squeeze(1), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
