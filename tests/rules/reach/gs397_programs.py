"""More programs of GS397."""

from __future__ import annotations


def bad_pooled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Conv2d(1, 4, 3), nn.InstanceNorm2d(4, affine=True)), nn.Linear(4, 2)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        pooled = nn.functional.adaptive_avg_pool2d(body(torch.randn(8, 1, 6, 6)), 1)  # cause: GS397
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled.flatten(1)), torch.randint(0, 2, (8,))).backward()
        opt.step()


def good_pooled_in_parts() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Conv2d(1, 4, 3), nn.InstanceNorm2d(4)), nn.Linear(16, 2)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        pooled = nn.functional.adaptive_avg_pool2d(body(torch.randn(8, 1, 6, 6)), 2)
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled.flatten(1)), torch.randint(0, 2, (8,))).backward()
        opt.step()


def good_activation_between() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.InstanceNorm2d(4), nn.ReLU())
    head = nn.Linear(4, 2)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        pooled = body(torch.randn(8, 1, 6, 6)).mean(dim=(2, 3))
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), torch.randint(0, 2, (8,))).backward()
        opt.step()
