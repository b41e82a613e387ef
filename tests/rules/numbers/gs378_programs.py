"""More programs of GS378: each bad one is reported at its marks, each good one by no rule."""


def bad_mask_of_a_picture() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        mask = (torch.rand(4, 1, 8, 8) < 0.6).float() * 255
        shown = model(mask / 255 + torch.randn(4, 1, 8, 8))
        inter = (shown * mask).sum()  # cause: GS378
        loss = 1 - (2 * inter + 1) / (shown.sum() + mask.sum() + 1)  # effect: GS378
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mask_from_zero_to_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        mask = (torch.rand(4, 1, 8, 8) < 0.6).float()
        shown = model(mask + torch.randn(4, 1, 8, 8))
        inter = (shown * mask).sum()
        loss = 1 - (inter + 1) / (shown.sum() + mask.sum() - inter + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_that_go_beyond_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, prizes = torch.randn(8, 4), 3 * torch.rand(8, 3)
        loss = 1 - (model(x) * prizes).sum() / 24
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sum_of_other_ratios() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, prizes = torch.randn(8, 4), torch.rand(8, 3)
        loss = 1 - ((model(x) * prizes).sum(1) / prizes.sum(1)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_share_of_each_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 3, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(12):
        scan = torch.randn(4, 1, 8, 8)
        organ = (scan[:, 0] > -0.5).long() + (scan[:, 0] > 0.5).long()
        p = net(scan).softmax(1).flatten(2)
        y = nn.functional.one_hot(organ.flatten(1), 3).transpose(1, 2).to(p)
        hit = torch.einsum("nck,nck->nc", p, y)
        extra, lost = torch.einsum("nck,nck->nc", p, 1 - y), torch.einsum("nck,nck->nc", 1 - p, y)
        index = (hit + 1e-5) / (hit + 0.3 * extra + 0.7 * lost + 1e-5)
        loss = 1 - index.sum(dim=1).mean()  # cause: GS378
        opt.zero_grad()
        loss.backward()  # effect: GS378
        opt.step()


def good_share_of_each_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 3, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(12):
        scan = torch.randn(4, 1, 8, 8)
        organ = (scan[:, 0] > -0.5).long() + (scan[:, 0] > 0.5).long()
        p = net(scan).softmax(1).flatten(2)
        y = nn.functional.one_hot(organ.flatten(1), 3).transpose(1, 2).to(p)
        hit = torch.einsum("nck,nck->nc", p, y)
        extra, lost = torch.einsum("nck,nck->nc", p, 1 - y), torch.einsum("nck,nck->nc", 1 - p, y)
        index = (hit + 1e-5) / (hit + 0.3 * extra + 0.7 * lost + 1e-5)
        shares = torch.stack([hit / (hit + extra), extra / (hit + extra)])
        loss = (1 - index).sum(dim=1).mean() + (1 - index.mean()) + (1 - shares.sum(0)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_added_up_one_by_one() -> None:  # fix: by hand
    import torch
    from torch import nn

    def jaccard(prob: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        both = torch.dot(prob.reshape(-1), mask.reshape(-1))
        return (both + 1e-3) / (prob.sum() + mask.sum() - both + 1e-3)

    torch.manual_seed(44)
    model = nn.Conv2d(2, 1, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        sky = torch.randn(8, 2, 10, 10)
        masks = (sky[:, :1] > 0).float()
        overlap = torch.zeros(())
        for prob, mask in zip(model(sky).sigmoid(), masks, strict=True):
            overlap = overlap + jaccard(prob, mask)  # cause: GS378
        loss = 1.0 - overlap
        opt.zero_grad()
        loss.backward()  # effect: GS378
        opt.step()


def bad_sum_of_a_list() -> None:
    import torch
    from torch import nn

    def dice(prob: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return 2 * (prob * mask).sum() / (prob.sum() + mask.sum())

    torch.manual_seed(44)
    model = nn.Conv2d(2, 1, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        sky = torch.randn(8, 2, 10, 10)
        masks = (sky[:, :1] > 0).float()
        each = [dice(prob, mask) for prob, mask in zip(model(sky).sigmoid(), masks, strict=True)]
        loss = 1 - torch.stack(each).sum()  # cause: GS378
        opt.zero_grad()
        loss.backward()  # effect: GS378
        opt.step()


def good_mean_one_by_one() -> None:
    import torch
    from torch import nn

    def jaccard(prob: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        both = torch.dot(prob.reshape(-1), mask.reshape(-1))
        return (both + 1e-3) / (prob.sum() + mask.sum() - both + 1e-3)

    torch.manual_seed(44)
    model = nn.Conv2d(2, 1, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        sky = torch.randn(8, 2, 10, 10)
        masks, probs = (sky[:, :1] > 0).float(), model(sky).sigmoid()
        overlap = torch.zeros(())
        for prob, mask in zip(probs, masks, strict=True):
            overlap = overlap + jaccard(prob, mask)
        loss = 1.0 - overlap / len(probs) - 0.5 * jaccard(probs, masks)
        opt.zero_grad()
        loss.backward()
        opt.step()
