"""More programs of GS339: each bad one is reported at its marks, each good one by no rule."""


def bad_views_stacked_for_each_sample() -> None:
    import torch
    from torch import nn

    class Contrast(nn.Module):
        def forward(self, features: torch.Tensor) -> torch.Tensor:
            anchor = features[:, 0]
            positive = features[:, 0]  # cause: GS339
            near = torch.cosine_similarity(anchor.unsqueeze(1), positive.unsqueeze(0), dim=2)  # effect: GS339
            return nn.functional.cross_entropy(near / 0.1, torch.arange(len(anchor)))

    torch.manual_seed(0)
    encoder, criterion = nn.Linear(4, 3), Contrast()
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 1, 4) + 0.1 * torch.randn(8, 2, 4)
        opt.zero_grad()
        criterion(encoder(x)).backward()
        opt.step()


def bad_first_chunk_on_both_sides() -> None:
    import torch
    from torch import nn

    def contrast(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        one = nn.functional.normalize(one, dim=1)
        other = nn.functional.normalize(other, dim=1)
        return nn.functional.cross_entropy(one @ other.t() / 0.2, torch.arange(len(one)))  # effect: GS339

    torch.manual_seed(0)
    encoder = nn.Linear(4, 3)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        z = encoder(torch.cat([x, x + 0.1 * torch.randn(8, 4)]))
        first, second = z.chunk(2)  # noqa: RUF059  # cause: GS339
        loss = contrast(first, first)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_part_compared_with_itself_and_the_rest_elsewhere() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(4, 3)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(4):
        z = encoder(torch.randn(16, 4))
        one, same = nn.functional.normalize(z[:8], dim=1), nn.functional.normalize(z[:8], dim=1)
        among = nn.functional.cross_entropy(one @ same.t() / 0.2, torch.randint(0, 8, (8,)))
        loss = among + z[8:].pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labelled_part_in_two_losses() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        out = model(torch.randn(16, 4))
        fit = nn.functional.cross_entropy(out[:8], torch.randint(0, 3, (8,)))
        size = out[:8].pow(2).mean()
        opt.zero_grad()
        (fit + 0.1 * size).backward()
        opt.step()


def good_likeness_within_one_part() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(4, 3)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(4):
        first, _ = encoder(torch.randn(16, 4)).chunk(2)
        q = nn.functional.normalize(first, dim=1)
        likeness = (q @ q.t() / 0.2).masked_fill(torch.eye(8, dtype=torch.bool), float("-inf"))
        loss = nn.functional.cross_entropy(likeness, (torch.arange(8) + 1) % 8)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_standardised_by_its_own_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def standard(z):
        return (z - z.mean(0)) / (z.std(0) + 1e-5)

    for _ in range(4):
        x = torch.randn(16, 6)
        crops = torch.stack([x + 0.1 * torch.randn(16, 6), x + 0.1 * torch.randn(16, 6)])
        both = net(crops.flatten(0, 1)).unflatten(0, crops.shape[:2])
        one = standard(both.select(0, 0))
        two = standard(both.select(0, 0))  # cause: GS339
        cross = torch.einsum("ni,nj->ij", one, two) / 16  # effect: GS339
        loss = (cross - torch.eye(4)).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_standardised_by_its_own_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def standard(z):
        return (z - z.mean(0)) / (z.std(0) + 1e-5)

    for _ in range(4):
        x = torch.randn(16, 6)
        crops = torch.stack([x + 0.1 * torch.randn(16, 6), x + 0.1 * torch.randn(16, 6)])
        both = net(crops.flatten(0, 1)).unflatten(0, crops.shape[:2])
        one = standard(both.select(0, 0))
        two = standard(both.select(0, 1))
        cross = torch.einsum("ni,nj->ij", one, two) / 16
        loss = (cross - torch.eye(4)).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_covariance_beside_both_views() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 6)
        z = net(torch.stack([x + 0.1 * torch.randn(16, 6), x + 0.1 * torch.randn(16, 6)]))
        alike = (z.select(0, 0) - z.select(0, 1)).pow(2).mean()
        one = z.select(0, 0) - z.select(0, 0).mean(0)
        other = z.select(0, 1) - z.select(0, 1).mean(0)
        spread = (one.T @ one / 16 - torch.eye(4)).pow(2).sum() + (other.T @ other / 16 - torch.eye(4)).pow(
            2
        ).sum()
        opt.zero_grad()
        (alike + 0.1 * spread).backward()
        opt.step()
