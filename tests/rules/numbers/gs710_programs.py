"""More programs of GS710: each bad one is reported at its marks, each good one by no rule."""


def bad_branch_whose_gate_and_last_layer_are_zero() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 4)
            nn.init.zeros_(self.outer.weight)  # cause: GS710
            nn.init.zeros_(self.outer.bias)  # cause: GS710
            self.gain = nn.Parameter(torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            branch = self.outer(torch.relu(self.inner(x)))
            return x + self.gain * branch

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), Block(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS710
        opt.step()


def bad_low_rank_both_zero() -> None:  # fix: by hand
    import torch
    from torch import nn

    class LowRank(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = nn.Linear(4, 4)
            self.down = nn.Parameter(torch.zeros(2, 4))  # cause: GS710
            self.up = nn.Parameter(torch.zeros(4, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.base(x) + x @ self.down.T @ self.up.T
            return y

    torch.manual_seed(0)
    model = nn.Sequential(LowRank(), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS710
        opt.step()


def good_low_rank() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    base, head = nn.Linear(4, 4), nn.Linear(4, 1)
    down, up = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(4, 2))
    opt = torch.optim.Adam([*base.parameters(), *head.parameters(), down, up], lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(8, 4)
        head(torch.tanh(base(x) + x @ down.T @ up.T)).pow(2).mean().backward()
        opt.step()


def good_each_of_two_branches_ends_in_zeros() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    second = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    head = nn.Linear(4, 1)
    for branch in (first, second):
        for p in branch[2].parameters():
            nn.init.zeros_(p)
    opt = torch.optim.SGD(nn.ModuleList([first, second, head]).parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        hidden = torch.randn(8, 4)
        hidden = hidden + first(hidden)
        hidden = hidden + second(hidden)
        head(hidden).pow(2).mean().backward()
        opt.step()


def good_a_term_that_counts_later() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, main, extra = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    nn.init.zeros_(extra.weight)
    nn.init.zeros_(extra.bias)
    opt = torch.optim.SGD(nn.ModuleList([body, main, extra]).parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        hidden = torch.relu(body(torch.randn(8, 4)))
        (main(hidden).pow(2).mean() + 0.0 * (extra(hidden) - 1).pow(2).mean()).backward()
        opt.step()
