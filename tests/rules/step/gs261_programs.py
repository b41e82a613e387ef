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


def bad_loop_over_a_filter() -> None:
    import torch
    from torch import nn

    def switch(part: nn.Module, on: bool) -> None:
        for w in filter(lambda w: w.requires_grad, part.parameters()):  # cause: GS261
            w.requires_grad_(on)

    torch.manual_seed(0)
    filters, top = nn.Sequential(nn.Conv1d(1, 8, 7), nn.ReLU()), nn.Linear(8, 3)
    adam = torch.optim.Adam([*filters.parameters(), *top.parameters()], lr=3e-3)
    switch(filters, False)
    for epoch in range(8):
        if epoch == 4:
            switch(filters, True)  # effect: GS261
        loss = nn.functional.cross_entropy(
            top(filters(torch.randn(12, 1, 32)).amax(-1)), torch.arange(12) % 3
        )
        adam.zero_grad()
        loss.backward()
        adam.step()


def bad_loop_over_what_a_function_picks() -> None:  # fix: by hand
    from collections.abc import Iterator

    import torch
    from torch import nn

    def learnable(part: nn.Module) -> Iterator[nn.Parameter]:
        for w in part.parameters():
            if w.requires_grad:  # cause: GS261
                yield w

    def switch(part: nn.Module, on: bool) -> None:
        for w in learnable(part):
            w.requires_grad_(on)

    def train(parts: nn.ModuleList) -> None:
        optim = torch.optim.SGD(learnable(parts), lr=0.1)
        for _ in range(3):
            optim.zero_grad()
            parts[1](parts[0](torch.randn(8, 4)).tanh()).pow(2).mean().backward()
            optim.step()

    torch.manual_seed(0)
    parts = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 1)])
    switch(parts[0], False)
    train(parts)
    switch(parts[0], True)  # effect: GS261
    train(parts)


def good_what_is_learnable_is_asked_once() -> None:
    import torch
    from torch import nn

    def learnable(part: nn.Module) -> list[nn.Parameter]:
        return [w for w in part.parameters() if w.requires_grad]

    def switch(weights: list[nn.Parameter], on: bool) -> None:
        for w in weights:
            w.requires_grad_(on)

    torch.manual_seed(0)
    body, top = nn.Linear(4, 8), nn.Linear(8, 1)
    of_body = learnable(body)
    optim = torch.optim.SGD([*of_body, *top.parameters()], lr=0.1)
    for turn in range(6):
        switch(of_body, turn > 2)
        optim.zero_grad()
        top(body(torch.randn(8, 4)).tanh()).pow(2).mean().backward()
        optim.step()
