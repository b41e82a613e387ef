"""More programs of GS441: each bad one is reported at its marks, each good one by no rule."""


def bad_intersection_over_the_union() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    bce = nn.BCEWithLogitsLoss()
    for _ in range(3):
        masks = (torch.rand(4, 2, 8, 8) > 0.7).float()
        logits = model(masks.sum(1, keepdim=True) + 0.3 * torch.randn(4, 1, 8, 8))
        both = (logits * masks).sum((2, 3))  # cause: GS441
        iou = (both + 1e-6) / (logits.sum((2, 3)) + masks.sum((2, 3)) - both + 1e-6)
        loss = bce(logits, masks) + 1 - iou.mean()
        opt.zero_grad()
        loss.backward()  # effect: GS441
        opt.step()


def good_squares_below() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Tanh())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        mask = (torch.rand(4, 1, 8, 8) > 0.7).float()
        out = model(mask + 0.3 * torch.randn_like(mask))
        loss = 1 - 2 * (out * mask).sum() / ((out * out).sum() + (mask * mask).sum())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_values_weighed_by_a_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x, mask = torch.randn(16, 10, 4), (torch.rand(16, 10) > 0.3).float()
        value = (model(x).squeeze(2) * mask).sum(1) / (mask.sum(1) + 1)
        loss = (value - x[..., 0].mean(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
