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
