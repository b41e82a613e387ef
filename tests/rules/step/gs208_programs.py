"""More programs of GS208: each bad one is reported at its marks, each good one by no rule."""


def bad_everything() -> None:  # fix: by hand
    import torch
    from torch import nn

    body, head = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), nn.Linear(3, 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)  # effect: GS208
    for p in head.parameters():
        p.requires_grad = False  # cause: GS208
    for _ in range(3):
        opt.zero_grad()
        head(body(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def bad_all_but_the_norm() -> None:  # fix: by hand
    from collections import OrderedDict

    import torch
    from torch import nn

    model = nn.Sequential(
        OrderedDict([("body", nn.Linear(3, 3)), ("norm", nn.BatchNorm1d(3)), ("head", nn.Linear(3, 1))])
    )
    opt = torch.optim.SGD(model[2].parameters(), lr=0.1)  # effect: GS208
    for name, p in model.named_parameters():
        if "norm" not in name:
            p.requires_grad = False  # cause: GS208
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_frozen_from_some_step_on() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(20):
        if step == 12:
            model[0].requires_grad_(False)  # cause: GS208
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS208


def good_unfrozen_later() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(
        [
            {"params": model[0].parameters(), "lr": 0.01},
            {"params": model[1].parameters(), "lr": 0.1},
        ]
    )
    for epoch in range(4):
        if epoch == 2:
            model[0].requires_grad_(epoch > 0)
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_alternating() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        critic.requires_grad_(True)
        opt_c.zero_grad()
        critic(generator(torch.randn(4, 2)).detach()).mean().backward()
        opt_c.step()
        critic.requires_grad_(False)
        opt_g.zero_grad()
        critic(generator(torch.randn(4, 2))).mean().neg().backward()
        opt_g.step()


def good_momentum_encoder() -> None:
    import torch
    from torch import nn

    pair = nn.ModuleDict({"query": nn.Linear(3, 2), "key": nn.Linear(3, 2)})
    pair["key"].requires_grad_(False)
    opt = torch.optim.SGD(pair.parameters(), lr=0.1)
    for _ in range(4):
        with torch.no_grad():
            for key, query in zip(pair["key"].parameters(), pair["query"].parameters(), strict=True):
                key.mul_(0.9).add_(query, alpha=0.1)
        x = torch.randn(4, 3)
        opt.zero_grad()
        (pair["query"](x) - pair["key"](x)).pow(2).mean().backward()
        opt.step()


def bad_part_that_nothing_unfreezes_while_nobody_looks() -> None:  # fix: by hand
    import torch
    from torch import nn

    first, body, head = nn.Linear(3, 4), nn.Linear(4, 8), nn.Linear(8, 1)
    model = nn.Sequential(first, body, head)
    for p in [*first.parameters(), *body.parameters()]:
        p.requires_grad = False  # effect: GS208
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS208
    for step in range(120):
        if step == 70:
            for p in body.parameters():
                p.requires_grad = True
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_frozen_again_with_its_adapter() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.down, self.up = base, nn.Linear(6, 2), nn.Linear(2, 1)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    def prepared(model):
        for p in model.parameters():
            p.requires_grad = False  # cause: GS208
        return model

    model = nn.Linear(6, 1)
    first = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(40):
        first.zero_grad()
        model(torch.randn(8, 6)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        first.step()
    adapted = prepared(Adapted(prepared(model)))
    opt = torch.optim.AdamW(adapted.parameters(), lr=0.01)  # effect: GS208
    for _ in range(20):
        x = torch.randn(8, 6).requires_grad_()
        loss = adapted(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(adapted.parameters(), 1.0)
        opt.step()


def good_adapter_put_in_behind_the_freezing() -> None:
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.down, self.up = base, nn.Linear(6, 2), nn.Linear(2, 1)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    model = nn.Linear(6, 1)
    first = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(40):
        first.zero_grad()
        model(torch.randn(8, 6)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        first.step()
    for p in model.parameters():
        p.requires_grad = False
    adapted = Adapted(model)
    opt = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=0.01)
    for _ in range(20):
        loss = adapted(torch.randn(8, 6)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(adapted.parameters(), 1.0)
        opt.step()


def bad_embeddings_from_pretrained() -> None:
    import torch
    from torch import nn

    class Scores(nn.Module):
        def __init__(self, users: torch.Tensor, items: torch.Tensor) -> None:
            super().__init__()
            self.users = nn.Embedding.from_pretrained(users)  # cause: GS208
            self.items = nn.Embedding.from_pretrained(items, padding_idx=0)
            self.mlp = nn.Linear(8, 1)

        def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
            given: torch.Tensor = self.mlp(torch.cat([self.users(user), self.items(item)], 1))
            return given

    torch.manual_seed(0)
    model = Scores(torch.randn(6, 4), torch.randn(9, 4))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)  # effect: GS208
    for _ in range(4):
        user, item, click = torch.randint(0, 6, (8,)), torch.randint(1, 9, (8,)), torch.rand(8, 1)
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(user, item), click).backward()
        opt.step()


def bad_a_bag_made_in_a_function_with_a_rate_of_its_own() -> None:
    import torch
    from torch import nn

    def table(vectors: torch.Tensor) -> nn.EmbeddingBag:
        return nn.EmbeddingBag.from_pretrained(vectors, mode="sum")  # cause: GS208

    torch.manual_seed(0)
    bag, head = table(torch.randn(10, 4)), nn.Linear(4, 2)
    opt = torch.optim.SGD(  # effect: GS208
        [{"params": bag.parameters(), "lr": 0.01}, {"params": head.parameters(), "lr": 0.1}]
    )
    for _ in range(4):
        words, label = torch.randint(0, 10, (8, 5)), torch.randint(0, 2, (8,))
        opt.zero_grad()
        nn.functional.cross_entropy(head(bag(words)), label).backward()
        opt.step()


def good_embedding_from_pretrained_that_trains() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding.from_pretrained(torch.randn(10, 4), freeze=False), nn.Linear(4, 2)
    opt = torch.optim.SGD(
        [{"params": words.parameters(), "lr": 0.01}, {"params": head.parameters(), "lr": 0.1}]
    )
    for _ in range(4):
        opt.zero_grad()
        label = torch.randint(0, 2, (8,))
        nn.functional.cross_entropy(head(words(torch.randint(0, 10, (8,)))), label).backward()
        opt.step()


def good_frozen_embedding_that_the_optimizer_has_not() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding.from_pretrained(torch.randn(10, 4)), nn.Linear(4, 2)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        label = torch.randint(0, 2, (8,))
        nn.functional.cross_entropy(head(words(torch.randint(0, 10, (8,)))), label).backward()
        opt.step()
