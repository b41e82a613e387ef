"""More programs of GS241: each bad one is reported at its marks, each good one by no rule."""


def bad_of_adam() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1.0)  # cause: GS241
    for _ in range(150):
        x = torch.randn(64, 6)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        loss.backward()  # effect: GS241
        opt.step()


def good_decay_that_learning_holds_against() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    opt = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(150):
        x = torch.randn(64, 6)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        loss.backward()
        opt.step()


def bad_in_one_group() -> None:
    import torch
    from torch import nn

    def groups_of(net: nn.Module) -> list[dict[str, object]]:
        matrices = [w for w in net.parameters() if w.ndim >= 2]
        vectors = [w for w in net.parameters() if w.ndim < 2]
        return [
            {"params": matrices, "weight_decay": 80.0},  # cause: GS241
            {"params": vectors, "weight_decay": 0.0},
        ]

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    optim = torch.optim.AdamW(groups_of(net), lr=0.01)
    for _ in range(120):
        x = torch.randn(64, 4)
        optim.zero_grad()
        loss = nn.functional.cross_entropy(net(x), x.argmax(1))
        loss.backward()  # effect: GS241
        optim.step()


def good_in_one_group() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    groups = [
        {"params": [net[0].weight, net[2].weight], "weight_decay": 0.01},
        {"params": [net[0].bias, net[2].bias], "weight_decay": 0.0},
    ]
    optim = torch.optim.AdamW(groups, lr=0.01)
    for _ in range(120):
        x = torch.randn(64, 4)
        optim.zero_grad()
        loss = nn.functional.cross_entropy(net(x), x.argmax(1))
        loss.backward()
        optim.step()
