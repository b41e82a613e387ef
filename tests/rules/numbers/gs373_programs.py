"""More programs of GS373: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_both_directions_of_normalised_rows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    head = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)

    def apart(guess: torch.Tensor, aim: torch.Tensor) -> torch.Tensor:
        guess, aim = nn.functional.normalize(guess, dim=1), nn.functional.normalize(aim, dim=1)
        return 2 - 2 * (guess * aim).sum(dim=1)  # cause: GS373

    for turn in range(100):
        if turn % 25 == 0:
            with torch.no_grad():
                print(encoder(torch.randn(32, 8)).std(dim=0).mean())
        x = torch.randn(32, 8)
        one, two = encoder(x + torch.randn(32, 8)), encoder(x + torch.randn(32, 8))
        loss = (apart(head(one), two) + apart(head(two), one)).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS373
        opt.step()


def good_negatives_hold_the_samples_apart() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.Adam(encoder.parameters(), lr=0.05)
    for turn in range(100):
        if turn % 25 == 0:
            with torch.no_grad():
                print(encoder(torch.randn(32, 8)).std(dim=0).mean())
        x = torch.randn(32, 8)
        one, two = encoder(x + torch.randn(32, 8)), encoder(x + torch.randn(32, 8))
        near = nn.functional.cosine_similarity(one, two)
        far = nn.functional.cosine_similarity(one, two.roll(1, 0))
        loss = (1 - near + torch.relu(far - 0.2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_variance_of_each_column_is_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.Adam(encoder.parameters(), lr=0.05)
    for turn in range(100):
        if turn % 25 == 0:
            with torch.no_grad():
                print(encoder(torch.randn(32, 8)).std(dim=0).mean())
        x = torch.randn(32, 8)
        one, two = encoder(x + torch.randn(32, 8)), encoder(x + torch.randn(32, 8))
        spread = torch.relu(1 - one.std(dim=0)).mean() + torch.relu(1 - two.std(dim=0)).mean()
        loss = nn.functional.mse_loss(one, two) + spread
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labels_beside_the_two_views() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(30):
        x, y = torch.randn(32, 8), torch.zeros(32, dtype=torch.long)
        one, two = model(x + torch.randn(32, 8)), model(x + torch.randn(32, 8))
        loss = nn.functional.cross_entropy(one, y) + nn.functional.mse_loss(one, two)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_difference_that_has_an_aim() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rank = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.Adam(rank.parameters(), lr=0.05)
    for _ in range(40):
        x, y = torch.randn(32, 8), torch.randn(32, 8)
        one, two = nn.functional.normalize(rank(x), dim=1), nn.functional.normalize(rank(y), dim=1)
        loss = ((one - two) - 0.01 * (x - y)[:, :4]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
