"""More programs of GS261: each bad one is reported at its marks, each good one by no rule."""


def bad_function_of_a_module() -> None:
    import torch
    from torch import nn

    def freeze(module: nn.Module, *, trainable: bool) -> None:
        for p in module.parameters():
            if p.requires_grad:  # cause: GS261
                p.requires_grad_(trainable)

    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh()), nn.Linear(8, 1)

    def train() -> None:
        trained = [p for p in [*body.parameters(), *head.parameters()] if p.requires_grad]
        opt = torch.optim.SGD(trained, lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            head(body(torch.randn(8, 4) + 1)).pow(2).mean().backward()
            opt.step()

    freeze(body, trainable=False)
    train()
    freeze(body, trainable=True)  # effect: GS261
    train()


def good_only_freezes() -> None:
    """What a `True` before it and a `True` that is never come to may do."""
    import torch
    from torch import nn

    def freeze(module: nn.Module, trainable: bool) -> None:
        for p in module.parameters():
            if p.requires_grad:
                p.requires_grad_(trainable)

    torch.manual_seed(0)
    body, head = nn.Linear(4, 8), nn.Linear(8, 1)
    freeze(body, True)
    freeze(body, False)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        opt.zero_grad()
        loss = head(torch.tanh(body(torch.randn(8, 4)))).pow(2).mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if losses[-1] > 1e6:
        freeze(body, True)
        opt.add_param_group({"params": body.parameters()})


def good_switched_on_by_another_line() -> None:
    import torch
    from torch import nn

    def freeze(module: nn.Module, trainable: bool) -> None:
        for p in module.parameters():
            if p.requires_grad:
                p.requires_grad_(trainable)

    torch.manual_seed(0)
    body, head = nn.Linear(4, 8), nn.Linear(8, 1)

    def train() -> None:
        trained = [p for p in [*body.parameters(), *head.parameters()] if p.requires_grad]
        opt = torch.optim.SGD(trained, lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            head(torch.tanh(body(torch.randn(8, 4)))).pow(2).mean().backward()
            opt.step()

    freeze(body, False)
    train()
    freeze(body, True)
    for p in body.parameters():
        p.requires_grad_(True)
    train()


def bad_goes_on_where_it_is_off() -> None:
    import torch
    from torch import nn

    def switch(part: nn.Module, on: bool) -> None:
        for weight in part.parameters():
            if not weight.requires_grad:  # cause: GS261
                continue
            weight.requires_grad_(on)

    class Ranker(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.score = nn.Embedding(30, 6), nn.Linear(6, 1)

        def forward(self, bag: torch.Tensor) -> torch.Tensor:
            score: torch.Tensor = self.score(self.words(bag).sum(1))
            return score[:, 0]

    def fit(ranker: Ranker, rate: float) -> None:
        optim = torch.optim.Adam(filter(lambda w: w.requires_grad, ranker.parameters()), lr=rate)
        for _ in range(4):
            bags = torch.randint(30, (24, 5))
            optim.zero_grad()
            nn.functional.mse_loss(ranker(bags), bags.float().mean(1) / 30).backward()
            optim.step()

    torch.manual_seed(0)
    ranker = Ranker()
    switch(ranker.words, False)
    fit(ranker, 0.01)
    switch(ranker.words, True)  # effect: GS261
    fit(ranker, 0.001)


def good_goes_on_where_it_is_so_already() -> None:
    import torch
    from torch import nn

    def switch(part: nn.Module, on: bool) -> None:
        for weight in part.parameters():
            if weight.requires_grad is on:
                continue
            weight.requires_grad_(on)

    torch.manual_seed(0)
    words, score = nn.Embedding(30, 6), nn.Linear(6, 1)
    switch(words, False)
    for rate in (0.01, 0.001):
        trained = [w for w in [*words.parameters(), *score.parameters()] if w.requires_grad]
        optim = torch.optim.Adam(trained, lr=rate)
        for _ in range(4):
            bags = torch.randint(30, (24, 5))
            optim.zero_grad()
            guess = score(words(bags).sum(1))[:, 0]
            nn.functional.mse_loss(guess, bags.float().mean(1) / 30).backward()
            optim.step()
        switch(words, True)
