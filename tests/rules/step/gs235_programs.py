"""More programs of GS235: each bad one is reported at its marks, each good one by no rule."""


def bad_wrong_ending() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.norm, self.head = nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1)

        def forward(self, x):
            return self.head(self.norm(self.body(x)))

    net = Net()
    decay, plain = [], []
    for name, parameter in net.named_parameters():
        (plain if name.endswith((".b", ".gamma")) else decay).append(parameter)
    opt = torch.optim.AdamW(  # cause: GS235
        [{"params": some, "weight_decay": rate} for some, rate in ((decay, 0.1), (plain, 0.0))], lr=0.01
    )
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_no_bias_at_all() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.Tanh(), nn.Linear(4, 1, bias=False))
    opt = torch.optim.AdamW(
        [
            {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=0.01,
    )
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_frozen_body() -> None:
    import torch
    from torch import nn

    body, head = nn.Linear(3, 4), nn.Linear(4, 1)
    model = nn.Sequential(body, nn.Tanh(), head)
    for p in body.parameters():
        p.requires_grad_(False)
    opt = torch.optim.AdamW(
        [
            {"params": head.parameters(), "weight_decay": 0.1},
            {"params": [p for p in body.parameters() if p.requires_grad], "lr": 1e-3, "weight_decay": 0.0},
        ],
        lr=0.01,
    )
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_all_decay_on_purpose() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.AdamW([{"params": model.parameters(), "weight_decay": 0.1}], lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_groups_by_dimension() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1))
    opt = torch.optim.AdamW(
        [
            {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=0.01,
    )
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
