"""More programs of GS791: each bad one is reported at its marks, each good one by no rule."""


def bad_in_two_statements() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        y, mask = (x > 1).float(), torch.zeros(4, 1, 8, 8)
        mask[..., 2:6] = 1
        scores = model(x) * mask  # cause: GS791
        p, y = torch.sigmoid(scores), y * mask  # effect: GS791
        loss = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_in_a_base_class() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Dice(nn.Module):
        def forward(self, scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            p = scores.sigmoid()  # effect: GS791
            return 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)

    class Masked(Dice):
        def forward(self, scores: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return super().forward(scores * mask, y * mask)  # cause: GS791

    model, criterion = nn.Conv2d(1, 1, 3, padding=1), Masked()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        loss = criterion(model(x), (x > 1).float(), (torch.arange(8) < 5).float().expand(4, 1, 8, 8))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_scores_of_a_cross_entropy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        mask = (torch.arange(8) < 5).float().expand(4, 1, 8, 8)
        p = torch.sigmoid(model(x) * mask)
        each = nn.functional.binary_cross_entropy(p, (x > 1).float(), reduction="none")
        loss = (each * mask).sum() / mask.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_once_more() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        mask = (torch.arange(8) < 5).float().expand(4, 1, 8, 8)
        y = (x > 1).float() * mask
        p = torch.sigmoid(model(x) * mask) * mask
        loss = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_gates_with_dropped_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, value = nn.Linear(6, 6), nn.Linear(6, 1)
    opt = torch.optim.SGD([*gate.parameters(), *value.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        kept = (torch.rand(16, 6) > 0.3).float()
        weights = torch.sigmoid(gate(x) * kept)
        mixed = (weights * x) / weights.sum(1, keepdim=True)
        loss = (value(mixed) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_where_before_tversky() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Tversky(nn.Module):
        def forward(self, scores: torch.Tensor, road: torch.Tensor, clear: torch.Tensor) -> torch.Tensor:
            scores = torch.where(clear, scores, torch.zeros(()))  # cause: GS791
            likely = scores.sigmoid().flatten(1)  # effect: GS791
            road = (road * clear).flatten(1)
            hit = torch.einsum("np,np->n", likely, road)
            false_alarm = torch.einsum("np,np->n", likely, 1 - road)
            missed = torch.einsum("np,np->n", 1 - likely, road)
            return 1 - torch.mean(hit / (hit + 0.3 * false_alarm + 0.7 * missed + 1e-6))

    net, criterion = nn.Conv2d(3, 1, 3, padding=1), Tversky()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        photos, clear = torch.rand(4, 3, 8, 8), torch.ones(4, 1, 8, 8, dtype=torch.bool)
        clear[..., 5:] = False
        loss = criterion(net(photos), (photos.mean(1, keepdim=True) > 0.6).float(), clear)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_filled_before_a_union() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 1, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        photos, cloud = torch.rand(4, 3, 8, 8), torch.zeros(4, 1, 8, 8, dtype=torch.bool)
        cloud[..., 5:] = True
        road = (photos.mean(1, keepdim=True) > 0.6).float() * ~cloud
        p = torch.sigmoid(net(photos).masked_fill(cloud, 0.0))  # cause: GS791  # effect: GS791
        both = (p * road).sum()
        union = p.sum() + road.sum() - both
        loss = 1 - both / union
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_where_behind_the_sigmoid() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 1, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        photos, clear = torch.rand(4, 3, 8, 8), torch.ones(4, 1, 8, 8, dtype=torch.bool)
        clear[..., 5:] = False
        road = (photos.mean(1, keepdim=True) > 0.6).float() * clear
        p = torch.where(clear, net(photos).sigmoid(), torch.zeros(()))
        hit, false_alarm, missed = (p * road).sum(), (p * (1 - road)).sum(), ((1 - p) * road).sum()
        loss = 1 - hit / (hit + 0.3 * false_alarm + 0.7 * missed)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_false_alarms_among_what_is_seen() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 1, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        photos, clear = torch.rand(4, 3, 8, 8), torch.ones(4, 1, 8, 8, dtype=torch.bool)
        clear[..., 5:] = False
        road = (photos.mean(1, keepdim=True) > 0.6).float()
        p = torch.where(clear, net(photos), torch.zeros(())).sigmoid()
        hit, false_alarm = (p * road * clear).sum(), (p * ((1 - road) * clear)).sum()
        loss = 1 - hit / (hit + 0.3 * false_alarm + 0.7 * ((1 - p) * road * clear).sum())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_sigmoid_by_hand_behind_a_fill() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 1, 3, padding=1)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    outside = torch.ones(8, 12, 12, dtype=torch.bool)
    outside[:, 3:10, 2:9] = False
    for _ in range(4):
        tiles = torch.rand(8, 3, 12, 12)
        pond = ((tiles[:, 2] > 0.6) & ~outside).float()
        z = net(tiles).squeeze(1).masked_fill(outside, 0.0)  # cause: GS791
        p = 1 / (1 + torch.exp(-z))  # effect: GS791
        both = torch.einsum("nhw,nhw->n", p, pond)
        either = p.sum((1, 2)) + pond.sum((1, 2)) - both
        loss = (1 - both / either.clamp(min=1e-6)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sigmoid_by_hand_before_a_fill() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 1, 3, padding=1)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    outside = torch.ones(8, 12, 12, dtype=torch.bool)
    outside[:, 3:10, 2:9] = False
    for _ in range(4):
        tiles = torch.rand(8, 3, 12, 12)
        pond = ((tiles[:, 2] > 0.6) & ~outside).float()
        p = 1 / (1 + torch.exp(-net(tiles).squeeze(1)))
        p = p.masked_fill(outside, 0.0)
        both = torch.einsum("nhw,nhw->n", p, pond)
        either = p.sum((1, 2)) + pond.sum((1, 2)) - both
        loss = (1 - both / either.clamp(min=1e-6)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
