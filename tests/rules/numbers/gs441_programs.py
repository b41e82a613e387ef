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


def bad_jaccard_by_letters() -> None:
    import torch
    from torch import nn

    def jaccard(maps: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        inter = torch.einsum("bchw,bchw->b", maps, masks)  # cause: GS441
        union = maps.sum((1, 2, 3)) + masks.sum((1, 2, 3)) - inter
        return 1 - ((inter + 1) / (union + 1)).mean()

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        masks = (torch.rand(4, 1, 8, 8) > 0.8).float()
        maps = model(masks + 0.3 * torch.randn_like(masks))
        loss = 0.5 * nn.functional.binary_cross_entropy_with_logits(maps, masks) + 0.5 * jaccard(maps, masks)
        opt.zero_grad()
        loss.backward()  # effect: GS441
        opt.step()


def bad_dot_of_flat_scores() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        mask = (torch.rand(4, 1, 8, 8) > 0.8).float()
        out, flat = model(mask + 0.3 * torch.randn_like(mask)).flatten(), mask.flatten()
        dice = (2 * torch.dot(out, flat) + 1) / (out.sum() + flat.sum() + 1)  # cause: GS441
        loss = 1 - dice
        opt.zero_grad()
        loss.backward()  # effect: GS441
        opt.step()


def good_shares_by_a_hyperbolic_tangent() -> None:
    import torch
    from torch import nn

    def jaccard(maps: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        maps = 0.5 * (1 + torch.tanh(0.5 * maps))
        inter = torch.einsum("bchw,bchw->b", maps, masks)
        union = maps.sum((1, 2, 3)) + masks.sum((1, 2, 3)) - inter
        return 1 - ((inter + 1) / (union + 1)).mean()

    def inside(maps: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bchw,bchw->b", maps, masks) / (masks.sum((1, 2, 3)) + 1)

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        masks = (torch.rand(4, 1, 8, 8) > 0.8).float()
        maps = model(masks + 0.3 * torch.randn_like(masks))
        gap = inside(maps, masks) - inside(maps, 1 - masks)
        loss = jaccard(maps, masks) + 0.1 * torch.relu(4 - gap).mean()
        opt.zero_grad()
        loss.backward()
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
