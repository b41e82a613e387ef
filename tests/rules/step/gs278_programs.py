"""More programs of GS278: each bad one is reported at its marks, each good one by no rule."""


def bad_momentum_of_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 6))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    masks: list[torch.Tensor] = []
    for step in range(14):
        if step == 4:
            masks = [(torch.rand_like(p) < 0.5).float() for p in model.parameters()]
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        for p, mask in zip(model.parameters(), masks, strict=False):
            p.grad = p.grad * mask if p.grad is not None else None
        opt.step()  # cause: GS278


def bad_rows_by_a_hook() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, head = nn.Embedding(40, 8), nn.Linear(8, 2)
    trainable = torch.ones(40, 1)
    trainable[:30] = 0
    table.weight.register_hook(lambda grad: grad * trainable)
    opt = torch.optim.AdamW([*table.parameters(), *head.parameters()], lr=0.01)  # cause: GS278
    for _ in range(12):
        words = torch.randint(0, 40, (32, 4))
        opt.zero_grad()
        nn.functional.cross_entropy(head(table(words).mean(1)), words[:, 0] % 2).backward()
        opt.step()  # effect: GS278


def good_rows_by_a_hook_without_decay() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, head = nn.Embedding(40, 8), nn.Linear(8, 2)
    trainable = torch.ones(40, 1)
    trainable[:30] = 0
    table.weight.register_hook(lambda grad: grad * trainable)
    groups = [{"params": head.parameters()}, {"params": table.parameters(), "weight_decay": 0.0}]
    opt = torch.optim.AdamW(groups, lr=0.01)
    for _ in range(12):
        words = torch.randint(0, 40, (32, 4))
        opt.zero_grad()
        nn.functional.cross_entropy(head(table(words).mean(1)), words[:, 0] % 2).backward()
        opt.step()


def good_a_hook_that_turns_gradients_off_by_their_sign() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 8)
    model.weight.register_hook(lambda grad: grad.clamp(min=0))
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(12):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - torch.randn(16, 8)).pow(2).mean().backward()
        opt.step()


def good_no_decay() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    masks = [(torch.rand_like(p) < 0.4).float() for p in model.parameters()]
    for _ in range(10):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        for p, mask in zip(model.parameters(), masks, strict=True):
            p.grad *= mask
        opt.step()


def good_masks_are_drawn_anew() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.01)
    for _ in range(10):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        for p in model.parameters():
            p.grad *= (torch.rand_like(p) < 0.6).float()
        opt.step()


def good_rows_that_no_token_asks_for() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, head = nn.Embedding(40, 8), nn.Linear(8, 5)
    params = [*table.parameters(), *head.parameters()]
    opt = torch.optim.AdamW(params, lr=0.01, weight_decay=0.1)
    for _ in range(10):
        tokens = torch.randint(0, 20, (32,))
        opt.zero_grad()
        nn.functional.cross_entropy(head(table(tokens)), tokens % 5).backward()
        nn.utils.clip_grad_norm_(params, 0.1)
        opt.step()


def good_the_model_takes_the_masked_weight() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(8, 6) * 0.3)
    mask = (torch.rand(8, 6) < 0.5).float()
    opt = torch.optim.SGD([weight], lr=0.05, weight_decay=0.01)
    for _ in range(10):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (x @ (weight * mask).T).sub(x.sum(1, keepdim=True)).pow(2).mean().backward()
        opt.step()
