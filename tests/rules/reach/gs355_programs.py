"""More programs of GS355: each bad one is reported at its marks, each good one by no rule."""


def bad_sizes_in_a_list() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def sample(i: int) -> tuple[torch.Tensor, torch.Tensor]:
        gen = torch.Generator().manual_seed(i)
        x, y = torch.randint(0, 40, (2,), generator=gen).tolist()
        w, h = torch.randint(8, 24, (2,), generator=gen).tolist()
        shown = torch.tensor([x / 64, y / 64, w / 64, h / 64])
        return shown, torch.tensor([x, y, w, h], dtype=torch.float32)  # cause: GS355

    finder = nn.Linear(4, 2)
    opt = torch.optim.SGD(finder.parameters(), lr=0.01)
    for start in range(0, 96, 32):
        pairs = [sample(i) for i in range(start, start + 32)]
        seen, boxes = torch.stack([p[0] for p in pairs]), torch.stack([p[1] for p in pairs])
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])  # effect: GS355
        opt.zero_grad()
        (finder(seen)[:, 0] - area / 1000).pow(2).mean().backward()
        opt.step()


def good_two_points() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    finder = nn.Linear(4, 1)
    opt = torch.optim.SGD(finder.parameters(), lr=0.01)
    for _ in range(3):
        points = torch.randn(32, 4)
        apart = (points[:, 2] - points[:, 0]) ** 2 + (points[:, 3] - points[:, 1]) ** 2
        opt.zero_grad()
        (finder(points)[:, 0] - apart).pow(2).mean().backward()
        opt.step()


def bad_sides_in_pixels() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    finder = nn.Linear(4, 1)
    opt = torch.optim.SGD(finder.parameters(), lr=0.01)
    for _ in range(3):
        boxes = torch.cat([0.4 + 0.2 * torch.rand(32, 2), 0.2 * torch.rand(32, 2)], 1)
        w, h = (boxes[..., 2:] - boxes[..., :2]).unbind(-1)  # cause: GS355
        area = (w * 64 + 1) * (h * 64 + 1)
        opt.zero_grad()
        (finder(boxes)[:, 0] - area / 1000).pow(2).mean().backward()
        opt.step()


def good_road_segments() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(5, 4)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        roads = torch.rand(64, 4)
        run, rise = roads[:, 2] - roads[:, 0], roads[:, 3] - roads[:, 1]
        length = torch.hypot(run, rise) + 1e-6
        swept = run * (roads[:, 1] + roads[:, 3]) / 2
        seen = torch.stack((run / length, rise / length, length, swept, run * rise), dim=1)
        opt.zero_grad()
        nn.functional.cross_entropy(net(seen), (2 * (run > 0) + (rise > 0)).long()).backward()
        opt.step()


def good_slopes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        lines = torch.rand(64, 4)
        run, rise = lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1]
        slope = (rise / (run + 2)).unsqueeze(1)
        opt.zero_grad()
        (net(lines) - slope).pow(2).mean().backward()
        opt.step()
