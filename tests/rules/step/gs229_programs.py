"""More programs of GS229: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_taken_over_from_the_last_run() -> None:
    import torch
    from torch import nn

    class Lora(nn.Module):
        def __init__(self, base: nn.Linear):
            super().__init__()
            self.base = base
            self.a = nn.Parameter(torch.randn(2, base.in_features))
            self.b = nn.Parameter(torch.zeros(base.out_features, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.base(x) + x @ self.a.t() @ self.b.t()
            return result

    model = nn.Sequential(Lora(nn.Linear(4, 4)), nn.ReLU(), nn.Linear(4, 1))
    model.requires_grad_(False)  # cause: GS229
    for place, layer in enumerate(model):
        if isinstance(layer, nn.Linear):
            model[place] = Lora(layer)
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()  # effect: GS229
        opt.step()


def good_frozen_backbone_with_biases_of_zero() -> None:
    import torch
    from torch import nn

    body, head = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4)), nn.Linear(4, 1)
    nn.init.zeros_(body[0].bias)
    body.requires_grad_(False)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        (head(body(torch.randn(8, 4))) - 1).pow(2).mean().backward()
        opt.step()


def good_target_that_begins_at_zero() -> None:
    import copy

    import torch
    from torch import nn

    online = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    nn.init.zeros_(online[2].weight)
    target = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.SGD(online.parameters(), lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        wanted = torch.randn(8, 1) + 0.9 * target(torch.randn(8, 4))
        (online(torch.randn(8, 4)) - wanted).pow(2).mean().backward()
        opt.step()
        target.load_state_dict(online.state_dict())


def good_unfrozen_later() -> None:
    import torch
    from torch import nn

    body, extra, head = nn.Linear(4, 4), nn.Linear(4, 4, bias=False), nn.Linear(4, 1)
    nn.init.zeros_(extra.weight)
    opt = torch.optim.SGD([p for m in (body, extra, head) for p in m.parameters()], lr=0.1)
    extra.requires_grad_(False)
    for step in range(8):
        if step == 4:
            extra.requires_grad_(True)
        x = torch.randn(8, 4)
        opt.zero_grad()
        (head(body(x) + extra(x)) - 1).pow(2).mean().backward()
        opt.step()
