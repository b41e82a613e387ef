"""More programs of GS453: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_handed_out_by_a_function() -> None:  # fix: by hand
    """The mixture is dense: each expert works on all samples, and a mask says whose answers count."""
    import torch
    from torch import nn

    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            scores = self.score(x)
            best, index = torch.topk(scores, 2, dim=-1)
            return best.softmax(-1), index, scores.softmax(-1)

    torch.manual_seed(0)
    experts, gate = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)]), Gate()
    head = nn.Linear(8, 1)
    opt = torch.optim.Adam([*experts.parameters(), *gate.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 8)
        counts, index, share = gate(x)  # noqa: RUF059  # effect: GS453
        out = torch.zeros(32, 8)
        for number, expert in enumerate(experts):
            mask = (index == number).any(-1, keepdim=True).float()
            out = out + 0.5 * (expert(x).tanh() * mask)  # cause: GS453
        even = 4 * share.mean(0).pow(2).sum()
        loss = (head(x + out) - x[:, :1].sin()).pow(2).mean() + 0.01 * even
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_expert_by_rows() -> None:
    """Switch: one expert for each, its probability gathered and left out."""
    import torch
    from torch import nn

    class Switch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts, self.router = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)]), nn.Linear(8, 4)
            self.even = torch.tensor(0.0)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            share = self.router(x).softmax(-1)
            best, index = share.topk(k=1)
            gain = best / (best.detach() + 1e-6)  # effect: GS453
            out = torch.zeros_like(x)
            for number, expert in enumerate(self.experts):
                row, _slot = torch.where(index == number)
                out[row] += expert(x[row])  # cause: GS453
            self.even = 4 * share.mean(0).pow(2).sum()
            return out

    torch.manual_seed(0)
    switch, head = Switch(), nn.Linear(8, 1)
    opt = torch.optim.Adam([*switch.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 8)
        loss = (head(x + switch(x)) - x[:, :1].sin()).pow(2).mean() + 0.01 * switch.even
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_in_another_form() -> None:
    """Those of a dense gate are read, and the ones of the largest were only made; the neighbours of a graph are all
    alike; a router that learns by reward is given the logarithms of what it chose."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    experts, router = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)]), nn.Linear(8, 4)
    policy, head, near = nn.Linear(8, 4), nn.Linear(8, 1), nn.Linear(16, 8)
    parts = (experts, router, policy, head, near)
    opt = torch.optim.Adam([p for part in parts for p in part.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 8)
        share = router(x).softmax(-1)
        best, index = share.topk(2, dim=-1)
        best = best / best.sum(-1, keepdim=True)
        gates = share * torch.zeros_like(share).scatter(1, index, 1.0)
        gates = gates / gates.sum(-1, keepdim=True)
        out = torch.stack([expert(x) for expert in experts], 1)
        out = (out * gates.unsqueeze(-1)).sum(1)

        h = out.tanh()
        close, neighbours = (-torch.cdist(h, h)).topk(4)
        close = close.softmax(-1)
        pairs = torch.cat([h.unsqueeze(1).expand(32, 4, 8), h[neighbours] - h.unsqueeze(1)], -1)
        out = near(pairs).amax(1)

        logs = policy(x).log_softmax(-1)
        found, chosen = logs.topk(1)
        found = found.exp() / 2
        late = torch.zeros(32, 8)
        for number, expert in enumerate(experts):
            row, _place = (chosen == number).nonzero(as_tuple=True)
            late = late.index_add(0, row, expert(x[row]))
        error = (head(x + out + late) - x[:, :1].sin()).pow(2).squeeze(-1)
        reward = -error.detach()
        loss = error.mean() - 0.1 * (logs.gather(1, chosen).squeeze(1) * (reward - reward.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_of_the_chosen() -> None:
    import torch
    from torch import nn

    class Switch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts, self.router = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)]), nn.Linear(8, 4)
            self.even = torch.tensor(0.0)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            share = self.router(x).softmax(-1)
            best, index = share.topk(k=1)
            gain = best / (best.detach() + 1e-6)
            out = torch.zeros_like(x)
            for number, expert in enumerate(self.experts):
                row, slot = torch.where(index == number)
                out[row] += expert(x[row]) * gain[row, slot, None]
            self.even = 4 * share.mean(0).pow(2).sum()
            return out

    torch.manual_seed(0)
    switch, head = Switch(), nn.Linear(8, 1)
    opt = torch.optim.Adam([*switch.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 8)
        loss = (head(x + switch(x)) - x[:, :1].sin()).pow(2).mean() + 0.01 * switch.even
        opt.zero_grad()
        loss.backward()
        opt.step()
