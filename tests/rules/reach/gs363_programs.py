"""More programs of GS363: each bad one is reported at its marks, each good one by no rule."""


def bad_by_matmul_of_a_transpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        both = torch.stack([encoder(x + 0.1), encoder(x - 0.1)], 1).flatten(0, 1)
        both = both / both.norm(dim=1, keepdim=True)
        logits = torch.matmul(both, both.transpose(0, 1))  # cause: GS363
        partner = torch.arange(16) ^ 1
        loss = criterion(logits / 0.1, partner)  # effect: GS363
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_its_own_positive() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        views = torch.cat([x + 0.1 * torch.randn(8, 6), x + 0.1 * torch.randn(8, 6)])
        z = nn.functional.normalize(encoder(views), dim=1)
        rows = torch.mm(z, z.T) / 0.5
        rows = rows - rows.max(dim=1, keepdim=True).values.detach()
        chances = rows.log_softmax(1)
        loss = -chances[torch.eye(16, dtype=torch.bool)].mean()  # cause: GS363
        opt.zero_grad()
        loss.backward()  # effect: GS363
        opt.step()


def good_diagonal_of_two_views() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        one, other = (nn.functional.normalize(encoder(x + 0.1 * torch.randn(8, 6)), dim=1) for _ in range(2))
        loss = -torch.diag((one @ other.T / 0.5).log_softmax(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_views_against_each_other() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        one = nn.functional.normalize(encoder(x + 0.1 * torch.randn(8, 6)), dim=1)
        other = nn.functional.normalize(encoder(x + 0.1 * torch.randn(8, 6)), dim=1)
        loss = nn.functional.cross_entropy(one @ other.t() / 0.1, torch.arange(8))
        opt.zero_grad()
        loss.backward()
        opt.step()
