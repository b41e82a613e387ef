"""More programs of GS325: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_masked_too_late() -> None:
    import torch
    from torch import nn

    def pooled(x: torch.Tensor, padded: torch.Tensor) -> torch.Tensor:
        weights = torch.full(x.shape[:2], 0.25)
        result = (x * weights.unsqueeze(-1)).sum(1)  # effect: GS325
        weights.masked_fill_(padded, 0.0)  # cause: GS325
        return result

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(pooled(torch.randn(8, 4, 3), torch.rand(8, 4) < 0.3)).pow(2).mean().backward()
        opt.step()


def good_buffer_used_again() -> None:
    import torch
    from torch import nn

    def run(model: nn.Module, opt: torch.optim.Optimizer) -> None:
        noise = torch.zeros(8, 3)
        for _ in range(4):
            opt.zero_grad()
            model(torch.ones(8, 3) + noise).pow(2).mean().backward()
            opt.step()
            noise.normal_()

    model = nn.Linear(3, 1)
    run(model, torch.optim.SGD(model.parameters(), lr=0.1))


def good_handed_on() -> None:
    import torch
    from torch import nn

    def batch(kept: list[torch.Tensor]) -> torch.Tensor:
        x = torch.randn(8, 3)
        kept.append(x)
        doubled = x * 2
        x[0] = 0.0
        return doubled

    model, kept = nn.Linear(3, 1), list[torch.Tensor]()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(batch(kept)).pow(2).mean().backward()
        opt.step()
    print(sum(float(x[0].sum()) for x in kept))


def good_printed_afterwards() -> None:
    import torch
    from torch import nn

    def step(model: nn.Module, opt: torch.optim.Optimizer) -> None:
        with torch.no_grad():
            wanted = torch.randn(8, 1)
            scale = wanted * 2
            wanted[0] = 0.0
        opt.zero_grad()
        (model(torch.randn(8, 3)) - scale).pow(2).mean().backward()
        opt.step()
        print(wanted)

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        step(model, opt)


def good_state_of_an_object() -> None:
    import torch
    from torch import nn

    class Agent:
        def __init__(self) -> None:
            self.model, self.trace = nn.Linear(3, 1), torch.zeros(8, 1)
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def learn(self, ended: torch.Tensor) -> None:
            trace = self.trace
            loss = (self.model(torch.randn(8, 3)) - trace).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            trace[ended] = 0.0

    agent = Agent()
    for _ in range(4):
        agent.learn(torch.rand(8) < 0.3)


def bad_bias_filled_after_the_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Parameter(torch.randn(4))

        def forward(self, states, lengths):
            bias = torch.zeros(states.shape[:2])
            weight = torch.softmax(states @ self.query + bias, -1)  # effect: GS325
            bias.masked_fill_(torch.arange(6) >= lengths[:, None], -1e9)  # cause: GS325
            return torch.einsum("bt,btd->bd", weight, states)

    pool, head = Pool(), nn.Linear(4, 1)
    opt = torch.optim.Adam([*pool.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 7, (8,))
        loss = (head(pool(x, lengths)) - x[:, 0, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_bias_filled_before_the_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Parameter(torch.randn(4))

        def forward(self, states, lengths):
            bias = torch.zeros(states.shape[:2])
            bias.masked_fill_(torch.arange(6) >= lengths[:, None], -1e9)
            weight = torch.softmax(states @ self.query + bias, -1)
            return torch.einsum("bt,btd->bd", weight, states)

    pool, head = Pool(), nn.Linear(4, 1)
    opt = torch.optim.Adam([*pool.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 7, (8,))
        loss = (head(pool(x, lengths)) - x[:, 0, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_scores_masked_behind_their_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.key, self.out = nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, absent: torch.Tensor) -> torch.Tensor:
            energy = self.key(x).squeeze(-1) / 2.0
            share = torch.softmax(energy, dim=-1)  # effect: GS325
            energy.masked_fill_(absent, float("-inf"))  # cause: GS325
            return self.out(torch.einsum("bt,btd->bd", share, x))

    pool = Pool()
    opt = torch.optim.SGD(pool.parameters(), lr=0.1)
    for _ in range(4):
        x, absent = torch.randn(8, 5, 4), torch.arange(5) >= torch.randint(1, 6, (8, 1))
        opt.zero_grad()
        (pool(x, absent) - x[:, 0, :1]).pow(2).mean().backward()
        opt.step()


def good_shares_masked_and_written_on() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.key, self.out = nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, absent: torch.Tensor) -> torch.Tensor:
            energy = self.key(x).squeeze(-1) / 2.0
            kept = [energy]
            share = torch.softmax(energy, dim=-1).clone()
            energy.masked_fill_(absent, -30.0)
            share[absent] = 0.0
            self.quiet = kept[0].detach().exp().mean().item()
            h = self.out(torch.einsum("bt,btd->bd", share / share.sum(-1, keepdim=True), x))
            h += 0.1
            return h

    pool = Pool()
    opt = torch.optim.SGD(pool.parameters(), lr=0.1)
    for _ in range(4):
        x, absent = torch.randn(8, 5, 4), torch.arange(5) >= torch.randint(1, 6, (8, 1))
        opt.zero_grad()
        loss = (pool(x, absent) - x[:, 0, :1]).pow(2).mean()
        loss.backward()
        opt.step()
        print(loss.item(), pool.quiet)
